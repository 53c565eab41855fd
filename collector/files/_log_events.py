"""Log records that came as OTLP without an event name, recognised by what they say as lines of a plain log are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from collector.files._events import APPLICATION, PHRASES, recognise, squeezed
from collector.files._otlp import SHAPES, record_lists
from correlator.model.records import Signal

_NAME = "event.name"  # where it stood before log records had a field for it
_TELLING = ("err", "exception.")  # how attributes begin that say what went wrong
_SPACE = b" \t\n\v\f\r"
_LOWER = bytes(range(256)).lower()
_PHRASES = tuple(tuple(map(squeezed, phrase.split("…"))) for event in sorted(APPLICATION) for phrase in PHRASES[event])


def named(payload: bytes) -> bytes:
    """A serialized request with its events named; most requests tell of none and come back as they are."""
    openings = _openings(payload)
    if not openings:
        return payload
    request = SHAPES[Signal.LOGS].request.FromString(payload)
    _name(request, openings)
    return request.SerializeToString()


def name_events(request: Message) -> None:
    """Give an event name to each log record of `request` that has none and tells of a known happening."""
    openings = _openings(request.SerializeToString())
    if openings:
        _name(request, openings)


def _name(request: Message, openings: set[str]) -> None:
    for records in record_lists(Signal.LOGS, request):
        for record in records:
            if not record.event_name:
                text = _text(record)
                if any(opening in text for opening in openings):
                    record.event_name = recognise(text, APPLICATION) or ""


def _openings(payload: bytes) -> set[str]:
    """How the phrases begin that may occur; for most requests none, which saves looking at each record."""
    whole = payload.translate(_LOWER, _SPACE)
    return {parts[0] for parts in _PHRASES if all(part.encode() in whole for part in parts)}


def _text(record: Any) -> str:
    """What the record says, squeezed; nothing if an attribute names its event."""
    attributes = {pair.key: pair.value.string_value for pair in record.attributes}
    if _NAME in attributes:
        return ""
    errors = (value for key, value in attributes.items() if key.startswith(_TELLING))
    return "\n".join(map(squeezed, (*errors, *_strings(record.body))))


def _strings(body: Any) -> Iterator[str]:
    """A body of text, or the texts of one that is a map."""
    yield body.string_value
    for pair in body.kvlist_value.values:
        yield pair.value.string_value
