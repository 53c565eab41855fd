"""Incidents on the metrics page: what is shown, what is left out and counted, and a store that cannot be read."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from correlator.incident_metrics import CAUSES, INCIDENTS, LONGEST, PLACES, IncidentMetrics
from correlator.model.evidence import Kind
from correlator.model.incidents import Incident
from tests.correlator.api.served import ANSWER, incident


def shown(
    open_incidents: Callable[[], Sequence[Incident]], **counts: int
) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Name → (labels, value) of each sample of a real page."""
    registry = CollectorRegistry()
    registry.register(IncidentMetrics(open_incidents, Counter(counts)))
    samples: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    return samples


def test_an_open_incident_is_shown_with_its_causes() -> None:
    """Kind and place, the probabilities of the diagnosis and that of none of these."""
    page = shown(lambda: [replace(incident("a"), diagnosis=ANSWER)], opened=3, closed=2)
    assert [({"kind": "latency", "where": "rag-api"}, 1.0)] == page["tollens_incident_open"]
    first = ANSWER["findings"][0]
    assert (
        {"incident": "a", "hypothesis": first["hypothesis"], "verdict": first["verdict"]},
        first["probability"],
    ) == page["tollens_hypothesis_probability"][0]
    assert [({"incident": "a"}, ANSWER["none_of_these"])] == page["tollens_hypothesis_none_of_these"]
    assert [3.0, 2.0, 0.0] == [value for _, value in page["tollens_incidents_total"]]


def test_what_is_known_of_an_alert_alone_is_shown_too() -> None:
    """Neither kind nor diagnosis, and the last one failed."""
    page = shown(lambda: [replace(incident("a"), kind=None, failure="no data")])
    assert [({"kind": "unknown", "where": "rag-api"}, 1.0)] == page["tollens_incident_open"]
    assert [({}, 1.0)] == page["tollens_incident_undiagnosed"]
    assert "tollens_hypothesis_probability" not in page


def test_series_are_bounded_and_what_is_left_out_is_counted() -> None:
    """However many incidents, places and findings: the gravest are shown, the rest is a number."""
    many = [
        replace(
            incident(f"i{k}"),
            where=f"{k} " + "x" * 1000,
            kind=Kind.ERRORS,
            severity=float(k),
            diagnosis=dict(ANSWER) | {"findings": list(ANSWER["findings"]) * 10},
        )
        for k in range(100)
    ]
    page = shown(lambda: many)
    assert (PLACES + 1, 100.0) == (
        len(page["tollens_incident_open"]),
        sum(value for _, value in page["tollens_incident_open"]),
    )
    assert LONGEST == max(len(labels["where"]) for labels, _ in page["tollens_incident_open"])
    assert {f"i{k}" for k in range(100 - INCIDENTS, 100)} == {
        labels["incident"] for labels, _ in page["tollens_hypothesis_probability"]
    }
    assert len(page["tollens_hypothesis_probability"]) <= INCIDENTS * CAUSES
    assert [({}, 100.0 - INCIDENTS)] == page["tollens_incidents_left_out"]


def test_a_store_that_cannot_be_read_is_told_and_the_page_still_comes() -> None:
    """Absence of incidents would look like health."""

    def broken() -> Sequence[Incident]:
        raise OSError("gone")

    page = shown(broken, opened=1)
    assert [({}, 0.0)] == page["tollens_incidents_readable"]
    assert "tollens_incident_open" not in page
    assert 1.0 == page["tollens_incidents_total"][0][1]
