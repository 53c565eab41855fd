"""The outbox: notices on disk from before the first attempt until they are taken, bounded for each target.

SQLite, committed with an fsync: a crash leaves what was put and nothing else. Beyond its bounds the oldest waiting
notice of a target becomes a dead letter, and the oldest dead letter is discarded; both are counted.
"""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from correlator.model.deliveries import PAGE_LIMIT, Delivery, DeliveryState, TargetState, WantedDeliveries
from correlator.model.notices import Change, Notice, decoded, encoded
from correlator.model.retrying import JITTER, LONGEST_RETRY_AFTER_S

REASON = 300
"""Longest reason that is kept."""
FULL = "the outbox had no room for it"
UNREADABLE = "it cannot be read, and was perhaps written by another version"
GONE = "its target is no longer configured"
ENDED_NS = 2 * 3_600_000_000_000
"""How long the end of an incident is remembered as told: longer than anybody looks back."""
THREADS_NS = 30 * 86_400_000_000_000
"""How long a thread is kept to which nothing was added: one whose end was never taken."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A notice for a target. `mark` is what the target then knows of the incident, None when it is over."""

    target: str
    notice: Notice
    mark: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Of each target: notices that wait, as many dead letters, and the bytes of both."""

    notices: int = 10_000
    bytes: int = 32 << 20


class Outbox:
    """The outbox in a folder. Threads may share it. sqlite3.Error and OSError when the disk refuses.

    Keys of `counts`: target and what happened to one of its notices: queued, superseded, delivered, failed (an
    attempt), dead, overflowed (dead for lack of room), discarded, resent, held_back (by the rate limit).
    """

    def __init__(self, folder: Path, bounds: Bounds = Bounds()) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._bounds = bounds
        self._lock = Lock()
        self._database = _opened(folder / "outbox.sqlite")
        self.counts: Counter[tuple[str, str]] = Counter()

    def close(self) -> None:
        """Nothing may be asked afterwards."""
        with self._lock:
            self._database.close()

    def told(self) -> dict[tuple[str, str], str]:
        """What each target knows: (target, incident) → mark."""
        with self._turn() as ask:
            return {(row["target"], row["incident"]): row["mark"] for row in ask("SELECT * FROM told")}

    def ended(self) -> dict[tuple[str, str], int]:
        """Ends that each target was told lately: (target, incident) → when it closed, Unix ns."""
        with self._turn() as ask:
            return {(row["target"], row["incident"]): row["closed"] for row in ask("SELECT * FROM ended")}

    def since(self, targets: Sequence[str], now: int) -> dict[str, int]:
        """Since when each target is told of incidents, Unix ns; since now where it is new."""
        with self._turn() as ask:
            for target in targets:
                ask("INSERT OR IGNORE INTO since VALUES (?, ?)", target, now)
            return {row["target"]: row["at"] for row in ask("SELECT * FROM since")}

    def rest_s(self, target: str) -> float:
        """Seconds for which the target still wants to be left alone, as it said before a restart."""
        with self._turn() as ask:
            left_ns: int = max([0, *(row["until"] - time.time_ns() for row in ask(_REST, target))])
        return min(left_ns / 1e9, LONGEST_RETRY_AFTER_S * (1 + JITTER))

    def held_back(self, target: str) -> None:
        """Something waits, and the rate limit does not let it go."""
        with self._lock:
            self.counts[target, "held_back"] += 1

    def forget(self, incident: str) -> None:
        """Of this incident nobody will be told any more."""
        with self._turn() as ask:
            ask("DELETE FROM told WHERE incident = ?", incident)

    def put(self, puts: Sequence[Put]) -> None:
        """All of them or, after a crash, none. A newer notice takes the place of an update that still waits."""
        with self._turn() as ask:
            for put in puts:
                self._put(ask, put)
            for target in {put.target for put in puts}:
                self._bound(ask, target)

    def next(self, target: str) -> tuple[Delivery, Notice] | None:
        """The notice whose turn it is: those tried least come first, and of an incident the earliest."""
        with self._turn() as ask:
            while rows := ask(_NEXT, target):
                try:
                    return _delivery(rows[0]), decoded(zlib.decompress(rows[0]["notice"]))
                except (ValueError, KeyError, TypeError, zlib.error):
                    ask(f"{_GIVE_UP} WHERE id = ?", UNREADABLE, rows[0]["id"])
                    self.counts[target, "dead"] += 1
        return None

    def thread(self, target: str, incident: str) -> str:
        """What the target called the thread of an incident; empty where it did not, or all of it was told."""
        with self._turn() as ask:
            return next((str(row["thread"]) for row in ask(_THREAD, target, incident)), "")

    def delivered(self, delivery: Delivery, thread: str = "") -> None:
        """It was taken, as part of a thread. With the end of its incident the thread is forgotten."""
        target, incident = delivery.target, delivery.incident
        with self._turn() as ask:
            ask("DELETE FROM deliveries WHERE id = ?", delivery.id)
            ask("DELETE FROM threads WHERE target = ? AND (incident = ? OR at < ?)", target, incident, _long_ago())
            if thread and delivery.change is not Change.RESOLVED:
                ask("INSERT INTO threads VALUES (?, ?, ?, ?)", target, incident, thread[:REASON], time.time_ns())
            self.counts[delivery.target, "delivered"] += 1

    def failed(self, delivery: Delivery, reason: str, *, dead: bool, rest_s: float = 0.0) -> None:
        """It was not taken: it waits for its next turn, or is a dead letter. The target asked for a rest so long."""
        state = DeliveryState.DEAD if dead else DeliveryState.WAITING
        with self._turn() as ask:
            ask(_FAILED, reason[:REASON], state, delivery.id)
            if rest_s > 0:
                ask("INSERT OR REPLACE INTO rests VALUES (?, ?)", delivery.target, time.time_ns() + int(rest_s * 1e9))
            self._bound(ask, delivery.target)
            self.counts[delivery.target, "failed"] += 1
            self.counts[delivery.target, "dead"] += dead

    def find(self, wanted: WantedDeliveries) -> Sequence[Delivery]:
        """A page, latest queued first."""
        asked = {"state": wanted.state, "target": wanted.target, "before": wanted.before}
        with self._turn() as ask:
            return [_delivery(row) for row in ask(_FIND, asked | {"limit": min(wanted.limit, PAGE_LIMIT)})]

    def resend(self, id: int | None = None, target: str | None = None) -> int:
        """Dead letters, one or all of a target, wait again with the same key: how many."""
        with self._turn() as ask:
            rows = ask(_RESEND, id, target)
            self.counts.update((row["target"], "resent") for row in rows)
            for name in {row["target"] for row in rows}:
                self._bound(ask, name)
        return len(rows)

    def states(self, names: Iterable[str]) -> list[TargetState]:
        """How much is kept for each of these targets."""
        with self._turn() as ask:
            return [_state(name, _sizes(ask, name)) for name in names]

    def only(self, targets: Sequence[str]) -> None:
        """What waits for other targets than these is given up: they are no longer configured."""
        marks = ", ".join("?" * len(targets))
        with self._turn() as ask:
            for table in ("told", "ended", "since", "rests", "threads"):
                ask(f"DELETE FROM {table} WHERE target NOT IN ({marks})", *targets)
            left = ask(
                f"{_GIVE_UP} WHERE state = 'waiting' AND target NOT IN ({marks}) RETURNING target", GONE, *targets
            )
            self.counts.update((row["target"], "dead") for row in left)

    def _put(self, ask: Ask, put: Put) -> None:
        notice, target, incident = put.notice, put.target, put.notice.incident.id
        superseded = ask(_SUPERSEDED, target, incident)
        content = zlib.compress(encoded(notice), level=1)
        ask(_PUT, target, incident, notice.id, notice.change, notice.at, len(content), content)
        if put.mark is None:
            ask("DELETE FROM told WHERE target = ? AND incident = ?", target, incident)
            ask("INSERT OR REPLACE INTO ended VALUES (?, ?, ?)", target, incident, notice.incident.closed or notice.at)
            ask("DELETE FROM ended WHERE closed < ?", notice.at - ENDED_NS)
        else:
            ask("INSERT OR REPLACE INTO told VALUES (?, ?, ?)", target, incident, put.mark)
        self.counts[target, "queued"] += 1
        self.counts[target, "superseded"] += len(superseded)

    def _bound(self, ask: Ask, target: str) -> None:
        """Keep a target within its bounds."""
        sizes = _sizes(ask, target)
        if (many := sizes["waiting"] - self._bounds.notices) > 0:
            ask(_OVERFLOWED, FULL, target, many)
            self.counts[target, "overflowed"] += many
        excess = max(0, sizes["dead"] + max(0, many) - self._bounds.notices)
        discarded = ask(_DISCARD, target, excess, sizes["bytes"] - self._bounds.bytes)
        if discarded:
            self.counts[target, "discarded"] += len(discarded)
            LOG.error("target %s: no room in the outbox, %d notices are discarded", target, len(discarded))

    @contextmanager
    def _turn(self) -> Iterator[Ask]:
        """One transaction."""
        with self._lock, self._database:
            yield Ask(self._database)


class Ask:
    """Runs a statement: all its rows."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __call__(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """Values are bound by place, or by name when they are one mapping."""
        bound = values[0] if len(values) == 1 and isinstance(values[0], Mapping) else values
        return self._database.execute(statement, bound).fetchall()


def _long_ago() -> int:
    return time.time_ns() - THREADS_NS


def _sizes(ask: Ask, target: str) -> dict[str, int]:
    found = {row["state"]: row for row in ask(_SIZES, target)}
    count = {state.value: found[state]["many"] if state in found else 0 for state in DeliveryState}
    return count | {"bytes": sum(row["bytes"] for row in found.values())}


def _state(name: str, sizes: Mapping[str, int]) -> TargetState:
    return TargetState(name=name, waiting=sizes["waiting"], dead=sizes["dead"], bytes=sizes["bytes"])


def _delivery(row: sqlite3.Row) -> Delivery:
    known = {name: row[name] for name in ("id", "target", "incident", "notice_id", "queued", "attempts", "reason")}
    return Delivery(**known, change=Change(row["change"]), state=DeliveryState(row["state"]))


def _opened(path: Path) -> sqlite3.Connection:
    """The database; one that is damaged is put aside, so that what comes now can be told."""
    try:
        return _connected(path)
    except sqlite3.OperationalError as error:
        raise OSError(f"{path}: {error}") from None
    except sqlite3.DatabaseError as error:
        aside = path.with_suffix(".damaged")
        LOG.error("%s cannot be read (%s) and is now %s; what waited in it is not sent", path, error, aside.name)
        path.replace(aside)
        for rest in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            rest.unlink(missing_ok=True)
        return _connected(path)


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, timeout=10)
    database.row_factory = sqlite3.Row
    try:
        database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 4194304"
        )
        database.executescript(files("correlator.notify").joinpath("schema.sql").read_text(encoding="utf-8"))
        database.execute("SELECT count(*) FROM deliveries NOT INDEXED").fetchall()
    except BaseException:
        database.close()
        raise
    return database


_NEXT = """SELECT * FROM deliveries AS mine
WHERE target = ? AND state = 'waiting' AND NOT EXISTS (
    SELECT 1 FROM deliveries AS earlier WHERE earlier.target = mine.target AND earlier.incident = mine.incident
    AND earlier.state = 'waiting' AND earlier.id < mine.id)
