"""Open incidents and their most probable causes on `/metrics`, never more series than a fixed number."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from correlator.model.incidents import Incident

INCIDENTS = 20
"""Open incidents whose causes are shown: the gravest."""
CAUSES = 5
"""Causes shown of each, most probable first."""
PLACES = 50
"""Pairs of kind and place for which open incidents are counted; further ones are counted as `other`."""
LONGEST = 100
"""Characters kept of a place: services name themselves."""
OTHER = "other"
STATES = ("opened", "closed", "merged")
LOG = logging.getLogger(__name__)


class IncidentMetrics(Collector):
    """What `open_incidents` gives when somebody looks; `counts` are the watcher's, by what it did."""

    def __init__(self, open_incidents: Callable[[], Sequence[Incident]], counts: Counter[str]) -> None:
        self._open = open_incidents
        self._counts = counts

    def describe(self) -> Iterator[Metric]:
        """None: registering reads no store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """For prometheus-client. Where incidents cannot be read the page says so, and shows the rest."""
        total = CounterMetricFamily("tollens_incidents", "Incidents that changed their state", labels=["state"])
        for state in STATES:
            total.add_metric([state], self._counts[state])
        yield total
        known = GaugeMetricFamily("tollens_incidents_readable", "1 when open incidents could be read for this page")
        try:
            found = sorted(self._open(), key=lambda incident: (-incident.severity, incident.opened, incident.id))
        except Exception:
            LOG.exception("open incidents could not be read for /metrics")
            known.add_metric([], 0.0)
        else:
            known.add_metric([], 1.0)
            yield from _open(found)
            yield from _causes(found)
        yield known


def _open(incidents: Sequence[Incident]) -> Iterator[Metric]:
    family = GaugeMetricFamily("tollens_incident_open", "Open incidents", labels=["kind", "where"])
    places = Counter((incident.kind or "unknown", incident.where[:LONGEST]) for incident in incidents)
    for k, ((kind, where), count) in enumerate(places.most_common()):
        if k < PLACES:
            family.add_metric([kind, where], count)
    if len(places) > PLACES:
        family.add_metric([OTHER, OTHER], sum(count for _, count in places.most_common()[PLACES:]))
    yield family
    failing = sum(bool(incident.failure) for incident in incidents)
    yield GaugeMetricFamily("tollens_incident_undiagnosed", "Open incidents whose last diagnosis failed", failing)


def _causes(incidents: Sequence[Incident]) -> Iterator[Metric]:
    labels = ["incident", "hypothesis"]
    probability = GaugeMetricFamily(
        "tollens_hypothesis_probability", "Probability of a cause of an open incident", labels=[*labels, "verdict"]
    )
    share = GaugeMetricFamily("tollens_hypothesis_share", "Share of the symptom that a cause explains", labels=labels)
    nothing = GaugeMetricFamily(
        "tollens_hypothesis_none_of_these", "Probability that no known cause explains an incident", labels=["incident"]
    )
    left_out = max(0, len(incidents) - INCIDENTS)
    for incident in incidents[:INCIDENTS]:
        answer: Mapping[str, Any] = incident.diagnosis or {}
        for finding in answer.get("findings", [])[:CAUSES]:
            name = [incident.id, finding["hypothesis"]]
            if finding["probability"] is not None:
                probability.add_metric([*name, finding["verdict"]], finding["probability"])
            if finding["share"] is not None and finding["share"]["value"] is not None:
                share.add_metric(name, finding["share"]["value"])
        if answer.get("none_of_these") is not None:
            nothing.add_metric([incident.id], answer["none_of_these"])
    yield from (probability, share, nothing)
    yield GaugeMetricFamily("tollens_incidents_left_out", "Open incidents whose causes are not shown here", left_out)
