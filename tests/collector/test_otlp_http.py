"""OTLP/HTTP as a client sees it."""

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import Future

import httpx
import pytest
import zstandard
from google.protobuf.json_format import MessageToDict, Parse
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.sink import Full
from correlator.model.errors import ConfigError
from correlator.model.records import Signal
from tests.collector.receiving import PATIENCE_S, Kept, Receiver, receiver
from tests.collector.telemetry import KINDS, NOW, RECORDS, SOUND, TRACE_ID, span, spans

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LIMIT = 1 << 20
TRACES = SOUND[Signal.TRACES]
COMPRESS = {"gzip": gzip.compress, "zstd": zstandard.compress, "identity": bytes}


@pytest.fixture(scope="module")
def running() -> Iterator[Receiver]:
    with receiver(limits={"message_bytes": LIMIT}) as started:
        yield started


@pytest.fixture(scope="module")
def client(running: Receiver) -> Iterator[httpx.Client]:
    with connected(running) as opened:
        yield opened


def connected(running: Receiver) -> httpx.Client:
    return httpx.Client(base_url=running.url(""), timeout=PATIENCE_S)


def post(client: httpx.Client, body: bytes = TRACES, path: str = "/v1/traces", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(path, content=body, headers={"Content-Type": PROTOBUF} | named)


def status(answer: httpx.Response) -> Status:
    if answer.headers["Content-Type"] == JSON:
        return Parse(answer.content, Status())
    assert PROTOBUF == answer.headers["Content-Type"]
    return Status.FromString(answer.content)


def json_spans(*names: str, trace_id: str = TRACE_ID.hex()) -> bytes:
    found = [
        {
            "traceId": trace_id,
            "spanId": "0001020304050607",
            "name": name,
            "startTimeUnixNano": str(NOW),
            "endTimeUnixNano": str(NOW + 5),
        }
        for name in names
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}).encode()


@pytest.mark.parametrize("signal", list(Signal))
@pytest.mark.parametrize("encoding", COMPRESS)
def test_protobuf_reaches_the_sink_byte_by_byte(signal: Signal, encoding: str) -> None:
    """Each signal arrives as it was sent, whatever its encoding, is answered in protobuf and counted."""
    with receiver() as running, connected(running) as client:
        answer = post(client, COMPRESS[encoding](SOUND[signal]), f"/v1/{signal}", Content_Encoding=encoding)
        assert (200, b"", PROTOBUF) == (answer.status_code, answer.content, answer.headers["Content-Type"])
        assert [(signal, SOUND[signal])] == running.sink.requests
        counted = [
            running.count(f"{what}_total", protocol="http", signal=signal) for what in ("requests", "records", "bytes")
        ]
        assert [1, RECORDS[signal], len(SOUND[signal])] == counted


def test_json_is_kept_as_protobuf_and_answered_in_json(running: Receiver, client: httpx.Client) -> None:
    """A request in OTLP JSON is one for the sink like any other."""
    answer = post(client, json_spans("a", "b"), Content_Type=f"{JSON}; charset=utf-8")
    assert (200, {}, JSON) == (answer.status_code, answer.json(), answer.headers["Content-Type"])
    assert TRACES == running.sink.payloads(Signal.TRACES)[-1]


def test_partial_success_in_protobuf(client: httpx.Client) -> None:
    """The sender learns how many spans were left out and why."""
    answer = post(client, spans(span(), span(trace_id=bytes(16))))
    told = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert (200, 1, True) == (answer.status_code, told.rejected_spans, "traceId" in told.error_message)


def test_partial_success_in_json(running: Receiver, client: httpx.Client) -> None:
    """The same in JSON, where 64-bit numbers are text."""
    answer = post(client, json_spans("a", trace_id="0" * 32), Content_Type=JSON)
    assert (200, "1") == (answer.status_code, answer.json()["partialSuccess"]["rejectedSpans"])
    assert "traceId" in answer.json()["partialSuccess"]["errorMessage"]


