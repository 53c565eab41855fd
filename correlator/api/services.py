"""What the API serves and how: functions wired elsewhere, so that it knows neither store nor engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from correlator.model.alerts import Alert, Taken
from correlator.model.deliveries import Delivery, TargetState, WantedDeliveries
from correlator.model.evidence import Kind, Windows
from correlator.model.incidents import Incident, Page, Wanted


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be diagnosed: two windows, and if given the kind of symptom and the service."""

    windows: Windows
    symptom: Kind | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Notices on their way to targets; nothing without any.

    `resend` takes the id of a dead letter, or None and a target's name, and says how many wait again.
    """

    find: Callable[[WantedDeliveries], Sequence[Delivery]] = lambda wanted: ()
    targets: Callable[[], Sequence[TargetState]] = lambda: ()
    resend: Callable[[int | None, str | None], int] = lambda id, target: 0


@dataclass(frozen=True, slots=True)
class Services:
    """Every function may be called by several threads at once.

    `diagnose` answers the object of a diagnosis, or raises InputError when the windows cannot be compared.
    `list_incidents` raises InputError for a cursor that no page gave. `trace` gives None for an unknown id, and like
    `hypotheses`, `signals` and `connections` plain objects of the shapes in `shapes.py`. `alerts` takes alerts in and
    says of each what became of it. `ready` says what is missing, or None.
    """

    diagnose: Callable[[Asked], Mapping[str, object]]
    list_incidents: Callable[[Wanted], Page]
    get_incident: Callable[[str], Incident | None]
    trace: Callable[[str], Mapping[str, object] | None]
    hypotheses: Callable[[], Sequence[Mapping[str, object]]]
    signals: Callable[[], Sequence[Mapping[str, object]]]
    alerts: Callable[[Sequence[Alert]], Sequence[Taken]]
    ready: Callable[[], str | None]
    outgoing: Outgoing = Outgoing()
    connections: Callable[[], Sequence[Mapping[str, object]]] = lambda: ()


@dataclass(frozen=True, slots=True)
class Options:
    """Without a token everybody who reaches the port may read; no origin is allowed unless listed in `cors`.

    `registry` is what `/metrics` shows. `diagnoses` run at the same time at most, each in a thread of its own.
    """

    token: SecretStr | None = None
    cors: tuple[str, ...] = ()
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    diagnoses: int = 1
    body_bytes: int = 65_536
