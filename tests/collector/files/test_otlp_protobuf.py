"""OTLP protobuf as read(): framings and signals are found by content."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from google.protobuf.internal.encoder import _VarintBytes
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.model.records import Signal
from tests.collector.files.support import REQUESTS, T0, merged, read_bytes, requests, span_names


def bare(payloads: Sequence[bytes]) -> bytes:
    return b"".join(payloads)


def varint(payloads: Sequence[bytes]) -> bytes:
    return b"".join(_VarintBytes(len(payload)) + payload for payload in payloads)


def fixed(payloads: Sequence[bytes]) -> bytes:
    return b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)


def request(signal: Signal, number: int = 1, resource: bool = True) -> Any:
    """One sound record of the signal."""
    out: Any = REQUESTS[signal]()
    (listed,) = out.DESCRIPTOR.fields
    outer = getattr(out, listed.name).add()
    if resource:
        outer.resource.attributes.add(key="service.name").value.string_value = "rag"
    if signal is Signal.TRACES:
        outer.scope_spans.add().spans.add(
            trace_id=b"\n" * 16,
            span_id=number.to_bytes(8, "big"),
            name=f"span {number}",
            start_time_unix_nano=T0,
            end_time_unix_nano=T0,
        )
    elif signal is Signal.LOGS:
        outer.scope_logs.add().log_records.add(time_unix_nano=T0).body.string_value = "ready"
    else:
        metric = outer.scope_metrics.add().metrics.add(name="depth")
        metric.gauge.data_points.add(time_unix_nano=T0, as_int=number)
    return out


@pytest.mark.parametrize("frame", [bare, varint, fixed])
@pytest.mark.parametrize("signal", Signal)
@pytest.mark.parametrize("resource", [True, False])
def test_framing_and_signal_are_found(
    frame: Callable[[Sequence[bytes]], bytes], signal: Signal, resource: bool
) -> None:
    """Bare, varint-delimited and four-byte-delimited requests of each signal come back as they were."""
    written = [request(signal, number, resource) for number in range(1, 200)]
    batches, problems = read_bytes(frame([one.SerializeToString() for one in written]))
    whole: Any = REQUESTS[signal]()
    for one in written:
        whole.MergeFrom(one)
    assert [] == problems
    assert whole == merged(batches, signal)


@pytest.mark.parametrize("signal", Signal)
@settings(max_examples=40)
@given(data=st.data())
def test_everything_comes_back(signal: Signal, data: st.DataObject) -> None:
    """A request with any fields set is read as itself, in each framing."""
    drawn = request(signal, 2**40)
    drawn.MergeFrom(data.draw(requests(signal)))
    for frame in (bare, varint, fixed):
        batches, problems = read_bytes(frame([drawn.SerializeToString()]))
        assert [] == problems
        assert drawn == merged(batches, signal)


@pytest.mark.parametrize("frame", [varint, fixed])
def test_signals_may_be_mixed(frame: Callable[[Sequence[bytes]], bytes]) -> None:
    """A delimited stream may hold requests of several signals."""
    batches, problems = read_bytes(frame([request(signal).SerializeToString() for signal in Signal]))
    assert [] == problems
    assert list(Signal) == [batch.signal for batch in batches]


@pytest.mark.parametrize("frame", [bare, varint, fixed])
def test_a_cut_stream_gives_what_came_before(frame: Callable[[Sequence[bytes]], bytes]) -> None:
    """A stream that ends inside a request gives the requests before it and one problem."""
    content = frame([request(Signal.TRACES, n).SerializeToString() for n in (1, 2, 3)])
    batches, problems = read_bytes(content[:-4])
    assert ["truncated"] == [problem.kind for problem in problems]
    assert ["span 1", "span 2"] == span_names(batches)


def test_a_broken_request_costs_itself_only() -> None:
    """A request that cannot be decoded is named by its number; the others are read."""
    good = [request(Signal.TRACES, n).SerializeToString() for n in (1, 2)]
    batches, problems = read_bytes(varint([good[0], b"\xff" * 30, good[1]]))
    assert ["span 1", "span 2"] == span_names(batches)
    assert [("malformed", "request 2")] == [(problem.kind, problem.field) for problem in problems]


def test_a_length_beyond_reason_is_refused() -> None:
    """A length of gigabytes is a problem, not an allocation."""
    good = request(Signal.TRACES).SerializeToString()
    batches, problems = read_bytes(varint([good]) + _VarintBytes(3 << 30) + good)
    assert ["span 1"] == span_names(batches)
    assert ["malformed"] == [problem.kind for problem in problems]