def test_a_chunked_body_is_a_body(running: Receiver, client: httpx.Client) -> None:
    """A request without Content-Length is put together from its chunks."""
    chunks = (TRACES[start : start + 7] for start in range(0, len(TRACES), 7))
    answer = client.post("/v1/traces", content=chunks, headers={"Content-Type": PROTOBUF})
    assert 200 == answer.status_code
    assert TRACES == running.sink.payloads(Signal.TRACES)[-1]


@pytest.mark.parametrize(
    ("media_type", "encoding", "body"),
    [
        (PROTOBUF, "identity", b"\xff\xff\xff"),
        (PROTOBUF, "gzip", TRACES),
        (PROTOBUF, "gzip", gzip.compress(TRACES)[:-3]),
        (PROTOBUF, "zstd", b"\xff\xff\xff"),
        (JSON, "identity", b"{"),
        (JSON, "identity", b'{"resourceSpans": 1}'),
        (JSON, "identity", b'{"resourceMetrics": []}'),
    ],
)
def test_malformed_bodies_are_refused_for_good(media_type: str, encoding: str, body: bytes) -> None:
    """What is no request gets 400 and a status in its own content type, and is counted."""
    with receiver() as running, connected(running) as client:
        answer = post(client, body, Content_Type=media_type, Content_Encoding=encoding)
        assert (400, media_type) == (answer.status_code, answer.headers["Content-Type"])
        assert (3, True) == (status(answer).code, bool(status(answer).message))
        assert "Retry-After" not in answer.headers
        assert 1 == running.refused("http", "traces", "malformed")
        assert [] == running.sink.requests


@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=300), path=st.sampled_from([f"/v1/{signal}" for signal in Signal]))
def test_no_bytes_make_it_fail(client: httpx.Client, media_type: str, body: bytes, path: str) -> None:
    """Whatever is sent, the answer is 200 or 400."""
    assert post(client, body, path, Content_Type=media_type).status_code in (200, 400)


@pytest.mark.parametrize("headers", [{"Content_Type": "text/plain"}, {"Content_Encoding": "snappy"}])
def test_other_types_and_encodings_are_unsupported(client: httpx.Client, headers: dict[str, str]) -> None:
    """What we cannot read gets 415 and is told what we can."""
    answer = post(client, **headers)
    assert (415, "gzip, zstd, identity") == (answer.status_code, answer.headers["Accept-Encoding"])
    assert "expected Content-" in status(answer).message


def test_a_type_must_be_named(client: httpx.Client) -> None:
    """A body without Content-Type is not guessed at."""
    assert 415 == client.post("/v1/traces", content=TRACES).status_code


@pytest.mark.parametrize("path", ["/", "/v1/profiles", "/v1/traces/", "/V1/traces", "/healthz/x", "*"])
def test_other_paths_are_not_found(running: Receiver, client: httpx.Client, path: str) -> None:
    """Only the three paths of OTLP are there."""
    before = running.refused("http", "none", "unknown_path")
    assert 404 == post(client, path=path).status_code
    assert before + 1 == running.refused("http", "none", "unknown_path")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_other_methods_are_not_allowed(client: httpx.Client, method: str) -> None:
    """Only POST is, and the answer says so."""
    answer = client.request(method, "/v1/traces")
    assert (405, "POST") == (answer.status_code, answer.headers["Allow"])


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_too_large(running: Receiver, client: httpx.Client, encoding: str) -> None:
    """A small body that unpacks to too much gets 413 and never 5xx."""
    answer = post(client, COMPRESS[encoding](bytes(100 * LIMIT)), Content_Encoding=encoding)
    assert (413, 8, False) == (answer.status_code, status(answer).code, "Retry-After" in answer.headers)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_too_large(client: httpx.Client, chunked: bool) -> None:
    """A body that is too long gets 413, declared or not, and the client lives to see it."""
    body = bytes(3 * LIMIT)
    content = iter([body]) if chunked else body
    answer = client.post("/v1/traces", content=content, headers={"Content-Type": PROTOBUF})
    assert 413 == answer.status_code


