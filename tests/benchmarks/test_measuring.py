"""What the benchmarks measure with: generated spans and processes of their own."""

from collections.abc import Iterable

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from benchmarks.generate import genai_trace_requests
from benchmarks.process import quantity, run

MIB = 1024 * 1024


def spans(requests: list[bytes]) -> list[Span]:
    decoded = map(ExportTraceServiceRequest.FromString, requests)
    return [span for r in decoded for of in r.resource_spans for scope in of.scope_spans for span in scope.spans]


def seconds(span: Span) -> float:
    return (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9


def by_id(requests: Iterable[bytes]) -> dict[bytes, Span]:
    return {span.span_id: span for span in spans(list(requests))}


def begun(known: dict[bytes, Span], ratios: dict[bytes, float], ratio: int) -> list[int]:
    """Starts of the root spans that take `ratio` times as long."""
    slow = [known[i] for i, found in ratios.items() if round(found) == ratio]
    return [span.start_time_unix_nano for span in slow if not span.parent_span_id]


def test_as_many_spans_are_made_as_asked_for() -> None:
    """Requests decode, the last one is shorter, and no span has the id of another."""
    requests = list(genai_trace_requests(25, per_request=10))
    assert [10, 10, 5] == [len(spans([request])) for request in requests]
    assert 25 == len({span.span_id for span in spans(requests)})


def test_the_same_arguments_make_the_same_bytes() -> None:
    """Generated spans are the same in every run, and differ with the seed."""
    assert list(genai_trace_requests(300, seed=1)) == list(genai_trace_requests(300, seed=1))
    assert list(genai_trace_requests(300, seed=1)) != list(genai_trace_requests(300, seed=2))


def test_later_spans_take_twice_as_long() -> None:
    """From the given span on everything lasts twice as long, and nothing before it changes."""
    plain = by_id(genai_trace_requests(300))
    slower = by_id(genai_trace_requests(300, slower_after=150))
    ratios = {i: seconds(slower[i]) / seconds(plain[i]) for i in plain}
    assert {1.0, 2.0} == {round(ratio, 4) for ratio in ratios.values()}
    assert 150 == sum(ratio > 1.5 for ratio in ratios.values())
    assert max(begun(plain, ratios, 1)) < min(begun(plain, ratios, 2))


def test_memory_and_output_of_a_process_are_its_own() -> None:
    """A child's peak memory holds what it allocated, and its output is what it printed."""
    took = run("timeit", "-n", "1", "-r", "1", "print('done', len(bytearray(300 * 1024 * 1024)))")
    assert "done" in took.output
    assert took.peak_bytes > 300 * MIB
    assert took.wall_s > 0


def test_a_process_that_fails_ends_the_benchmark() -> None:
    """A failure is told with the command, its exit code and what it said; it is no figure."""
    with pytest.raises(SystemExit, match=r"(?s)no\.such\.module: exit code 1.*No module named"):
        run("no.such.module")


def test_lowest_median_and_highest_are_printed() -> None:
    """The order of the values does not matter."""
    assert "1.00 / 2.00 / 9.00" == quantity([9.0, 1.0, 2.0])
