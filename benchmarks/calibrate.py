"""Likelihood ratios learnt from simulated incidents: `python -m benchmarks.calibrate CORPUS.jsonl > calibration.yaml`.

Of each outcome: how much more often it is seen where the claim is true than where it is not. Few incidents say little,
so a ratio is drawn towards the one that all predictions of its kind share, and that towards the judgement it replaces.
An incident that was diagnosed several times, with more and with less seen of it, is still one incident. That a
prediction could not be tested tells who records, not what is wrong: nothing is learnt from it.
Priors and the weights of verdict, share and role stay judgement (`configs/judgement.yaml`).
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import yaml

from benchmarks.corpus import NONE, Seen, load
from correlator.model.evidence import Interval
from correlator.model.findings import Outcome, PredictionResult, Reading, Role, Verdict
from correlator.wiring import judgement
from hypotheses._contract import Hypothesis
from hypotheses._judge import Judged
from hypotheses._probability import Calibration, Ratios, probabilities
from hypotheses._registry import all_hypotheses

DRAWN = 10.0
"""Incidents of a cause that weigh as much as what all predictions of that kind share."""
MOST = 50.0
"""No outcome multiplies or divides the odds by more: the lab does not know what it does not simulate."""
SHARPNESS = np.arange(0.1, 1.01, 0.05)
OUTCOMES = tuple(outcome for outcome in Outcome if outcome is not Outcome.UNTESTABLE)
LEARNT = ("source", "sharpness", "necessary", "separating", "predictions")
HEAD = """# Learnt from the fault lab (benchmarks/calibrate.py); stands above judgement.yaml. Likelihood ratios
# P(outcome | the claim is true) / P(outcome | it is false). Made by a command, not by hand."""

Shares = Mapping[str, float]
"""Incidents by outcome; one in which an outcome was seen by half of the diagnoses counts there as half."""
Counts = Mapping[tuple[str, bool], Shares]
"""By (`hypothesis.prediction`, whether the claim was true)."""


def learnt(seen: Sequence[Seen], judged: Calibration, source: str) -> Calibration:
    """The calibration that `seen` teaches; what it cannot teach is taken from the judgement."""
    counts, necessary = counted(seen), {f"{h.id}.{p.id}": p.necessary for h in all_hypotheses() for p in h.predictions}
    kinds = {True: judged.necessary, False: judged.separating}
    pooled = {}
    for kind, towards in kinds.items():
        names = [name for name in necessary if necessary[name] is kind]
        true, false = (_pooled(counts, names, holds, incidents(seen, names, holds)) for holds in (True, False))
        pooled[kind] = _ratios(true, false, towards)
    known = {name for name, true in counts if true and name in necessary}
    own = {n: _ratios(counts[n, True], counts.get((n, False), {}), pooled[necessary[n]]) for n in sorted(known)}
    found = judged.model_copy(
        update={"source": source, "necessary": pooled[True], "separating": pooled[False], "predictions": own}
    )
    return min(
        (found.model_copy(update={"sharpness": round(float(s), 2)}) for s in SHARPNESS), key=lambda c: loss(seen, c)
    )


