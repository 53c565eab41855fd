"""Which symptom is named between two windows, and which is not."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from correlator.join.symptom import find_symptom
from correlator.model import names as n
from correlator.model.evidence import Evidence, Kind, Symptom
from tests.correlator.join.synthetic import cut, service, slower


def found(fault: Callable[[pd.DataFrame], pd.DataFrame], kind: Kind | None = None) -> Symptom | None:
    """The symptom of a service of which something changed at second 80."""
    return find_symptom(cut(service(seed=11, rate=10, fault=fault)), kind)


def sometimes(column: n.Signal, share: float, value: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """In the incident a share of the requests gets this value; before, none does."""

    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        rng = np.random.default_rng(1)
        hit = (requests["t"] > 80) & (rng.random(len(requests)) < share)
        old = requests.get(column.name, pd.Series(0.0, requests.index))
        return requests.assign(**{column.name: np.where(hit, value, old)})

    return fault


def tail(requests: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    hit = (requests["t"] > 80) & (rng.random(len(requests)) < 0.08)
    return requests.assign(**{n.LATENCY.name: requests[n.LATENCY.name] * np.where(hit, 4.0, 1.0)})


def test_a_slower_service_is_a_latency_symptom() -> None:
    """Kind, place, statistic, both values, and a change whose interval excludes none."""
    symptom = found(slower(2.0, 80))
    assert symptom is not None
    assert (Kind.LATENCY, "rag", "mean", n.LATENCY) == (symptom.kind, symptom.where, symptom.statistic, symptom.signal)
    assert 1.0 < symptom.change.low < symptom.change.value < symptom.change.high
    assert symptom.change.value == pytest.approx(symptom.incident_value / symptom.baseline_value)


def test_the_interval_holds_the_true_change() -> None:
    """Where blocks are independent, at least 85 of 100 intervals of 90 % hold the factor that was applied."""
    services = (cut(service(seed=seed, memory=0.0, fault=slower(2.0, 80))) for seed in range(100))
    changes = [symptom.change for evidence in services if (symptom := find_symptom(evidence, Kind.LATENCY))]
    assert 100 == len(changes)
    assert sum(change.low <= 2.0 <= change.high for change in changes) >= 85


def test_a_tail_that_grew_is_a_symptom_of_the_tail() -> None:
    """Eight requests in a hundred four times slower: the 95th percentile is named, not the mean."""
    symptom = found(tail)
    assert symptom is not None
    assert (Kind.LATENCY, "p95") == (symptom.kind, symptom.statistic)


@pytest.mark.parametrize(
    ("signal", "share", "kind"),
    [
        (n.ERROR, 0.15, Kind.ERRORS),
        (n.ERROR, 0.98, Kind.AVAILABILITY),
        (n.EMPTY_RETRIEVAL, 0.3, Kind.QUALITY),
        (n.TRUNCATED, 0.4, Kind.QUALITY),
    ],
)
def test_shares_that_rose_are_symptoms(signal: n.Signal, share: float, kind: Kind) -> None:
    """Failed, empty and cut-off answers are symptoms of their kind; failing nearly always is an outage."""
    symptom = found(sometimes(signal, share, 1.0))
    assert symptom is not None
    assert (kind, signal) == (symptom.kind, symptom.signal)
    assert symptom.incident_value == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("signal", [n.ERROR, n.EMPTY_RETRIEVAL])
def test_a_few_more_are_not(signal: n.Signal) -> None:
    """One in two hundred is not worth a name."""
    assert found(sometimes(signal, 0.005, 1.0)) is None


def test_failing_fast_is_not_being_fast_nor_slow() -> None:
    """Failed requests do not count in latency: half fail at once, the symptom is errors with latency unchanged."""

    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        hit = (requests["t"] > 80) & (np.arange(len(requests)) % 3 == 0)
        return requests.assign(
            **{n.ERROR.name: hit.astype(float), n.LATENCY.name: np.where(hit, 30.0, requests[n.LATENCY.name])}
        )

    symptom = found(fault)
    assert symptom is not None
    assert Kind.ERRORS == symptom.kind
    latency = found(fault, Kind.LATENCY)
    assert latency is not None and latency.change.value < 1.3


def throughput(waiting: float, running: float | None = None, seed: int = 12) -> Evidence:
    """Half the tokens a second, with so many waiting then, and running then where four ran before."""
    evidence = service(seed=seed)
    rng = np.random.default_rng(seed)
    late = evidence.series["start"].rank().to_numpy() > 16
    tokens = np.where(late, 50.0, 100.0) * rng.lognormal(0, 0.05, len(late))
    columns = {n.GENERATION_THROUGHPUT.name: tokens, n.WAITING.name: np.where(late, waiting, 0.0)}
    if running is not None:
        columns[n.RUNNING.name] = np.where(late, running, 4.0) * rng.lognormal(0, 0.05, len(late))
    return cut(Evidence(evidence.requests.iloc[:0], evidence.series.assign(**columns)))


def test_throughput_that_fell_while_requests_waited_is_a_symptom() -> None:
    """Half the tokens a second with a queue before the engine."""
    symptom = find_symptom(throughput(waiting=5))
    assert symptom is not None
    assert (Kind.THROUGHPUT, "serving engine") == (symptom.kind, symptom.where)
    assert symptom.change.high < 1


def test_throughput_that_fell_with_demand_is_none() -> None:
    """Half the tokens a second with nobody waiting: fewer asked."""
    assert find_symptom(throughput(waiting=0)) is None


def test_throughput_that_fell_with_as_many_running_is_a_symptom() -> None:
    """Nobody waits, but the batch is as large as before: each request takes longer."""
    assert find_symptom(throughput(waiting=0, running=4.0)) is not None


def test_throughput_that_fell_with_the_batch_is_none() -> None:
    """Half as many run: there was half as much to do."""
    assert find_symptom(throughput(waiting=0, running=2.0)) is None


def test_more_tests_ask_for_more_evidence() -> None:
    """A change that one comparison shows is not named when it is the best of very many."""
    evidence = cut(service(seed=13, fault=slower(1.45, 80)))
    assert find_symptom(evidence) is not None
    assert find_symptom(evidence, tests=10**9) is None


def test_the_larger_of_two_symptoms_is_named() -> None:
    """Against what is worth naming, a doubling of latency is less than half of all requests failing."""

    def fault(requests: pd.DataFrame) -> pd.DataFrame:
        return sometimes(n.ERROR, 0.4, 1.0)(slower(2.0, 80)(requests))

    symptom = found(fault)
    assert symptom is not None
    assert Kind.ERRORS == symptom.kind


def test_availability_asked_for_is_looked_for_in_the_errors() -> None:
    """Nobody measures availability as such; that nearly all requests fail is it, that many fail is errors."""
    for share, kind in ((0.98, Kind.AVAILABILITY), (0.5, Kind.ERRORS)):
        symptom = found(sometimes(n.ERROR, share, 1.0), Kind.AVAILABILITY)
        assert symptom is not None
        assert kind is symptom.kind
