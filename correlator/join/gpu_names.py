"""Which GPU a series of metrics tells of. Some sources name its id, others only its machine and its number there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from correlator.join.connect import Attributes, named, same

_UUIDS = ("hw.id", "UUID", "uuid", "gpu_uuid")
_INDICES = ("gpu", "index", "device")
_INSTANCES = ("GPU_I_ID",)
_MACHINES = ("host.name", "Hostname", "hostname", "service.instance.id")
_PORT = re.compile(r":\d+$")

Place = tuple[str, str]
"""Machine and number there; either may be "" where it is not named."""
Ids = Mapping[Place, str]
"""By place the id of the GPU there."""


def identity(told: Attributes) -> tuple[str, str]:
    """The device, and the GPU that it is a MIG instance of ("" if none)."""
    gpu = _first(told, _UUIDS) or _slot(told)
    if instance := _first(told, _INSTANCES):
        return f"{gpu}/{instance}", gpu
    return gpu, told.get("hw.parent", "")


def ids(everything: Iterable[Attributes]) -> Ids:
    """The id of the GPU at each place that is named, where some source names both and all that do agree.

    An instance that has an id of its own bears the number of its GPU. A place without a machine may be on any, if only
    one machine is named at all; one without a number may be any GPU of its machine.
    """
    told: dict[Place, set[str]] = {}
    for one in everything:
        told.setdefault(_place(one), set()).update(_uuids(one))
    machines = {machine for machine, _ in told if machine}
    alone = all(same(one, other) for one in machines for other in machines)
    found = {place: _at(place, told, alone) for place in told}
    return {place: next(iter(uuids)) for place, uuids in found.items() if len(uuids) == 1}


def by_id(told: Attributes, device: str, whole: str, known: Ids) -> tuple[str, str]:
    """Device and whole GPU as `identity` gave them, by the id of the GPU where it is known."""
    uuid, slot = known.get(_place(told), ""), _slot(told)
    if not uuid or _first(told, _UUIDS):
        return device, whole
    return uuid + device.removeprefix(slot), uuid if whole == slot else whole


def _at(place: Place, told: Mapping[Place, set[str]], alone: bool) -> set[str]:
    machine, number = place
    return {
        uuid
        for (other, its), uuids in told.items()
        if (not number or its == number) and (same(machine, other) if machine and other else alone)
        for uuid in uuids
    }


def _uuids(told: Attributes) -> Iterable[str]:
    uuid = _first(told, _UUIDS)
    return (uuid,) if uuid and not told.get("hw.parent") else ()


def _place(told: Attributes) -> Place:
    machine = named(_PORT.sub("", _first(told, _MACHINES)))
    return machine, _first(told, _INDICES).removeprefix("nvidia")


def _slot(told: Attributes) -> str:
    """The name of a GPU without an id."""
    return f"{_first(told, _MACHINES)} GPU {_first(told, _INDICES).removeprefix('nvidia') or 0}".strip()


def _first(told: Attributes, names: Iterable[str]) -> str:
    return next((told[name] for name in names if told.get(name)), "")
