"""Objectives judged on a made-up service: kept, broken, or not to be judged."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from correlator.model import names as n
from correlator.model.evidence import Evidence, Kind, Window, Windows, with_windows
from correlator.watch.objectives import kept
from correlator.watch.settings import Slo
from correlator.watch.sighting import Condition
from tests.correlator.join.synthetic import cut, service, slower
from tests.correlator.join.telemetry import T0, at
from tests.correlator.watch.world import several


def judged(slo: Slo, evidence: Evidence) -> list[tuple[str, Condition]]:
    return [(s.where, s.condition) for s in kept(slo, evidence)]


def slo(kind: Kind, threshold: float, where: str | None = None, budget: float = 0.05) -> Slo:
    return Slo(name="o", kind=kind, threshold=threshold, where=where, budget=budget)


def failing(share: float) -> Evidence:
    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        failed = (np.arange(len(requests)) % 100 < share * 100).astype(float)
        return requests.assign(**{n.ERROR.name: np.where(requests["t"] > 80, failed, 0.0)})

    return cut(service(fault=fault))


def by_metrics(**columns: float | list[float]) -> Evidence:
    """A system of which only series are known."""
    start = T0 + np.arange(0, 160, 5).astype(np.int64) * 10**9
    series = pd.DataFrame({"start": start, "host": "*", **columns})
    empty = service().requests.iloc[:0]
    return cut(Evidence(requests=empty, series=series))


@pytest.mark.parametrize(
    ("objective", "share", "expected"),
    [
        (slo(Kind.ERRORS, 0.05), 0.02, Condition.WELL),
        (slo(Kind.ERRORS, 0.05), 0.10, Condition.WORSE),
        (slo(Kind.AVAILABILITY, 0.95), 0.02, Condition.WELL),
        (slo(Kind.AVAILABILITY, 0.95), 0.10, Condition.WORSE),
    ],
)
def test_shares_of_failures(objective: Slo, share: float, expected: Condition) -> None:
    """Errors have a largest share, availability a least one."""
    assert [("rag", expected)] == judged(objective, failing(share))


def test_latency_has_a_threshold_and_a_budget() -> None:
    """As many requests as the budget allows may take longer."""
    slow = cut(service(fault=slower(10, 80)))
    assert [("rag", Condition.WORSE)] == judged(slo(Kind.LATENCY, 1.0), slow)
    assert [("rag", Condition.WELL)] == judged(slo(Kind.LATENCY, 1.0), cut(service()))
    assert [("rag", Condition.WELL)] == judged(slo(Kind.LATENCY, 1.0, budget=0.999), slow)


def test_requests_that_fail_fast_are_not_fast() -> None:
    """The latency of an outage says nothing about latency."""
    assert [("rag", Condition.UNKNOWN)] == judged(slo(Kind.LATENCY, 1.0), failing(1.0))


def test_quality_counts_answers_cut_short_and_empty_retrievals() -> None:
    """Either is bad; where neither was measured nobody knows."""

    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        return requests.assign(**{n.TRUNCATED.name: 0.0, n.EMPTY_RETRIEVAL.name: (requests["t"] > 80) * 1.0})

    assert [("rag", Condition.WORSE)] == judged(slo(Kind.QUALITY, 0.1), cut(service(fault=fault)))
    assert [("rag", Condition.UNKNOWN)] == judged(slo(Kind.QUALITY, 0.1), cut(service()))


def test_every_service_must_keep_an_objective_without_a_place() -> None:
    """Each is judged by its own requests; with a place only that one is."""
    both = cut(several(rag=service(), search=service(seed=1, fault=slower(10, 80))))
    assert {("rag", Condition.WELL), ("search", Condition.WORSE)} == set(judged(slo(Kind.LATENCY, 1.0), both))
    assert [("rag", Condition.WELL)] == judged(slo(Kind.LATENCY, 1.0, where="rag"), both)


@pytest.mark.parametrize("where", [None, "rag", "nobody"])
def test_too_few_requests_show_neither(where: str | None) -> None:
    """A service that stopped sending, or never did, is not well."""
    whole = service()
    evidence = cut(replace(whole, requests=whole.requests[whole.requests["start"] < at(82)]))
    conditions = [condition for _, condition in judged(slo(Kind.ERRORS, 0.5, where=where), evidence)]
    assert [Condition.UNKNOWN] == conditions


def test_nothing_at_all_is_nothing() -> None:
    """Empty evidence has no places; a named place is still told to be unknown."""
    windows = Windows(Window(at(0), at(80)), Window(at(80), at(160)))
    nothing = with_windows(
        replace(service(), requests=service().requests.iloc[:0], series=service().series.iloc[:0]), windows
    )
    assert [] == judged(slo(Kind.ERRORS, 0.5), nothing)
    assert [("rag", Condition.UNKNOWN)] == judged(slo(Kind.ERRORS, 0.5, where="rag"), nothing)


def test_metrics_alone_are_judged_by_their_means() -> None:
    """Without traces the mean latency and the error share of the engine are compared."""
    seen = by_metrics(**{n.LATENCY.name: 2.0, f"n.{n.LATENCY.name}": 5.0, n.ERROR.name: 0.2})
    assert [("serving engine", Condition.WORSE)] == judged(slo(Kind.LATENCY, 1.0), seen)
    assert [("serving engine", Condition.WELL)] == judged(slo(Kind.LATENCY, 3.0), seen)
    assert [("serving engine", Condition.WORSE)] == judged(slo(Kind.ERRORS, 0.1), seen)
    assert [("serving engine", Condition.UNKNOWN)] == judged(slo(Kind.QUALITY, 0.1), seen)


def test_throughput_counts_only_while_somebody_asks() -> None:
    """An idle engine generates nothing by right; a busy one that does breaks the objective."""
    tokens, running = n.GENERATION_THROUGHPUT.name, n.RUNNING.name
    assert [("serving engine", Condition.UNKNOWN)] == judged(
        slo(Kind.THROUGHPUT, 50), by_metrics(**{tokens: 0.0, running: 0.0})
    )
    assert [("serving engine", Condition.WORSE)] == judged(
        slo(Kind.THROUGHPUT, 50), by_metrics(**{tokens: 0.0, running: 3.0})
    )
    assert [("serving engine", Condition.WELL)] == judged(
        slo(Kind.THROUGHPUT, 50), by_metrics(**{tokens: 80.0, running: 3.0})
    )


def test_severity_is_one_at_the_limit_and_the_title_has_the_numbers() -> None:
    """Ten per cent of failures where five are allowed are twice too many."""
    sighting = next(iter(kept(slo(Kind.ERRORS, 0.05), failing(0.10))))
    assert sighting.severity == pytest.approx(2.0, rel=0.05)
    assert sighting.title.startswith("rag: o: ")
    assert sighting.title.endswith("% of requests failed")


def test_lost_telemetry_is_no_objective() -> None:
    """An objective is about what requests suffer; of what is lost nobody can say how they went."""
    with pytest.raises(ValueError, match="kind: expected what requests suffer from"):
        Slo(name="o", kind=Kind.TELEMETRY, threshold=0.1)
