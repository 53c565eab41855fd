"""Access logs as JSON lines: Envoy, Traefik, Caddy, nginx with a JSON format, gRPC middleware. Keys differ, so each
meaning has a list of them, and the unit of a duration goes with its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.attributes import Value
from collector.files._access import Request, grpc_code
from collector.files._access_text import clf_unix_nano, upstream_attributes
from collector.files._app_json import time_of
from collector.files._app_record import id_of, traceparent_of
from collector.files._stamps import Years
from collector.files._times import SECOND

_DURATIONS = {  # seconds a unit, which the name tells
    "grpc.time_ms": 1e-3, "duration_ms": 1e-3, "latency_ms": 1e-3, "response_time_ms": 1e-3, "elapsed_ms": 1e-3,
    "duration_s": 1.0, "latency_s": 1.0,
}  # fmt: skip
_OF_PROXY: dict[str, tuple[str, float, frozenset[str]]] = {  # key, seconds a unit, keys only the proxy writes
    "envoy": ("duration", 1e-3, frozenset({"response_flags", "response_code_details", "upstream_cluster",
        "upstream_service_time", "upstream_transport_failure_reason"})),
    "traefik": ("Duration", 1e-9, frozenset({"DownstreamStatus", "OriginDuration", "RequestAddr"})),
    "nginx": ("request_time", 1.0, frozenset({"time_local", "time_iso8601", "msec", "remote_addr", "body_bytes_sent",
        "request_uri", "upstream_response_time", "upstream_addr", "http_user_agent"})),
}  # fmt: skip
"""A name without a unit means what the proxy means by it; beside none of its keys it may be anything."""
_UPSTREAM = {"upstream_service_time": 1e-3, "OriginDuration": 1e-9}
_STARTS = ("start_time", "StartUTC", "grpc.start_time")
_ENDS = ("time_iso8601", "msec", "time_local", "@timestamp", "timestamp", "ts", "time")
_METHODS = ("method", "request_method", "RequestMethod", "http_method", "grpc.method")
_PATHS = ("path", "uri", "request_uri", "RequestPath", "url", "request_path")
_STATUSES = ("response_code", "status", "DownstreamStatus", "status_code")
_GRPC = ("grpc_status", "grpc.code", "grpc_status_number", "grpc_code")
_OTHERS = {
    "response_flags": "envoy.response_flags", "upstream_cluster": "upstream.cluster", "authority": "server.address",
    "upstream_host": "upstream.address", "ServiceName": "traefik.service", "RetryAttempts": "http.request.resend_count",
}  # fmt: skip


def request_of(value: Mapping[str, Any], years: Years) -> Request | None:
    """The request that an object tells of; None if it is no line of an access log with a duration."""
    flat = dict(value)
    if isinstance(value.get("request"), dict):  # Caddy
        flat |= {key: inner for key, inner in value["request"].items() if key in ("method", "uri")}
    is_caddy = "request" in value and str(value.get("logger", "")).startswith("http.log")
    proxy = "caddy" if is_caddy else next((name for name, (_, _, keys) in _OF_PROXY.items() if keys & flat.keys()), "")
    seconds = _scaled(flat, {"duration": 1.0}) if is_caddy else _seconds(flat, proxy)
    start = _time(flat, _STARTS, years)
    end = _time(flat, _ENDS, years) if start is None else None
    method, path = _first(flat, _METHODS), _first(flat, _PATHS)
    if flat.get("grpc.service"):
        method, path = "POST", f"/{flat['grpc.service']}/{flat.get('grpc.method', '')}"
    status, grpc = _status(_first(flat, _STATUSES)), grpc_code(_first(flat, _GRPC))
    if seconds is None or (start is None and end is None) or not path or (status is None and grpc is None):
        return None
    began = start if start is not None else (end or 0) - round(seconds * SECOND)
    attributes = {name: flat[key] for key, name in _OTHERS.items() if isinstance(flat.get(key), str | int | float)}
    if (upstream := _scaled(flat, _UPSTREAM)) is not None:
        attributes["upstream.duration"] = upstream
    attributes |= upstream_attributes(str(flat.get("upstream_response_time") or ""))
    trace = traceparent_of(flat.get("traceparent"))[0] or id_of(flat.get("trace_id") or "", 16)
    service = str(flat.get("service") or proxy or "proxy")
    return Request(service, began, seconds, str(method or "GET"), str(path), status, grpc, attributes, trace)


def _status(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 0 <= number < 1_000 else None


def _seconds(flat: Mapping[str, Any], proxy: str) -> float | None:
    own = {key: unit for name, (key, unit, _) in _OF_PROXY.items() if name == proxy}
    return _scaled(flat, own | _DURATIONS)


def _scaled(flat: Mapping[str, Any], units: Mapping[str, float]) -> float | None:
    for key, unit in units.items():
        number = _number(flat.get(key))
        if number is not None and 0 <= number:
            return float(number * unit)
    return None


def _number(value: object) -> float | None:
    """A finite number, also one written as text; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if number != number or abs(number) > 1e18:
        return None
    return number


def _first(flat: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((flat[key] for key in keys if flat.get(key) not in (None, "", "-")), None)


def _time(flat: Mapping[str, Any], keys: tuple[str, ...], years: Years) -> int | None:
    values: list[Value] = [flat[key] for key in keys if isinstance(flat.get(key), str | int | float)]
    return next((time for value in values if (time := _moment(value, years)) is not None), None)


def _moment(value: Value, years: Years) -> int | None:
    clf = clf_unix_nano(value) if isinstance(value, str) else None
    return clf if clf is not None else time_of(value, years)
