"""One record of an application's log before it becomes OTLP, and the small readings text and JSON share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from collector.attributes import Value

TEXTS_LIMIT = 400  # lines of one record; beyond it the middle is given up

_LEVELS = {
    "TRACE": "TRACE",
    "VERBOSE": "DEBUG",
    "DEBUG": "DEBUG",
    "DBG": "DEBUG",
    "INFO": "INFO",
    "INFORMATION": "INFO",
    "NOTICE": "NOTICE",
    "WARN": "WARNING",
    "WRN": "WARNING",
    "WARNING": "WARNING",
    "ERR": "ERROR",
    "ERROR": "ERROR",
    "SEVERE": "ERROR",
    "CRIT": "CRITICAL",
    "CRITICAL": "CRITICAL",
    "ALERT": "CRITICAL",
    "EMERG": "CRITICAL",
    "FATAL": "FATAL",
    "PANIC": "FATAL",
}
_NUMERIC = {10: "TRACE", 20: "DEBUG", 30: "INFO", 40: "WARNING", 50: "ERROR", 60: "FATAL"}  # bunyan, pino
_HEX = re.compile(r"[0-9a-fA-F]+$")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$")


@dataclass(slots=True)
class Record:
    """Where it began, when, and what it says; further lines join `texts`."""

    line: int
    unix_nano: int | None
    level: str
    texts: list[str]
    service: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)
    trace_id: bytes = b""
    span_id: bytes = b""

    def add(self, text: str) -> None:
        if len(self.texts) >= TEXTS_LIMIT:
            del self.texts[TEXTS_LIMIT // 2]
        self.texts.append(text)


def level_of(value: object) -> str:
    """The level under its one spelling; "" for what is none."""
    if isinstance(value, str):
        return _LEVELS.get(value.strip().upper(), "")
    return _NUMERIC.get(value, "") if isinstance(value, int) else ""


def id_of(value: object, size: int, decimal: bool = False) -> bytes:
    """An id of `size` bytes from hex (or, as Datadog writes it, decimal) text; b"" if it is none."""
    text = str(value).strip()
    if decimal and text.isdecimal() and int(text) < 2**64:
        return _nonzero(int(text).to_bytes(size, "big"))
    digits = text.rpartition("/")[2].replace("-", "")
    if len(digits) not in (16, 2 * size) or not _HEX.match(digits):
        return b""
    return _nonzero(bytes.fromhex(digits.rjust(2 * size, "0"))) if len(digits) <= 2 * size else b""


def traceparent_of(value: object) -> tuple[bytes, bytes]:
    """Trace and span id of a W3C `traceparent`, empty if it is none."""
    match = _TRACEPARENT.match(value) if isinstance(value, str) else None
    return (bytes.fromhex(match[1]), bytes.fromhex(match[2])) if match else (b"", b"")


def _nonzero(identity: bytes) -> bytes:
    return identity if any(identity) else b""
