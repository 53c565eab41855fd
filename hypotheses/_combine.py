"""Predictions put together: all of them, one of them, or another one for each kind of symptom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from correlator.model.evidence import Evidence, Kind
from correlator.model.findings import Outcome, Reading
from hypotheses._contract import Test

WORST = (Outcome.FAILED, Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.HELD)
BEST = (Outcome.HELD, Outcome.INCONCLUSIVE, Outcome.UNTESTABLE, Outcome.FAILED)


def together(*tests: Test) -> Test:
    """All of them hold; the worst outcome is the outcome. After one that failed no other is read.

    All of them could be won by chance only if the weakest was: its p-value is that of the whole.
    """

    def read(evidence: Evidence) -> Reading:
        readings: list[Reading] = []
        for test in tests:
            readings.append(test.read(evidence))
            if readings[-1].outcome is Outcome.FAILED:
                break
        worst = min(readings, key=lambda reading: WORST.index(reading.outcome))
        if worst.outcome is not Outcome.HELD:
            return replace(worst, missing=_missing(readings))
        weakest = max((r.p_value for r in readings if r.p_value is not None), default=None)
        return replace(worst, reason="; ".join(r.reason for r in readings), p_value=weakest)

    return _made("; ".join(test.statement for test in tests), read, tests)


def either(*tests: Test, where_measured: Sequence[Test] = ()) -> Test:
    """One of them holds. What cannot be read leaves it open, but for `where_measured`: these are further ways, which
    count only where they can be read.

    A p-value is multiplied by the number of ways that were tried (Bonferroni).
    """

    def read(evidence: Evidence) -> Reading:
        first, further = ([test.read(evidence) for test in group] for group in (tests, where_measured))
        every = [*first, *further]
        counting = first + [r for r in further if r.outcome is not Outcome.UNTESTABLE]
        best = min(counting, key=lambda reading: BEST.index(reading.outcome))
        if best.outcome is Outcome.HELD:
            tried = sum(r.outcome is not Outcome.UNTESTABLE for r in every)
            return replace(best, p_value=None if best.p_value is None else min(1.0, best.p_value * tried), missing=())
        return replace(best, reason="; ".join(dict.fromkeys(r.reason for r in counting)), missing=_missing(every))

    ways = (*tests, *where_measured)
    return _made(" or ".join(test.statement for test in ways), read, ways)


def by_kind(usual: Test, of_kind: Mapping[Kind, Test]) -> Test:
    """Another prediction for these kinds of symptom; what is not available at all is asked as errors are."""

    def read(evidence: Evidence) -> Reading:
        kind = evidence.symptom.kind if evidence.symptom else Kind.LATENCY
        kind = Kind.ERRORS if kind is Kind.AVAILABILITY and kind not in of_kind else kind
        return of_kind.get(kind, usual).read(evidence)

    others = "; ".join(f"for {kind}: {test.statement}" for kind, test in of_kind.items())
    return _made(f"{usual.statement}; {others}", read, (usual, *of_kind.values()))


def _missing(readings: Sequence[Reading]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(m for reading in readings for m in reading.missing))


def _made(statement: str, read: Callable[[Evidence], Reading], tests: Sequence[Test]) -> Test:
    signals = tuple(dict.fromkeys(s for test in tests for s in test.signals))
    return Test(statement, read, signals, any(test.measures_share for test in tests))
