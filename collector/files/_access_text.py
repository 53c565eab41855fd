"""Access logs as lines of text: nginx and Apache (combined, with `$request_time`), Envoy and Istio, HAProxy."""

from __future__ import annotations

import re

from collector.attributes import Value
from collector.files._access import Request, grpc_code
from collector.files._stamps import ISO, MONTHS, iso_unix_nano
from collector.files._times import SECOND

_CLF = r"\[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?: ([+-]\d{4}))?\]"
_ASKED = r'"([A-Z]{3,10}) (\S+)(?: (?:HTTP|http)/[\d.]+)?"'
_NGINX = re.compile(rf'\S{{1,80}} \S{{1,80}} .{{1,200}}? ?{_CLF} {_ASKED} (\d{{3}}) (?:\d+|-)(?: "[^"]*" "[^"]*")?(.*)')
_RT = re.compile(r"(?:\brt=|request_time[=:]) ?\"?(\d{1,6}\.\d{1,6})|^ (?:\"[^\"]*\" )?(\d{1,6}\.\d{3})(?=\s|$)")
_TRY = r"(?:\d{1,6}\.\d{1,6}|-)"
_TRIES = rf"{_TRY}(?:(?:, ?| : ){_TRY}){{0,20}}"
_UPSTREAM = re.compile(
    rf"(?:\burt=|upstream_response_time[=:]) ?\"?({_TRIES})|^ (?:\"[^\"]*\" )?\d+\.\d{{3}} ({_TRIES})(?=\s|$)"
)
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,6})?")
_LOCAL = re.compile(_CLF)
_ENVOY = re.compile(
    rf'\[{ISO.pattern}\] {_ASKED} (\d{{1,3}}) (\S+) (?:\S+ (?:\S+ )?"[^"]*" )?(\d+|-) (\d+|-) (\d+) (\d+|-)(.*)'
)
_QUOTED = re.compile(r'"([^"]*)"')
BEGINS = re.compile(
    rf"\{{|\S{{1,80}} \S{{1,80}} .{{1,200}}? ?{_CLF} \"|\[{ISO.pattern}\] \""
    rf"|\S{{1,80}}:\d{{1,5}} {_CLF} \S{{1,200}} \S{{1,200}}/"
)
"""How a line begins; what begins otherwise is the rest of a line that a terminal broke."""
_HAPROXY = re.compile(
    rf"(\S{{1,80}}:\d{{1,5}}) {_CLF} (\S{{1,200}}) (\S{{1,200}}?)/(\S{{1,200}}) "
    r"(-?\d+)/(-?\d+)/(-?\d+)/(-?\d+)/\+?(\d+) (-?\d{1,3}) \+?\d+ \S+ \S+ (\S{4}) "
    rf"\d+/\d+/\d+/\d+/\+?(\d+) (\d+)/(\d+) .*?{_ASKED[:-1]}"
)
LONGEST = 8_192  # characters of a line that are looked at
_GRPC = re.compile(r"grpc[-_]status[=:]? ?\"?(\d{1,2})\b", re.IGNORECASE)
_MILLI = 1_000


def request_in(text: str) -> Request | None:
    """The request a line tells of; None for a line of another kind, and for one that tells no duration."""
    if match := _ENVOY.match(text, 0, LONGEST):
        return _envoy(match)
    if match := _HAPROXY.match(text, 0, LONGEST):
        return _haproxy(match)
    return _nginx(match) if (match := _NGINX.match(text, 0, LONGEST)) else None


def counted_in(text: str) -> tuple[int, int] | None:
    """(Unix ns, status) of a line of an access log that says nothing of durations, None for any other line."""
    match = _NGINX.match(text, 0, LONGEST)
    end = _clf(*match.group(1, 2, 3, 4, 5, 6)) if match and not _RT.search(match[10]) else None
    return (end, int(match[9])) if match and end is not None else None


