"""What a hypothesis is: a frozen value whose predictions the data can contradict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from correlator.model.evidence import Evidence, Kind
from correlator.model.findings import Experiment, Reading
from correlator.model.names import Signal


@dataclass(frozen=True, slots=True)
class Test:
    """A statement in words and the pure function that reads it off the evidence.

    `signals` are the columns it asks for; `measures_share` marks a test whose effect is the share of the
    symptom that the cause accounts for.
    """

    statement: str
    read: Callable[[Evidence], Reading]
    signals: tuple[Signal, ...] = ()
    measures_share: bool = False

    __test__ = False  # not a test case for pytest


@dataclass(frozen=True, slots=True)
class Prediction:
    """One consequence of a claim. A necessary one refutes by failing; a separating one tells rivals apart."""

    id: str
    test: Test
    necessary: bool


def necessary(id: str, test: Test) -> Prediction:
    """If the claim is true this holds; if it fails the claim is refuted."""
    return Prediction(id, test, necessary=True)


def separating(id: str, test: Test) -> Prediction:
    """Where this holds, the rivals of the claim are the less likely."""
    return Prediction(id, test, necessary=False)


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A claim about a cause.

    `id` is the file's stem. `explains` are the kinds of symptom it can cause. `cause` is the signal in which
    it shows first; it links causes into chains. `upstream_of` names what it brings about in turn, `rivals`
    what would explain the same. `doubts_telemetry`: while it is supported no other cause can be. What a claim
    needs follows from its predictions.
    """

    id: str
    claim: str
    explains: frozenset[Kind]
    predictions: tuple[Prediction, ...]
    cause: Signal | None = None
    upstream_of: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    doubts_telemetry: bool = False
    experiment: Experiment | None = None
    remedy: str = ""
