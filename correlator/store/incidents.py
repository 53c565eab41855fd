"""Incidents in the store: versions are only added, the highest one of an id is read.

They are also held in memory, without their diagnoses: a page then asks no engine that is busy loading.
"""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import Any

from correlator.model.errors import InputError
from correlator.model.evidence import Kind, Window
from correlator.model.incidents import PAGE_LIMIT, Incident, Page, State, Wanted
from correlator.store.store import Store

KEPT = 10_000
"""Incidents kept; of more, those opened longest ago go, but never an open one."""
DIAGNOSED = 300
"""Incidents of which the diagnosis is held in memory, too: those saved or read last. As many as the watcher follows."""
LATEST = (1 << 63) - 1


class Incidents:
    """The incidents of a store, of which this is the only writer. Threads may share it.

    `forgotten` counts those removed beyond `kept`.
    """

    def __init__(self, store: Store, kept: int = KEPT) -> None:
        self._store = store
        self._kept = kept
        self._changing = Lock()
        self._heads = _ordered(_incident(row) for row in store.query(f"{_SELECT} {_FROM}").to_dict("records"))
        self._whole: OrderedDict[str, Incident] = OrderedDict()
        self.forgotten = 0

    def save(self, incident: Incident) -> None:
        """Add a version. With a new incident the oldest beyond what is kept are forgotten. StoreError: nothing is."""
        self._store.query(_INSERT, **_row(incident))
        with self._changing:
            known = next((one for one in self._heads if one.id == incident.id), None)
            if known is None or known.version <= incident.version:
                others = (one for one in self._heads if one is not known)
                self._heads = _ordered([replace(incident, diagnosis=None), *others])
                self._hold(incident)
        if incident.version == 1:
            self._forget()

    def get(self, id: str) -> Incident | None:
        """The incident with its diagnosis; None when none has this id."""
        return next(iter(self._diagnosed(one for one in self._heads if one.id == id)), None)

    def find(self, wanted: Wanted) -> Page:
        """A page, latest opened first. Raises InputError for a cursor that no page gave."""
        limit = min(max(wanted.limit, 1), PAGE_LIMIT)
        before = _position(wanted.cursor) if wanted.cursor is not None else (LATEST, "")
        heads = self._heads
        found = tuple(islice((one for one in heads if _place(one) < before and _matches(one, wanted)), limit + 1))
        return Page(found[:limit], _cursor(found[limit - 1]) if len(found) > limit else None)

    def live(self, closed_after: int, limit: int) -> tuple[Incident, ...]:
        """Those open, or closed since, with their diagnoses: the latest opened `limit`, earliest opened first."""
        heads = (one for one in self._heads if one.state is State.OPEN or _closed_since(one, closed_after))
        return tuple(self._diagnosed(islice(heads, limit)))[::-1]

    def open(self) -> tuple[Incident, ...]:
        """Those open, with their diagnoses, at most a page of them."""
        return self.live(LATEST, PAGE_LIMIT)

    def _diagnosed(self, heads: Iterable[Incident]) -> list[Incident]:
        """The same with their diagnoses; what is not in memory is read by one statement."""
        wanted = {one.id: one for one in heads}
        with self._changing:
            found = {id_: self._whole[id_] for id_ in wanted if id_ in self._whole}
        if missing := sorted(wanted.keys() - found.keys()):
            rows = self._store.query(_WHOLE, ids=missing).to_dict("records")
            read = {one.id: one for one in map(_incident, rows)}
            with self._changing:
                for head in self._heads:
                    if head.id in read and head.version == read[head.id].version:
                        self._hold(read[head.id])
            found |= read
        return [found[id_] for id_ in wanted if id_ in found]

    def _hold(self, incident: Incident) -> None:
        self._whole[incident.id] = incident
        self._whole.move_to_end(incident.id)
        while len(self._whole) > DIAGNOSED:
            self._whole.popitem(last=False)

    def _forget(self) -> None:
        over = {one.id for one in [one for one in self._heads if one.state is not State.OPEN][self._kept :]}
        if over:
            self._store.query("DELETE FROM tollens_incidents WHERE id IN {ids:Array(String)}", ids=sorted(over))
            with self._changing:
                self._heads = tuple(one for one in self._heads if one.id not in over)
                for id_ in over:
                    self._whole.pop(id_, None)
            self.forgotten += len(over)


def _ordered(heads: Iterable[Incident]) -> tuple[Incident, ...]:
    """Latest opened first."""
    return tuple(sorted(heads, key=_place, reverse=True))


def _place(incident: Incident) -> tuple[int, str]:
    return incident.opened, incident.id


def _closed_since(incident: Incident, time: int) -> bool:
    return incident.state is State.CLOSED and incident.closed is not None and incident.closed >= time


def _matches(incident: Incident, wanted: Wanted) -> bool:
    return (
        (wanted.state is None or incident.state is wanted.state)
        and (wanted.kind is None or incident.kind is wanted.kind)
        and (wanted.where is None or incident.where == wanted.where)
        and (wanted.until is None or incident.opened < wanted.until)
        and (incident.closed is None or incident.closed >= (wanted.since or 0))
    )


def _row(incident: Incident) -> dict[str, object]:
    row = {name: getattr(incident, name) or "" for name in _TEXTS}
    row |= {name: getattr(incident, name) or 0 for name in (*_TIMES, *_NUMBERS)}
    row |= {"alerts": " ".join(incident.alerts)}
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
            "kind": Kind(row["kind"]) if row["kind"] else None,
            "alerts": tuple(row["alerts"].split()),
            "merged_into": row["merged_into"] or None,
            "baseline": Window(int(row["baseline_start_ns"]), int(row["baseline_end_ns"])),
            "diagnosis": json.loads(row["diagnosis"]) if row.get("diagnosis") else None,
        }
    )


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


_TEXTS = ("id", "state", "detector", "kind", "where", "title", "note", "failure", "alerts", "merged_into")
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
_WHOLE = f"{_SELECT}, diagnosis {_FROM} WHERE id IN {{ids:Array(String)}}"