def counted(seen: Iterable[Seen]) -> Counts:
    """Incidents by outcome of each prediction, where its claim is true and where it is not."""
    diagnoses = [
        ((f"{name}.{prediction}", name in one.right), one.incident, outcome)
        for one in seen
        for name, told in one.findings.items()
        for prediction, outcome in told.outcomes.items()
        if outcome in OUTCOMES
    ]
    times = Counter((key, incident) for key, incident, _ in diagnoses)
    counts: dict[tuple[str, bool], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for key, incident, outcome in diagnoses:
        counts[key][outcome] += 1 / times[key, incident]
    return {key: dict(shares) for key, shares in counts.items()}


def incidents(seen: Iterable[Seen], names: Collection[str], true: bool) -> int:
    """How many incidents tell of one of these predictions where its claim is true, or where it is not."""
    causes = {name.partition(".")[0] for name in names}
    told = ((one, causes & set(one.findings)) for one in seen)
    return len({one.incident for one, mine in told if (mine & set(one.right) if true else mine - set(one.right))})


def _pooled(counts: Counts, names: Iterable[str], true: bool, number: int) -> Shares:
    """Shares rather than numbers are averaged, so that a cause simulated more often says no more than another."""
    each = [counts[name, true] for name in names if (name, true) in counts]
    told = [{outcome: count / sum(one.values()) for outcome, count in one.items()} for one in each]
    return {o: number * float(np.mean([shares.get(o, 0.0) for shares in told])) for o in OUTCOMES} if told else {}


def _ratios(true: Shares, false: Shares, towards: Ratios) -> Ratios:
    number = sum(true.values())
    weight = number / (number + DRAWN)
    found: dict[str, float] = {
        o: _drawn(_share(true, o) / _share(false, o), getattr(towards, o), weight) for o in OUTCOMES
    }
    return towards.model_copy(update=found)


def _share(counts: Shares, outcome: str) -> float:
    """Of the outcomes, each seen half a time more than it was (Jeffreys)."""
    return (counts.get(outcome, 0.0) + 0.5) / (sum(counts.values()) + 0.5 * len(OUTCOMES))


def _drawn(ratio: float, towards: float, weight: float) -> float:
    value = exp(weight * log(ratio) + (1 - weight) * log(towards))
    return float(f"{min(max(value, 1 / MOST), MOST):.3g}")


def loss(seen: Sequence[Seen], calibration: Calibration) -> float:
    """Mean logarithmic loss of the causes that would be right, together; every fault counts alike."""
    by_fault: dict[str, list[float]] = {}
    for one in reweighed(seen, calibration):
        right = sum(one.findings[name].probability for name in one.right if name in one.findings)
        by_fault.setdefault(one.fault, []).append(-log(max(right, 1e-9)))
    return float(np.mean([np.mean(losses) for losses in by_fault.values()]))


def reweighed(seen: Iterable[Seen], calibration: Calibration) -> Iterator[Seen]:
    """The same answers with the probabilities of another calibration."""
    known = {h.id: h for h in all_hypotheses()}
    for one in seen:
        judged = [_judged(known[name], one) for name in one.findings if name != NONE and name in known]
        roles = {name: Role(told.role) for name, told in one.findings.items() if told.role}
        chances = probabilities(judged, roles, calibration, one.well) if judged else {}
        told = {name: replace(one.findings[name], probability=chances[name]) for name in chances}
        yield replace(one, findings=told)


def _judged(hypothesis: Hypothesis, one: Seen) -> Judged:
    told = one.findings[hypothesis.id]
    necessary = {p.id: p.necessary for p in hypothesis.predictions}
    results = tuple(
        PredictionResult(name, "", necessary.get(name, True), Reading(Outcome(outcome), ""))
        for name, outcome in told.outcomes.items()
    )
    share = None if told.share is None else Interval(told.share, told.share, told.share, "1")
    return Judged(hypothesis, results, Verdict(told.verdict), share, (), "", told.doubted)


def main() -> None:
    """Learn from the corpora named on the command line; the file goes to standard output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate", description=__doc__)
    parser.add_argument("corpus", nargs="+", type=Path, help="what python -m benchmarks.corpus wrote")
    paths = parser.parse_args().corpus
    if missing := [str(path) for path in paths if not path.is_file()]:
        parser.error(f"no such file: {', '.join(missing)}; expected a corpus (python -m benchmarks.corpus)")
    try:
        diagnoses = {one.key: one for path in paths for one in load(path)}
    except ValueError as error:
        parser.error(str(error))
    seen = [one for one in diagnoses.values() if one.findings]
    if not seen:
        parser.error(f"nothing to learn from in {', '.join(map(str, paths))}: expected at least one diagnosis")
    faults, drawn = len({one.fault for one in seen}), len({one.incident for one in seen})
    source = f"python -m benchmarks.calibrate, {len(seen)} diagnoses of {drawn} incidents, {faults} simulated faults"
    found = learnt(seen, judgement(), source).model_dump(mode="json", include=set(LEARNT))
    print(HEAD)
    print(
        yaml.safe_dump({name: found[name] for name in LEARNT}, sort_keys=False, width=120, default_flow_style=None),
        end="",
    )


if __name__ == "__main__":
    main()
