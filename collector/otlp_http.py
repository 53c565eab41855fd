"""OTLP/HTTP: `/v1/traces`, `/v1/metrics`, `/v1/logs` in protobuf or JSON, and `/healthz` and `/readyz`."""

from __future__ import annotations

from functools import partial

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from collector.receiving.answers import Reason, Refused, response
from collector.receiving.decompress import ENCODINGS, Corrupt, TooLong, decompressed
from collector.receiving.http_connection import Head, ReadBody, Response
from collector.receiving.http_server import HttpServer
from collector.receiving.intake import Admission, Intake
from collector.receiving.metrics import NO_SIGNAL
from collector.receiving.security import ssl_context
from collector.receiving.settings import ReceiverSettings
from correlator.model.listening import listening
from correlator.model.records import Signal

_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_SIGNALS = {f"/v1/{signal}": signal for signal in Signal}
_HEADERS = {
    Reason.UNAUTHENTICATED: ("WWW-Authenticate", "Bearer"),
    Reason.WRONG_METHOD: ("Allow", "POST"),
    Reason.UNSUPPORTED: ("Accept-Encoding", ", ".join(ENCODINGS)),
}


async def serve_http(intake: Intake, settings: ReceiverSettings) -> HttpServer:
    """Listen in the running loop. Raises ConfigError where address or TLS files cannot be used."""
    tls = None if settings.tls is None else ssl_context(settings.tls)
    server = HttpServer(
        listening("OTLP/HTTP", settings.host, settings.http_port),
        tls,
        settings.limits,
        answer=partial(_answer, intake),
        refuse=partial(_refuse, intake, _PROTOBUF),
        turned_away=partial(intake.count_refused, "http", NO_SIGNAL, Reason.TOO_MANY_CONNECTIONS),
    )
    intake.metrics.connections.set_function(lambda: server.connections)
    server.start()
    return server


async def _answer(intake: Intake, head: Head, read_body: ReadBody) -> Response:
    path, media_type = head.path.partition("?")[0], _media_type(head)
    signal = _SIGNALS.get(path)
    if signal is None:
        return _probed(intake, head, path) or _refuse(intake, media_type, Refused(Reason.UNKNOWN_PATH, "no such path"))
    if head.method != "POST":
        return _refuse(intake, media_type, Refused(Reason.WRONG_METHOD, "expected POST"))
    try:
        with intake.admit("http", signal, head.headers.get("authorization")) as admission:
            return await _export(intake, admission, head, read_body)
    except Refused as refused:
        return _refusal(media_type, refused)


def _probed(intake: Intake, head: Head, path: str) -> Response | None:
    if head.method not in ("GET", "HEAD"):
        return None
    if path == "/healthz":
        return Response(200, b"ok\n")
    if path == "/readyz":
        return Response(200, b"ready\n") if intake.ready() else Response(503, b"no room for telemetry\n")
    return None


async def _export(intake: Intake, admission: Admission, head: Head, read_body: ReadBody) -> Response:
    media_type, encoding = _media_type(head), head.headers.get("content-encoding", "identity").strip().lower()
    if media_type not in (_PROTOBUF, _JSON):
        raise Refused(Reason.UNSUPPORTED, f"expected Content-Type {_PROTOBUF} or {_JSON}")
    if encoding not in ENCODINGS:
        raise Refused(Reason.UNSUPPORTED, f"expected Content-Encoding {', '.join(ENCODINGS)}")
    body = await _received(admission, head, read_body)
    payload = _decompressed(admission, encoding, body)
    take = intake.take_json if media_type == _JSON else intake.take_protobuf
    checked = await take(admission, payload)
    return Response(200, _encoded(response(admission.signal, checked), media_type), media_type)


async def _received(admission: Admission, head: Head, read_body: ReadBody) -> bytes:
    limit_bytes, received = admission.intake.limits.message_bytes, 0

    def hold(size: int) -> None:
        nonlocal received
        received += size
        if received > limit_bytes:
            raise Refused(Reason.TOO_LARGE, f"the body is larger than {limit_bytes} bytes")
        admission.hold(size)

    if int(head.headers.get("content-length", "0")) > limit_bytes:
        hold(limit_bytes + 1)
    return await read_body(hold)


def _decompressed(admission: Admission, encoding: str, body: bytes) -> bytes:
    try:
        payload = decompressed(encoding, body, admission.intake.limits.message_bytes)
    except TooLong as error:
        raise Refused(Reason.TOO_LARGE, str(error)) from None
    except Corrupt as error:
        raise Refused(Reason.MALFORMED, str(error)) from None
    if payload is not body:
        admission.hold(len(payload))
    return payload


def _refuse(intake: Intake, media_type: str, refused: Refused) -> Response:
    intake.count_refused("http", NO_SIGNAL, refused.reason)
    return _refusal(media_type, refused)


def _refusal(media_type: str, refused: Refused) -> Response:
    media_type = media_type if media_type in (_PROTOBUF, _JSON) else _JSON
    headers = [_HEADERS[refused.reason]] if refused.reason in _HEADERS else []
    if refused.retry_after_s is not None:
        headers.append(("Retry-After", str(refused.retry_after_s)))
    return Response(refused.reason.http_status, _encoded(refused.status(), media_type), media_type, tuple(headers))


def _encoded(message: Message, media_type: str) -> bytes:
    return MessageToJson(message, indent=None).encode() if media_type == _JSON else message.SerializeToString()


def _media_type(head: Head) -> str:
    return head.headers.get("content-type", "").partition(";")[0].strip().lower()
