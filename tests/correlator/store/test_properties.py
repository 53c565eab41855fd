"""Whatever a valid request holds, its rows are those the official decoder gives."""

from hypothesis import given, settings

from correlator.model.records import Signal
from tests.correlator.store import requests
from tests.correlator.store.support import check

few = settings(max_examples=20)


@few
@given(payloads=requests.payloads(requests.trace_requests))
def test_spans(store, payloads):
    """Spans, events and links arrive whole and alone."""
    check(store, Signal.TRACES, *payloads)


@few
@given(payloads=requests.payloads(requests.log_requests))
def test_logs(store, payloads):
    """Log records arrive whole and alone, whatever their body is."""
    check(store, Signal.LOGS, *payloads)


@few
@given(payloads=requests.payloads(requests.metric_requests))
def test_metrics(store, payloads):
    """Points of every kind arrive in the table of their kind, whole and alone."""
    check(store, Signal.METRICS, *payloads)
