"""Which service the labels of an alert name: alerts carry labels of scraped targets, spans resource attributes."""

from __future__ import annotations

from collections.abc import Mapping

from correlator.join.within import during
from correlator.model.evidence import Window
from correlator.store import Store

AROUND_NS = 600_000_000_000
"""Telemetry looked at before and after the alert."""
LABELS = {
    "service": "ServiceName",
    "service_name": "ServiceName",
    "job": "ServiceName",
    "app": "ServiceName",
    "pod": "ResourceAttributes['k8s.pod.name']",
    "container": "ResourceAttributes['k8s.container.name']",
    "instance": "ResourceAttributes['service.instance.id']",
    "node": "ResourceAttributes['k8s.node.name']",
    "host": "ResourceAttributes['host.name']",
    "model_name": "SpanAttributes['gen_ai.request.model']",
    "model": "SpanAttributes['gen_ai.request.model']",
    "namespace": "ResourceAttributes['k8s.namespace.name']",
}
"""Label → what it names in spans; the most telling first."""


def service_of(store: Store, labels: Mapping[str, str], at: int) -> str | None:
    """The one service that answers requests and has what the most telling label names, around the time `at`.

    None where a label names several, or only what answers no requests of users, such as the serving engine.
    """
    named = [(column, labels[label]) for label, column in LABELS.items() if labels.get(label)]
    if not named:
        return None
    counts = ", ".join(f"countIf({column} = {{v{k}:String}}) > 0 AS named{k}" for k, (column, _) in enumerate(named))
    inside = during("Timestamp", Window(at - AROUND_NS, at + AROUND_NS))
    values = {f"v{k}": value for k, (_, value) in enumerate(named)}
    found = store.query(_SERVICES.format(counts=counts, inside=inside), **values)
    for k in range(len(named)):
        services = found.loc[found[f"named{k}"] > 0, "service"]
        if len(services):
            return str(services.iloc[0]) if len(services) == 1 else None
    return None


_SERVICES = """
SELECT toString(ServiceName) AS service, {counts} FROM otel_traces PREWHERE {inside} WHERE ServiceName != ''
GROUP BY service HAVING countIf(ParentSpanId = '') > 0
"""
