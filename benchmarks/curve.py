"""What more incidents teach: `python -m benchmarks.curve LEARN.jsonl TEST.jsonl`.

A calibration is learnt from the first seed of each fault, from the first two, and so on; each is scored on incidents
that it never saw. The first line is the judgement that nothing taught.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.calibrate import learnt
from benchmarks.corpus import Seen, load
from benchmarks.reweigh import reweighed
from benchmarks.scores import brier, calibration_error, hit, log_loss, said_and_was, share
from correlator.wiring import judgement
from hypotheses._probability import Calibration


def calibrations(seen: Sequence[Seen]) -> Iterator[tuple[int, Calibration]]:
    """Of none, then of ever more seeds of each fault."""
    yield 0, judgement()
    seeds = sorted({one.seed for one in seen})
    for count in range(1, len(seeds) + 1):
        some = [one for one in seen if one.seed in seeds[:count]]
        yield count, learnt(some, judgement(), f"{count} seeds")


def curve(learn: Sequence[Seen], test: Sequence[Seen]) -> Table:
    """A line a calibration, with the scores of its probabilities on `test`."""
    table = Table("seeds of each fault", "AC@1", "loss", "Brier", "ECE", title=f"{len(test)} diagnoses of other seeds")
    for count, calibration in calibrations(learn):
        weighed = list(reweighed(test, calibration))
        pairs = said_and_was(weighed)
        scores = (share(weighed, hit), log_loss(weighed), brier(pairs), calibration_error(pairs))
        table.add_row(str(count), *(f"{score:.3f}" for score in scores))
    return table


def main() -> None:
    """Read both corpora and print; one that shares a seed of a fault with the other is refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curve", description=__doc__)
    parser.add_argument("learn", type=Path)
    parser.add_argument("test", type=Path)
    chosen = parser.parse_args()
    try:
        learn, test = ([one for one in load(path) if one.findings] for path in (chosen.learn, chosen.test))
    except ValueError as error:
        parser.error(str(error))
    if not learn or not test:
        parser.error("expected two corpora that hold diagnoses (python -m benchmarks.corpus)")
    if shared := {one.incident for one in learn} & {one.incident for one in test}:
        parser.error(f"{len(shared)} incidents are in both: nothing may be tested on what taught it")
    Console(width=120).print(curve(learn, test))


if __name__ == "__main__":
    main()