ORDER BY attempts, id LIMIT 1"""
_PUT = """INSERT INTO deliveries (target, incident, notice_id, change, queued, bytes, notice)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_SUPERSEDED = """DELETE FROM deliveries
WHERE target = ? AND incident = ? AND state = 'waiting' AND change = 'updated' RETURNING id"""
_FAILED = "UPDATE deliveries SET attempts = attempts + 1, reason = ?, state = ? WHERE id = ?"
_GIVE_UP = "UPDATE deliveries SET state = 'dead', reason = ?"
_OVERFLOWED = f"""{_GIVE_UP} WHERE id IN (
    SELECT id FROM deliveries WHERE target = ? AND state = 'waiting' ORDER BY id LIMIT ?)"""
_DISCARD = """DELETE FROM deliveries WHERE id IN (
    SELECT id FROM (
        SELECT id, state, row_number() OVER turn AS number, sum(bytes) OVER turn - bytes AS before
        FROM deliveries WHERE target = ? WINDOW turn AS (ORDER BY state = 'dead' DESC, id))
    WHERE (state = 'dead' AND number <= ?) OR before < ?) RETURNING id"""
_FIND = """SELECT * FROM deliveries
WHERE (:state IS NULL OR state = :state) AND (:target IS NULL OR target = :target) AND (:before IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit"""
_RESEND = """UPDATE deliveries SET state = 'waiting', attempts = 0
WHERE state = 'dead' AND (id = ?1 OR target = ?2) RETURNING target"""
_THREAD = "SELECT thread FROM threads WHERE target = ? AND incident = ?"
_REST = "SELECT until FROM rests WHERE target = ?"
_SIZES = "SELECT state, count(*) AS many, sum(bytes) AS bytes FROM deliveries WHERE target = ? GROUP BY state"
