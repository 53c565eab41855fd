"""Access logs of proxies become server spans: when a request began, how long it took, how it ended."""

import json
from typing import Any

import pytest

from collector.files import access_log, app_log
from collector.files._access import grpc_code
from tests.collector.files.log_reading import nano, source
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
    text = COMBINED.format(1, 1, 200) + COMBINED.format(2, 5, 503) + COMBINED.format(3, 15, 304)
    found = read_as("access_log", text)
    counted = [(told["status"], value) for _, value, told in found.points]
    first = [("2xx", 1), ("3xx", 0), ("4xx", 0), ("5xx", 1)]
    assert [*first, ("2xx", 0), ("3xx", 1), ("4xx", 0), ("5xx", 0)] == counted
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


def test_a_long_log_is_counted_whole_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many stretches few are held at once; lines that come late are counted too."""
    monkeypatch.setattr(access_log, "STRETCHES", 2)
    line = '10.0.0.1 - - [30/Nov/2026:03:{:02}:05 +0000] "GET / HTTP/1.1" 200 512 "-" "curl/8"\n'
    found = read_as("access_log", "".join(line.format(minute) for minute in (*range(40), 0, 1)))
    counted = [value for _, value, told in found.points if told["status"] == "2xx"]
    assert (42, 42) == (sum(counted), len(counted))


NGINX = (
    '{"time_local":"30/Nov/2026:03:31:10 +0000","request_method":"GET","request_uri":"/x","status":"200",'
    '"request_time":"3.600","upstream_response_time":"%s"}\n'
)


@pytest.mark.parametrize(
    ("written", "seconds", "again"),
    [("3.500", 3.5, None), ("3.000, 0.500", 3.5, 1), ("-, 0.500", 0.5, 1), ("1.000 : 0.250, 0.500", 1.75, 1),
     ("0.010 : 0.020", 0.03, None),
     ("-", None, None), ("", None, None)],
)  # fmt: skip
def test_several_tries_of_an_upstream_are_attempts(written: str, seconds: float | None, again: int | None) -> None:
    """nginx writes a time for each server it tried: their sum is the upstream's time, and all but one are repeats."""
    combined = COMBINED.format(1, 10, 200).replace('curl/8"', f'curl/8" rt=3.600 urt="{written}"')
    positional = COMBINED.format(1, 10, 200).replace('curl/8"', f'curl/8" 3.600 {written}'.rstrip())
    for text in (NGINX % written, combined, positional):
        _, told = read_as("access_log", text).span("GET /x" if text[0] == "{" else "GET /")
        assert (seconds, again) == (told.get("upstream.duration"), told.get("http.request.resend_count"))


def test_nginx_json_with_its_local_time_is_read() -> None:
    """`$time_local` carries its zone, and `$request_time` is in seconds; the stamp is when the answer ended."""
    found = read_as("access_log", NGINX % "0.1" + (NGINX % "0.1").replace("03:31:10 +0000", "04:31:10 +0100"))
    assert [nano("2026-11-30 03:31:06") + 400_000_000] * 2 == [span.start_time_unix_nano for span in found.spans]
    assert ({"nginx"}, []) == ({one["service.name"] for one in found.resources}, found.problems)


@pytest.mark.parametrize("key", ["duration", "Duration", "request_time"])
def test_a_duration_that_may_be_of_any_unit_is_no_access_log(key: str) -> None:
    """Without a key that only one proxy writes, 2.35 may be anything: the log stays an application's."""
    line = {"time": "2026-11-30T03:31:12Z", "level": "info", "msg": "done", "method": "GET", "path": "/x",
            "status": 200, key: 2.35}  # fmt: skip
    text = f"{json.dumps(line)}\n" * 5
    assert (0.0, []) == (access_log.accepts(source(text)), read_as("access_log", text).spans)
    assert 0 < app_log.accepts(source(text))


@pytest.mark.parametrize(("key", "seconds"), [("response_flags", 0.00235), ("duration_ms", 0.007), ("duration_s", 7.0)])
def test_a_duration_is_what_its_proxy_or_its_name_says(key: str, seconds: float) -> None:
    """Envoy's are milliseconds; a name with a unit is believed anywhere, and before a name without."""
    line = {"start_time": "2026-11-30T03:31:12Z", "method": "GET", "path": "/x", "response_code": 200,
            "duration": 2.35, key: 7}  # fmt: skip
    (span,) = read_as("access_log", json.dumps(line)).spans
    assert round(seconds * 10**9) == span.end_time_unix_nano - span.start_time_unix_nano
