"""Notices: what people are told of an incident, and the requests that tell it; exporters turn one into the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any

from correlator.model.incidents import Incident, State, as_object
from correlator.model.periods import Kind, Window

FINDINGS = (10, 5, 2, 1)
"""Findings of a diagnosis that a notice carries, most probable first; fewer while it is too large. The API has all."""
DIAGNOSIS_BYTES = 64 << 10
"""Largest diagnosis in a notice, as JSON; a larger one is left out altogether."""
TRACES = 5
"""Trace ids that a prediction carries in a notice."""
TEXT = 1_000
"""Longest text of an incident in a notice."""
ENTRIES = 100
"""Most entries of any other list or mapping in a diagnosis in a notice."""


class Change(StrEnum):
    """What became of the incident. Closed, given up and merged are all `resolved`; state and note say which."""

    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """`id` names the message: it is the same in every attempt and after a restart, so receivers know repetitions.

    `incident` carries its diagnosis in bounded form. `link` leads to it in the API where `public_url` is set.
    """

    id: str
    change: Change
    at: int
    incident: Incident
    link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A POST. Address, headers and body may hold secrets: they are in no repr."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt to deliver: when (Unix ns), and the target's secret, empty where none is configured.

    `thread` is what the target called the incident's thread when it took an earlier notice; empty before.
    """

    at: int
    secret: str = field(default="", repr=False)
    thread: str = ""


def notice(change: Change, incident: Incident, at: int, public_url: str | None = None) -> Notice:
    """The notice of a change, seen at `at` (Unix ns)."""
    link = f"{public_url.rstrip('/')}/api/v1/incidents/{incident.id}" if public_url else None
    return Notice(id=_id(change, incident, at), change=change, at=at, incident=bounded(incident), link=link)


def _id(change: Change, incident: Incident, at: int) -> str:
    return "msg_" + sha256(f"{incident.id}|{incident.version}|{change}|{at}".encode()).hexdigest()[:32]


def bounded(incident: Incident) -> Incident:
    """The incident with at most so much of its texts and diagnosis as a message should carry."""
    found = None if incident.diagnosis is None else _fitting(incident.diagnosis)
    texts: dict[str, Any] = {name: _text(getattr(incident, name)) for name in ("title", "where", "detector", "note")}
    return replace(incident, **texts, diagnosis=found)


def _fitting(diagnosis: Mapping[str, object]) -> dict[str, Any] | None:
    for limit in FINDINGS:
        found: dict[str, Any] = _cut(diagnosis, "diagnosis", limit)
        if len(json.dumps(found, ensure_ascii=False).encode()) <= DIAGNOSIS_BYTES:
            return found
    return None


def _cut(value: object, name: str, most: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return {_text(str(key)): _cut(inner, key, most) for key, inner in list(value.items())[:ENTRIES]}
    if isinstance(value, Sequence):
        limit = {"findings": most, "trace_ids": TRACES}.get(name, ENTRIES)
        return [_cut(inner, "", most) for inner in value[:limit]]
    return value


def _text(text: str) -> str:
    """Bounded, and such as UTF-8 can hold."""
    return text[:TEXT].encode(errors="replace").decode()


def findings(notice: Notice) -> Sequence[Mapping[str, Any]]:
    """The findings of the notice's diagnosis, most probable first; none where it was not diagnosed yet."""
    told: Any = (notice.incident.diagnosis or {}).get("findings")
    return told if isinstance(told, list) else []


def told(notice: Notice) -> dict[str, Any]:
    """The notice as a plain object: what changed, and the incident as the API shows it."""
    return {"change": str(notice.change), "incident": as_object(notice.incident), "link": notice.link}


def encoded(notice: Notice) -> bytes:
    """The notice as it is kept on disk."""
    incident = _shallow(notice.incident) | {"baseline": _shallow(notice.incident.baseline)}
    return json.dumps(_shallow(notice) | {"incident": incident}, ensure_ascii=False, separators=(",", ":")).encode()


def decoded(content: bytes) -> Notice:
    """The notice that was kept. ValueError, KeyError or TypeError for anything else."""
    kept = json.loads(content)
    return Notice(**kept | {"change": Change(kept["change"]), "incident": _incident(kept["incident"])})


def _shallow(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; `asdict` would copy the whole diagnosis."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _incident(kept: dict[str, Any]) -> Incident:
    kind = None if kept["kind"] is None else Kind(kept["kind"])
    lists = {"baseline": Window(**kept["baseline"]), "alerts": tuple(kept["alerts"])}
    return Incident(**kept | lists | {"state": State(kept["state"]), "kind": kind})