def at_once(signal: Signal, payload: bytes) -> Future[None]:
    raise Full("the disk", 6.2)


def later(signal: Signal, payload: bytes) -> Future[None]:
    future: Future[None] = Future()
    future.set_exception(Full("the disk", 6.2))
    return future


@pytest.mark.parametrize("put", [at_once, later])
@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
def test_a_full_sink_says_when_to_try_again(put: type, media_type: str) -> None:
    """503 with Retry-After and RetryInfo; ready no more until something is kept again."""
    sink = Kept(put)
    with receiver(sink) as running, connected(running) as client:
        assert 200 == client.get("/readyz").status_code
        body = TRACES if media_type == PROTOBUF else json_spans("a")
        answer = post(client, body, Content_Type=media_type)
        info = RetryInfo()
        assert status(answer).details[0].Unpack(info)
        assert (503, "7", 7) == (answer.status_code, answer.headers["Retry-After"], info.retry_delay.seconds)
        assert 1 == running.refused("http", "traces", "full")
        assert 503 == client.get("/readyz").status_code
        sink.put_as = lambda *_: _done()
        assert 200 == post(client).status_code
        assert 200 == client.get("/readyz").status_code


def _done() -> Future[None]:
    future: Future[None] = Future()
    future.set_result(None)
    return future


def test_a_failing_sink_is_unavailable_and_tells_no_details() -> None:
    """Any other failure to keep a request is 503 with Retry-After, its text for nobody outside."""
    failed: Future[None] = Future()
    failed.set_exception(OSError("secret path"))
    with receiver(Kept(lambda *_: failed)) as running, connected(running) as client:
        answer = post(client)
        assert (503, "1", 14) == (answer.status_code, answer.headers["Retry-After"], status(answer).code)
        assert "secret" not in status(answer).message


def test_probes() -> None:
    """The process lives, and says so by GET and HEAD; other methods find nothing."""
    with receiver() as running, connected(running) as client:
        assert (200, "ok\n") == ((alive := client.get("/healthz")).status_code, alive.text)
        assert (200, "") == ((head := client.head("/healthz")).status_code, head.text)
        assert 404 == client.post("/healthz").status_code


def test_requests_follow_one_another_on_a_connection(running: Receiver) -> None:
    """A connection is kept after success, and after an error whose body was read."""
    with running.raw() as connection, connection.makefile("rwb") as stream:
        for body, expected in ((TRACES, b"200"), (b"\xff", b"400"), (TRACES, b"200")):
            stream.write(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n" % PROTOBUF.encode())
            stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            stream.flush()
            assert expected == stream.readline().split()[1]
            headers = dict(line.rstrip().split(b": ", 1) for line in iter(stream.readline, b"\r\n"))
            stream.read(int(headers[b"Content-Length"]))


def test_pipelined_requests_are_answered_in_turn(running: Receiver) -> None:
    """Requests sent at once are answered one after the other."""
    one = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with running.raw() as connection, connection.makefile("rb") as answers:
        connection.sendall(one * 3 + one.replace(b"Host: x", b"Host: x\r\nConnection: close"))
        assert 4 == answers.read().count(b"HTTP/1.1 200")


def test_what_was_kept_decodes_to_what_was_sent_in_json(running: Receiver, client: httpx.Client) -> None:
    """The protobuf kept for a JSON request means the same as the JSON."""
    post(client, json_spans("näme"), Content_Type=JSON)
    kept = MessageToDict(KINDS[Signal.TRACES].FromString(running.sink.payloads(Signal.TRACES)[-1]))
    assert "näme" == kept["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"]


def test_a_port_in_use_is_an_error_of_configuration(running: Receiver) -> None:
    """A second service does not share the port in silence."""
    with pytest.raises(ConfigError, match="cannot listen"), receiver(http_port=running.http.port):
        pass
