"""Which service the labels of an alert name, by the spans around it."""

from collections.abc import Mapping

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from correlator.join.labelled import AROUND_NS, service_of
from correlator.model.records import Batch, Signal
from correlator.store import Store
from tests.correlator.join.telemetry import at, chat, root, served, traces
from tests.correlator.store.support import emptied

PODS = {"rag": "rag-0", "search": "search-0", "vllm": "vllm-0"}


def with_resources(batch: Batch) -> Batch:
    """Each service in its pod, all in one namespace."""
    request = ExportTraceServiceRequest.FromString(batch.payload)
    for resource in request.resource_spans:
        name = resource.resource.attributes[0].value.string_value
        for key, value in {"k8s.pod.name": PODS[name], "k8s.namespace.name": "prod"}.items():
            resource.resource.attributes.append(KeyValue(key=key, value=AnyValue(string_value=value)))
    return Batch(Signal.TRACES, request.SerializeToString())


@pytest.fixture
def filled(store: Store) -> Store:
    """A service that calls a model, the engine that serves it, and another service."""
    spans = [
        root(trace="a", start=0, end=2),
        chat(id="call", trace="a", parent="root", start=0, end=2, attributes={"gen_ai.request.model": "small"}),
        served(id="llm", trace="a", parent="call", start=0, end=2),
        root(trace="b", start=1, end=2, service="search"),
    ]
    emptied(store).load([with_resources(traces(spans))])
    return store


@pytest.mark.parametrize(
    ("labels", "service"),
    [
        ({"service": "rag"}, "rag"),
        ({"job": "search"}, "search"),
        ({"pod": "rag-0"}, "rag"),
        ({"model_name": "small"}, "rag"),
        ({"service": "nobody", "pod": "search-0"}, "search"),
        ({"service": "rag", "pod": "search-0"}, "rag"),
        ({"service": "vllm"}, None),
        ({"pod": "vllm-0"}, None),
        ({"namespace": "prod"}, None),
        ({"service": "nobody"}, None),
        ({"service": "rag' OR 1=1 --"}, None),
        ({"service": ""}, None),
        ({"severity": "page"}, None),
        ({}, None),
    ],
)
def test_labels_lead_to_the_one_service_that_answers_requests(
    filled: Store, labels: Mapping[str, str], service: str | None
) -> None:
    """By name, pod or model, the most telling label first; the engine, several services and strangers are none."""
    assert service == service_of(filled, labels, at(60))


def test_only_what_is_near_the_alert_counts(filled: Store) -> None:
    """A service of long ago is none of today."""
    assert "rag" == service_of(filled, {"service": "rag"}, at(0) + AROUND_NS)
    assert service_of(filled, {"service": "rag"}, at(0) + 2 * AROUND_NS) is None
