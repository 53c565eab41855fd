"""How often the diagnosis is right on simulated incidents, and whether its probabilities mean what they say.

    python -m benchmarks.accuracy [CORPUS.jsonl] [--seeds 100:103] [--worlds faster] [--patterns given,found] [--jobs 2]

The corpus (`benchmarks.corpus`) is grown where it lacks something, and kept if it is named; only what was asked for is
scored, each world (settings of the generator) by itself, with the probabilities of the calibration in force, whichever
was when the corpus was made. Nothing here holds a calibration apart from what it was learnt from: whoever learns one
leaves out the seeds used here, from 100 on. Chance is one in the number of causes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.corpus import NONE, Seen, grown, load, span
from benchmarks.lab import FAULTS
from benchmarks.reweigh import reweighed
from benchmarks.scores import (
    both,
    brier,
    calibration_error,
    hit,
    ranked,
    refuted,
    reliability,
    said_and_was,
    share,
    sick,
    silent,
    wrong,
)
from correlator.model.findings import Verdict
from correlator.wiring import calibration
from hypotheses._registry import all_hypotheses


def by_fault(seen: Sequence[Seen]) -> Table:
    """A line per fault and pattern; a crash stands under what came first instead."""
    table = Table("fault", "seen", "n", "AC@1", "AC@3", "supported", "p(truth)", "first instead", "wrong supported")
    for fault, pattern in dict.fromkeys((one.fault, one.pattern) for one in seen):
        mine = [one for one in seen if (one.fault, one.pattern) == (fault, pattern)]
        table.add_row(
            fault, pattern, str(len(mine)), _share(mine, hit), _share(mine, lambda one: hit(one, 3)), _supported(mine),
            f"{sum(map(_truth, mine)) / len(mine):.2f}", _counted(_first(one) for one in mine if not hit(one)),
            _counted(name for one in mine for name in wrong(one)),
        )  # fmt: skip
    return table


def totals(seen: Sequence[Seen]) -> Table:
    """A line per pattern: incidents, then what is healthy, then probabilities."""
    causes = sum(h.id != NONE for h in all_hypotheses())
    table = Table(
        "seen",
        "incidents",
        "AC@1",
        "AC@3",
        "chance",
        "both of two",
        "truth refuted",
        "wrong support",
        "healthy",
        "silent",
        "Brier",
        "ECE",
    )
    for pattern in dict.fromkeys(one.pattern for one in seen):
        mine = [one for one in seen if one.pattern == pattern]
        ill, well = [one for one in mine if sick(one)], [one for one in mine if not sick(one)]
        pairs, twofold = said_and_was(mine), [one for one in ill if len(one.truths) > 1]
        table.add_row(
            pattern, str(len(ill)), _share(ill, hit), _share(ill, lambda one: hit(one, 3)), f"1 in {causes}",
            _share(twofold, both), _share(ill, refuted), _share(mine, lambda one: bool(wrong(one))), str(len(well)),
            _share(well, silent), f"{brier(pairs):.3f}", f"{calibration_error(pairs):.3f}",
        )  # fmt: skip
    return table


def diagram(seen: Sequence[Seen]) -> Iterator[str]:
    """Of the first findings with about this probability, how many were right."""
    yield "Of first findings said to have this probability, so many were right:"
    for each in reliability(said_and_was(seen)):
        yield f"  {each.said:5.0%} said  {each.was:5.0%} were  {'█' * round(40 * each.was):40}  of {each.count}"


def blamed_deploys(seen: Sequence[Seen]) -> str:
    """How often the decoy of most benchmarks, the last deploy, is supported where it is not the cause."""
    others = [one for one in seen if "recent_change" not in one.right]
    return f"recent_change blamed for what it did not do: {_share(others, lambda one: 'recent_change' in wrong(one))}"


def report(seen: Sequence[Seen]) -> list[Table | str]:
    """All that is said of one world."""
    return [by_fault(seen), totals(seen), "\n".join(diagram(seen)), blamed_deploys(seen)]


def _truth(one: Seen) -> float:
    return sum(one.findings[name].probability for name in one.right if name in one.findings)


def _first(one: Seen) -> str:
    return ranked(one)[0] if one.findings else one.error


def _supported(mine: Sequence[Seen]) -> str:
    if not sick(mine[0]):
        return ""
    return _share(mine, lambda one: any(_verdict(one, name) == Verdict.SUPPORTED for name in one.right))


def _verdict(one: Seen, name: str) -> str:
    return one.findings[name].verdict if name in one.findings else ""


def _share(seen: Sequence[Seen], holds: Callable[[Seen], bool]) -> str:
    return f"{share(seen, holds):.2f}" if seen else ""


def _counted(items: Iterable[str]) -> str:
    return ", ".join(f"{name}×{count}" for name, count in Counter(items).most_common(4))


def main() -> None:
    """Parse the arguments, simulate what is lacking, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("corpus", nargs="?", type=Path)
    parser.add_argument("--faults", type=lambda text: text.split(","), default=sorted(FAULTS))
    parser.add_argument("--seeds", type=span, default=range(100, 102))
    parser.add_argument("--worlds", type=lambda text: text.split(","), default=["recorded"])
    parser.add_argument("--patterns", type=lambda text: text.split(","), default=["given", "found"])
    parser.add_argument("--severity", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    works = [(f, seed, w) for w in chosen.worlds for seed in chosen.seeds for f in chosen.faults]
    asked = {(*work, chosen.severity, pattern) for work in works for pattern in chosen.patterns}
    console = Console(width=200, markup=False)
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.corpus or Path(folder, "corpus.jsonl")
        for _ in grown(path, works, chosen.severity, chosen.patterns, chosen.jobs):
            pass
        seen = list(reweighed((one for one in load(path) if one.key in asked), calibration()))
    for world in chosen.worlds:
        for part in (f"World: {world}", *report([one for one in seen if one.world == world])):
            console.print(part)


if __name__ == "__main__":
    main()
