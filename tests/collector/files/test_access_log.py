"""Access logs of proxies become server spans: when a request began, how long it took, how it ended."""

from typing import Any

import pytest

from collector.files._access import grpc_code
from tests.collector.files.log_reading import nano
from tests.collector.files.samples import read_as, sample

COMBINED = '10.0.0.{} - - [30/Nov/2026:03:31:{:02} +0000] "GET / HTTP/1.1" {} 512 "-" "curl/8"\n'


@pytest.mark.parametrize(
    ("name", "service", "start", "seconds", "told"),
    [
        ("POST /v1/chat/completions", "nginx", "03:31:03.766", 1.234, {"upstream.duration": 1.23}),
        ("GET /users/*", "nginx", "03:31:05.877", 0.123, {"url.path": "/users/1234", "upstream.duration": 0.121}),
        ("POST /v1/completions", "envoy", "03:31:07.310", 0.226, {"envoy.response_flags": "UO"}),
        ("GET /index.html", "haproxy", "03:31:09.655", 0.309, {"haproxy.queue_time": 0.2, "haproxy.backend_queue": 3}),
        ("GET /x", "traefik", "03:31:10.100", 0.012345678, {"http.request.resend_count": 1}),
        ("GET /c", "caddy", "03:31:11.000", 0.5, {"http.response.status_code": 200}),
        ("POST /pkg.Model/Infer", "envoy", "03:31:12.000", 0.042,
         {"rpc.service": "pkg.Model", "rpc.method": "Infer", "rpc.grpc.status_code": 14}),
    ],
)  # fmt: skip
def test_a_request_of_each_proxy(name: str, service: str, start: str, seconds: float, told: dict[str, Any]) -> None:
    """Start, duration in its own unit, and what else the format tells; nginx and Caddy write when it ended."""
    found = sample("access")
    span, attributes = found.span(name)
    clock, _, milli = start.partition(".")
    assert nano(f"2026-11-30 {clock}") + int(milli) * 10**6 == span.start_time_unix_nano
    assert round(seconds * 10**9) == span.end_time_unix_nano - span.start_time_unix_nano
    assert service == found.resources[found.spans.index(span)]["service.name"]
    assert told.items() <= attributes.items()


def test_servers_failures_are_failures() -> None:
    """Status 500 and above, and gRPC codes that are a server's fault."""
    failed = {span.name for span in sample("access").spans if span.status.code == 2}
    assert {"GET /users/*", "POST /v1/completions", "POST /pkg.Model/Infer"} == failed


def test_every_request_is_a_trace_of_its_own_and_the_same_each_time() -> None:
    """Ids differ between lines, also between equal ones, and are the same on reading again."""
    line = COMBINED.format(1, 5, 200).replace('curl/8"', 'curl/8" 0.250')
    found = read_as("access_log", line * 3)
    assert 3 == len({span.trace_id for span in found.spans})
    assert [span.span_id for span in found.spans] == [span.span_id for span in read_as("access_log", line * 3).spans]


def test_without_a_duration_answers_are_counted() -> None:
    """A plain combined log gives no span of zero length, but counts by status in stretches of ten seconds."""
    text = COMBINED.format(1, 1, 200) + COMBINED.format(2, 5, 503) + COMBINED.format(3, 15, 404)
    found = read_as("access_log", text)
    counted = [(told["status"], value) for _, value, told in found.points]
    assert [("2xx", 1), ("4xx", 0), ("5xx", 1), ("2xx", 0), ("4xx", 1), ("5xx", 0)] == counted
    assert ([], [("unsupported", 3)]) == (found.spans, [(one.kind, one.count) for one in found.problems])


def test_other_lines_are_counted_and_named() -> None:
    """Lines between requests that are none: how many, and where the first was."""
    line = COMBINED.format(1, 5, 200).replace('curl/8"', 'curl/8" 0.250')
    found = read_as("access_log", f"{line}garbage here\nmore of it\n{line}")
    assert ([(2, 2)], 2) == ([(one.line, one.count) for one in found.problems], len(found.spans))


@pytest.mark.parametrize(
    ("written", "code"),
    [(14, 14), ("14", 14), ("UNAVAILABLE", 14), ("DeadlineExceeded", 4), ("deadline_exceeded", 4), ("OK", 0),
     ("99", None), ("-", None), (None, None)],
)  # fmt: skip
def test_grpc_codes_in_every_spelling(written: object, code: int | None) -> None:
    """Numbers and names; what is none is none."""
    assert code == grpc_code(written)


@pytest.mark.parametrize("duration", ['"long"', "-1", "1e400", "true", "null", "{}"])
def test_a_duration_that_is_none_gives_no_span(duration: str) -> None:
    """A JSON line without a usable duration is named."""
    line = '{"start_time":"2026-11-30T03:31:12Z","method":"GET","path":"/","response_code":200,"duration":%s}\n'
    found = read_as("access_log", line % duration)
    assert ([], 1) == (found.spans, len(found.problems))
