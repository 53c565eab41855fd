"""Which GPUs are tied to which serving engines, and by what, in the last hour of telemetry; or why they are not."""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from correlator.doctor_checks import Check, State, asked
from correlator.join.connections import Connection
from correlator.join.gpus import read_connections
from correlator.settings import Settings
from correlator.store import Store
from correlator.store.engine import StoreError

WAIT_S = 15.0
"""An hour of samples of many GPUs takes seconds to look through."""
SHOWN = 50


def connected(told: Settings, running: bool) -> Iterator[Check]:
    """A check for each connection, by the running service, else from its store."""
    try:
        found = _running(told) if running else _stored(told)
    except StoreError as error:
        yield Check("connections", State.WARN, str(error))
        return
    if found is None:
        reason = "the API does not tell; with a token it asks for it" if running else "there is no store yet"
        yield Check("connections", State.WARN if running else State.OFF, reason)
    elif not found:
        yield Check("connections", State.OFF, "no GPU metrics in the last hour: requests have no GPU values")
    else:
        yield from map(_check, found[:SHOWN])
        if len(found) > SHOWN:
            yield Check("connections", State.WARN, f"{len(found) - SHOWN} more are not shown")


def _check(one: Connection) -> Check:
    return Check("connection", State.OK if one.tied_by else State.WARN, str(one))


def _running(told: Settings) -> list[Connection] | None:
    """As the service tells it."""

    def read(answer: httpx.Response) -> list[Connection]:
        return [
            Connection(tuple(one["gpus"]), one["serves"] or "", one["tied_by"] or "", one["reason"])
            for one in answer.json()["connections"]
        ]

    return asked(told.api.host, told.api.port, "/api/v1/connections", read, WAIT_S)


def _stored(told: Settings) -> list[Connection] | None:
    """From the store of a service that does not run; None where there is none. Raises StoreError."""
    folder = told.folder / "store"
    if not folder.is_dir():
        return None
    with Store.open(folder) as store:
        return list(read_connections(store, told.join.connect))
