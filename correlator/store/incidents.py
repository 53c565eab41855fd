"""Incidents in the store: versions are only added, the highest one of an id is read."""

from __future__ import annotations

import base64
import json
from typing import Any

from correlator.model.errors import InputError
from correlator.model.evidence import Kind, Window
from correlator.model.incidents import PAGE_LIMIT, Incident, Page, State, Wanted
from correlator.store.store import Store

KEPT = 10_000
"""Incidents kept; of more, those opened longest ago go, but never an open one."""
LATEST = (1 << 63) - 1


class Incidents:
    """The incidents of a store. Threads may share it; `forgotten` counts those removed beyond `kept`."""

    def __init__(self, store: Store, kept: int = KEPT) -> None:
        self._store = store
        self._kept = kept
        self.forgotten = 0

    def save(self, incident: Incident) -> None:
        """Add a version. With a new incident the oldest beyond what is kept are forgotten."""
        self._store.query(_INSERT, **_row(incident))
        if incident.version == 1:
            self._forget()

    def get(self, id: str) -> Incident | None:
        """The incident with its diagnosis; None when none has this id."""
        found = self._store.query(f"{_SELECT}, diagnosis {_FROM} WHERE id = {{id:String}}", id=id)
        return next((_incident(row) for row in found.to_dict("records")), None)

    def find(self, wanted: Wanted) -> Page:
        """A page, latest opened first. Raises InputError for a cursor that no page gave."""
        limit = min(max(wanted.limit, 1), PAGE_LIMIT)
        found = self._store.query(_FIND, **_filters(wanted), limit=limit + 1)
        incidents = [_incident(row) for row in found.to_dict("records")]
        last = incidents[limit - 1] if len(incidents) > limit else None
        return Page(tuple(incidents[:limit]), _cursor(last) if last else None)

    def live(self, closed_after: int, limit: int) -> tuple[Incident, ...]:
        """Those open, or closed since, with their diagnoses: the latest opened `limit`, earliest opened first."""
        found = self._store.query(_LIVE, closed_after=closed_after, limit=limit)
        return tuple(_incident(row) for row in found.to_dict("records"))[::-1]

    def _forget(self) -> None:
        old = self._store.query(_OLD, kept=self._kept)
        if len(old):
            self._store.query("DELETE FROM tollens_incidents WHERE id IN {ids:Array(String)}", ids=list(old["id"]))
            self.forgotten += len(old)


def _row(incident: Incident) -> dict[str, object]:
    row = {name: getattr(incident, name) or "" for name in _TEXTS}
    row |= {name: getattr(incident, name) or 0 for name in (*_TIMES, *_NUMBERS)}
    told = incident.diagnosis
    return row | {
        "baseline_start": incident.baseline.start,
        "baseline_end": incident.baseline.end,
        "diagnosis": "" if told is None else json.dumps(told, ensure_ascii=False),
    }


def _incident(row: dict[str, Any]) -> Incident:
    given: dict[str, Any] = {name: row[name] for name in _TEXTS}
    given |= {name: int(row[f"{name}_ns"]) or None for name in _TIMES}
    given |= {name: row[name].item() if hasattr(row[name], "item") else row[name] for name in _NUMBERS}
    return Incident(
        **given
        | {
            "state": State(row["state"]),
            "kind": Kind(row["kind"]),
            "merged_into": row["merged_into"] or None,
            "baseline": Window(int(row["baseline_start_ns"]), int(row["baseline_end_ns"])),
            "diagnosis": json.loads(row["diagnosis"]) if row.get("diagnosis") else None,
        }
    )


def _filters(wanted: Wanted) -> dict[str, object]:
    at, id_ = _position(wanted.cursor) if wanted.cursor is not None else (LATEST, "")
    return {
        "state": wanted.state or "",
        "kind": wanted.kind or "",
        "place": wanted.where,
        "since": wanted.since or 0,
        "until": LATEST if wanted.until is None else wanted.until,
        "at": at,
        "id": id_,
    }


def _cursor(incident: Incident) -> str:
    """Names the last incident of a page: what comes later opened earlier, whatever is opened meanwhile."""
    return base64.urlsafe_b64encode(f"{incident.opened}:{incident.id}".encode()).decode().rstrip("=")


def _position(cursor: str) -> tuple[int, str]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        opened, _, id_ = text.partition(":")
        at = int(opened)
    except ValueError:
        at, id_ = -1, ""
    if not (0 <= at <= LATEST and id_):
        raise InputError("cursor: expected the value of `next` of an earlier page")
    return at, id_


_TEXTS = ("id", "state", "detector", "kind", "where", "title", "note", "merged_into")
_TIMES = ("onset", "opened", "updated", "closed", "quiet_since", "diagnosed")
_NUMBERS = {"version": "UInt64", "severity": "Float64", "agreed": "UInt32"}

_VALUES = {
    **{f"`{name}`": f"{{{name}:String}}" for name in (*_TEXTS, "diagnosis")},
    **{name: f"{{{name}:{kind}}}" for name, kind in _NUMBERS.items()},
    **{name: f"fromUnixTimestamp64Nano({{{name}:Int64}})" for name in (*_TIMES, "baseline_start", "baseline_end")},
}
_INSERT = f"INSERT INTO tollens_incidents ({', '.join(_VALUES)}) SELECT {', '.join(_VALUES.values())}"

_SELECT = f"""SELECT {", ".join(f"`{name}`" for name in (*_TEXTS, *_NUMBERS))},
    {", ".join(f"toUnixTimestamp64Nano({name}) AS {name}_ns" for name in (*_TIMES, "baseline_start", "baseline_end"))}
"""
_FROM = "FROM tollens_incidents FINAL"
_FIND = f"""{_SELECT} {_FROM}
WHERE ({{state:String}} = '' OR state = {{state:String}}) AND ({{kind:String}} = '' OR kind = {{kind:String}})
  AND ({{place:Nullable(String)}} IS NULL OR `where` = {{place:Nullable(String)}})
  AND opened_ns < {{until:Int64}}
  AND (closed_ns = 0 OR closed_ns >= {{since:Int64}})
  AND (opened_ns, id) < ({{at:Int64}}, {{id:String}})
ORDER BY opened DESC, id DESC LIMIT {{limit:UInt32}}"""
_LIVE = f"""{_SELECT}, diagnosis {_FROM}
WHERE state = 'open' OR (state = 'closed' AND closed_ns >= {{closed_after:Int64}})
ORDER BY opened DESC, id DESC LIMIT {{limit:UInt32}}"""
_OLD = f"SELECT id {_FROM} WHERE state != 'open' ORDER BY opened DESC, id DESC LIMIT 1000000 OFFSET {{kept:UInt64}}"
