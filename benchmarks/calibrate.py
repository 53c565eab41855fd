"""What outcomes weigh, learnt from simulated incidents.

    python -m benchmarks.calibrate CORPUS.jsonl > configs/calibration.yaml

Two numbers are learnt: what it weighs that a cause is supported, and that it is told as a mechanism of another. They
are those under which the causes that would be right were most probable, as a conditional logit finds them (McFadden
1974), drawn towards the judgement they replace. They hold for all causes alike.

All else stays judgement (`configs/judgement.yaml`). How often something is wrong, and what, the lab decides and not the
world: so priors and *none of these*. What a single prediction weighs tells how the lab makes a fault: with it learnt,
public reports came out worse; with all outcomes weighed anew, healthy services seen without traces were accused.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import numpy as np
import yaml
from scipy.optimize import minimize

from benchmarks.corpus import Seen, load
from benchmarks.reweigh import as_judged
from correlator.model.findings import Verdict
from correlator.wiring import judgement
from hypotheses._probability import Calibration, log_weights

OFF = 1.0
"""Standard deviation of the logarithm by which a judged number may be off: one in three by more than a factor of e."""
NUMBERS = (("verdict_weight", Verdict.SUPPORTED), ("mechanism_weight", None))
"""What is learnt, by where it stands in the calibration."""
HEAD = "# Learnt from the fault lab by the command below, not by hand; stands above judgement.yaml."


@dataclass(frozen=True, slots=True)
class Choice:
    """One diagnosis: a row a cause, a column a number; `base` is the log weight by judgement, `right` what would be."""

    counts: np.ndarray
    base: np.ndarray
    right: np.ndarray
    weight: float


def learnt(seen: Sequence[Seen], judged: Calibration, source: str) -> Calibration:
    """The calibration that `seen` teaches; what it cannot teach is taken from the judgement."""
    choices, incidents = list(_choices(seen, judged)), len({one.incident for one in seen})
    found = _moved(judged, _fitted(choices, 1 / (2 * OFF**2 * incidents)))
    return _rounded(found).model_copy(update={"source": source})


def _fitted(choices: Sequence[Choice], strength: float) -> np.ndarray:
    """Logarithm of what each number is multiplied by; `strength` is the loss that a move of 1 costs."""
    total = sum(choice.weight for choice in choices)

    def cost(moves: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _loss(moves, choices)
        return value / total + strength * moves @ moves, slope / total + 2 * strength * moves

    return np.asarray(minimize(cost, np.zeros(len(NUMBERS)), jac=True, method="L-BFGS-B").x)


def _loss(moves: np.ndarray, choices: Sequence[Choice]) -> tuple[float, np.ndarray]:
    """Logarithmic loss of the right causes' probability together, and its slope."""
    loss, slope = 0.0, np.zeros(len(NUMBERS))
    for choice in choices:
        weights = choice.base + choice.counts @ moves
        chances = np.exp(weights - weights.max())
        chances /= chances.sum()
        among_right = np.where(choice.right, chances, 0.0)
        total = max(float(among_right.sum()), 1e-12)
        loss -= choice.weight * log(total)
        slope += choice.weight * choice.counts.T @ (chances - among_right / total)
    return loss, slope


def _choices(seen: Sequence[Seen], judged: Calibration) -> Iterator[Choice]:
    """As choices, each fault of the same weight however often it was simulated.

    A log weight is linear in the logarithms, so what a number does is the difference that one e-th of it makes.
    """
    times = Counter(one.fault for one in seen)
    shrunk = [_moved(judged, np.where(np.arange(len(NUMBERS)) == i, -1.0, 0.0)) for i in range(len(NUMBERS))]
    for one in seen:
        causes, roles = as_judged(one)
        base = log_weights(causes, roles, judged, one.well)
        each = [log_weights(causes, roles, other, one.well) for other in shrunk]
        counts = np.array([[base[name] - other[name] for other in each] for name in base])
        right = np.array([name in one.right for name in base])
        yield Choice(counts, np.array(list(base.values())), right, 1 / times[one.fault])


def _moved(calibration: Calibration, moves: np.ndarray) -> Calibration:
    """With each number multiplied by e to the power of its move."""
    values = calibration.model_dump()
    for (name, key), move in zip(NUMBERS, moves, strict=True):
        place, last = (values[name], key) if key else (values, name)
        place[last] *= exp(move)
    return Calibration.model_validate(values)


def _rounded(calibration: Calibration) -> Calibration:
    """To three digits, as people read them."""
    values = calibration.model_dump()
    for name, key in NUMBERS:
        place, last = (values[name], key) if key else (values, name)
        place[last] = float(f"{place[last]:.3g}")
    return Calibration.model_validate(values)


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
    found = learnt(seen, judgement(), source).model_dump(mode="json", include={"source", *dict(NUMBERS)})
    print(HEAD)
    print(
        yaml.safe_dump(found, sort_keys=False, width=120, default_flow_style=None),
        end="",
    )


if __name__ == "__main__":
    main()
