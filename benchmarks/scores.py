"""How good answers are: right first, silent where nothing is wrong, probabilities that mean what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from benchmarks.corpus import NONE, Seen
from correlator.model.findings import Role, Verdict

BINS = 10
"""Of the reliability diagram; equal width."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Of the findings whose probability lay here: how many, their mean probability, and how many were right."""

    count: int
    said: float
    was: float


def ranked(one: Seen) -> list[str]:
    """Causes, most probable first."""
    return sorted(one.findings, key=lambda name: (-one.findings[name].probability, name))


def supported(one: Seen) -> list[str]:
    """Causes that were supported."""
    return [name for name, told in one.findings.items() if told.verdict == Verdict.SUPPORTED]


def sick(one: Seen) -> bool:
    """Something is wrong in this incident."""
    return one.right[0] != NONE


def hit(one: Seen, among: int = 1) -> bool:
    """A cause that would be right is among the first; where nothing is wrong, *none of these* is."""
    return bool(set(one.right) & set(ranked(one)[:among]))


def wrong(one: Seen) -> list[str]:
    """Supported, and neither right nor told as a way in which a right one works (DESIGN 6: roots and mechanisms)."""
    rooted = any(one.findings[name].role == Role.ROOT for name in supported(one) if name in one.right)
    excused = {name for name in supported(one) if rooted and one.findings[name].role == Role.MECHANISM}
    return [name for name in supported(one) if name not in one.right and name not in excused]


def both(one: Seen) -> bool:
    """All that was at work is supported."""
    return set(one.truths) <= set(supported(one))


def refuted(one: Seen) -> bool:
    """All that would be right is refuted. Where the signal that decides is missing, none may be: it is *untestable*."""
    return all(one.findings[name].verdict == Verdict.REFUTED for name in one.right if name in one.findings)


def silent(one: Seen) -> bool:
    """Nothing is supported and *none of these* comes first."""
    return not supported(one) and hit(one)


def share(seen: Iterable[Seen], holds: Callable[[Seen], bool]) -> float:
    """Of all; not a number where there is none."""
    values = [holds(one) for one in seen]
    return float(np.mean(values)) if values else float("nan")


def said_and_was(seen: Iterable[Seen]) -> np.ndarray:
    """A row a diagnosis: the probability of the first finding, and whether it was right (0 or 1).

    Of the first only: with the catalogue's many near-zeros counted any answer would look calibrated. A diagnosis that
    crashed counts as one that was sure and wrong.
    """
    return np.array([_first(one) for one in seen]).reshape(-1, 2)


def _first(one: Seen) -> tuple[float, float]:
    if not one.findings:
        return 1.0, 0.0
    name = ranked(one)[0]
    return one.findings[name].probability, float(name in one.right)


def brier(pairs: np.ndarray) -> float:
    """Mean squared difference between what was said and what was (Brier 1950); 0 is perfect."""
    return float(np.mean((pairs[:, 0] - pairs[:, 1]) ** 2))


def reliability(pairs: np.ndarray) -> list[Bin]:
    """Bins of equal width that hold something."""
    place = np.minimum((pairs[:, 0] * BINS).astype(int), BINS - 1)
    groups: Sequence[np.ndarray] = [pairs[place == i] for i in range(BINS) if (place == i).any()]
    return [Bin(len(group), float(group[:, 0].mean()), float(group[:, 1].mean())) for group in groups]


def calibration_error(pairs: np.ndarray) -> float:
    """Expected calibration error: distance of the bins from the diagonal, weighed by their size (Naeini 2015)."""
    bins = reliability(pairs)
    return sum(b.count * abs(b.said - b.was) for b in bins) / max(sum(b.count for b in bins), 1)


def log_loss(seen: Iterable[Seen]) -> float:
    """Mean logarithmic loss of the causes that would be right, together; every fault counts alike."""
    by_fault: dict[str, list[float]] = {}
    for one in seen:
        right = sum(one.findings[name].probability for name in one.right if name in one.findings)
        by_fault.setdefault(one.fault, []).append(-log(max(right, 1e-9)))
    return float(np.mean([np.mean(losses) for losses in by_fault.values()]))