def clf_unix_nano(text: str) -> int | None:
    """The time of `30/Nov/2026:03:31:05 +0000`, nginx's `$time_local`; None for any other text."""
    match = _LOCAL.fullmatch(f"[{text.strip('[] ')}]")
    return _clf(*match.groups()) if match else None


def upstream_of(written: str) -> tuple[float, int] | None:
    """(seconds, repeats) of nginx's `$upstream_response_time`: one time a server it tried, `-` where none answered;
    ` : ` parts the groups of an internal redirect, which repeats nothing. None where no time is written."""
    groups = [[one.strip() for one in group.split(",")] for group in written.split(" : ")]
    times = [float(one) for group in groups for one in group if _SECONDS.fullmatch(one)]
    return (round(sum(times), 6), sum(len(group) - 1 for group in groups)) if times else None


def upstream_attributes(written: str) -> dict[str, Value]:
    """What nginx's `$upstream_response_time` tells; several tries are a first one and its repeats."""
    if (found := upstream_of(written)) is None:
        return {}
    seconds, repeats = found
    again: dict[str, Value] = {"http.request.resend_count": repeats} if repeats else {}
    return {"upstream.duration": seconds, **again}


def _clf(day: str, month: str, year: str, clock: str, fraction: str | None, zone: str | None) -> int | None:
    moment = ISO.match(f"{year}-{MONTHS.get(month, 0):02}-{day}T{clock}.{fraction or 0}{zone or ''}")
    return iso_unix_nano(moment) if moment else None


def _nginx(match: re.Match[str]) -> Request | None:
    """The stamp is when the answer ended."""
    end, rest = _clf(*match.group(1, 2, 3, 4, 5, 6)), match[10]
    took = _RT.search(rest)
    if end is None or took is None:
        return None
    seconds = float(took[1] or took[2])
    attributes: dict[str, Value] = {}
    if upstream := _UPSTREAM.search(rest):
        attributes |= upstream_attributes(upstream[1] or upstream[2])
    grpc = grpc_code(found[1]) if (found := _GRPC.search(rest)) else None
    start = end - round(seconds * SECOND)
    return Request("nginx", start, seconds, match[7], match[8], int(match[9]), grpc, attributes)


def _envoy(match: re.Match[str]) -> Request | None:
    start = iso_unix_nano(match)
    if start is None:
        return None
    attributes: dict[str, Value] = {"envoy.response_flags": match[7]} if match[7] != "-" else {}
    if match[11] != "-":
        attributes["upstream.duration"] = int(match[11]) / _MILLI
    quoted = _QUOTED.findall(match[12])
    if len(quoted) >= 5:  # forwarded for, user agent, request id, authority, upstream host
        attributes |= {"server.address": quoted[3], "upstream.address": quoted[4]}
    grpc = grpc_code(found[1]) if (found := _GRPC.search(match[12])) else None
    return Request("envoy", start, int(match[10]) / _MILLI, match[4], match[5], int(match[6]), grpc, attributes)


def _haproxy(match: re.Match[str]) -> Request | None:
    """Timers are milliseconds: request, queue, connect, response, all; −1 is one that was not reached."""
    start = _clf(*match.group(2, 3, 4, 5, 6, 7))
    if start is None:
        return None
    names = ("haproxy.request_time", "haproxy.queue_time", "haproxy.connect_time", "haproxy.response_time")
    timers = dict(zip(names, map(int, match.group(11, 12, 13, 14)), strict=True))
    attributes: dict[str, Value] = {name: ms / _MILLI for name, ms in timers.items() if ms >= 0}
    attributes |= {"haproxy.backend": match[9], "haproxy.server": match[10], "haproxy.termination": match[17]}
    attributes |= {"haproxy.retries": int(match[18]), "haproxy.backend_queue": int(match[20])}
    status = int(match[16])
    failed = status if status > 0 else 503
    return Request("haproxy", start, int(match[15]) / _MILLI, match[21], match[22], failed, None, attributes)
