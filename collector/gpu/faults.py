"""Which GPUs have failed since we last looked: each failure is told once, whatever is opened anew meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collector.gpu.nvml import FAULTS, NVMLError
from collector.gpu.otlp import Attributes
from collector.gpu.session import Session


@dataclass(frozen=True, slots=True)
class Fault:
    """A GPU at fault: its resource as far as it is known, the event's name and NVML's reason."""

    resource: Attributes
    event: str
    reason: str


@dataclass(slots=True)
class Faults:
    """Remembers the GPUs met and the failures told."""

    _seen: dict[str, Attributes] = field(default_factory=dict)  # by id
    _told: set[str] = field(default_factory=set)  # ids; "gpu <index>" of one that never told its id

    def new(self, session: Session) -> list[Fault]:
        """The failures that were not told before."""
        present = {_key(i, d.resource): d.resource for i, d in session.gpus.items() if i not in session.given_up}
        self._seen.update(present)
        self._told -= present.keys() | {f"gpu {index}" for index in session.gpus}
        found = {key: fault for key, fault in self._found(session, present) if key not in self._told}
        self._told |= found.keys()
        return list(found.values())

    def _found(self, session: Session, present: dict[str, Attributes]) -> Iterator[tuple[str, Fault]]:
        absent = {key: resource for key, resource in self._seen.items() if key not in present}
        for index, (resource, error) in session.given_up.items():
            key = _key(index, resource)
            if error in FAULTS and (key in absent or not absent):
                yield key, Fault(resource, FAULTS[error], str(NVMLError(error)))
        named = {_key(index, resource) for index, (resource, _) in session.given_up.items()}
        for key in absent.keys() - named:
            yield key, Fault(absent[key], "gpu_lost", "GPU is not listed any more")


def _key(index: int, resource: Attributes) -> str:
    return str(resource.get("hw.id", f"gpu {index}"))
