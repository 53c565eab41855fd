"""What serves, and the GPUs it serves on: connected by attributes that both kinds of telemetry carry.

Groups of attributes go from the most specific to the least; within a group different conventions name the same
thing. The last group names the machine: what names two different machines is never connected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Attributes = Mapping[str, str]
Groups = tuple[tuple[str, ...], ...]
Said = tuple[Mapping[str, str], ...]
"""For each group the values that somebody names, each with the attribute that names it."""

CONNECT: Groups = (
    ("hw.id", "UUID", "uuid", "gpu_uuid"),
    ("container.id",),
    ("k8s.pod.uid", "pod_uid"),
    (
        "k8s.namespace.name/k8s.pod.name",
        "exported_namespace/exported_pod",
        "namespace/pod",
        "pod_namespace/pod_name",
    ),
    ("service.instance.id",),
    ("host.name", "Hostname", "hostname", "k8s.node.name", "node"),
)
"""`a/b`: both, the first only where it is known. Labels of dcgm-exporter by its and Prometheus' spelling."""
ONLY_HOST = "the only host with GPUs"
_NOWHERE = re.compile(r"(|localhost|127\..*|\[?::1\]?|0\.0\.0\.0|unknown|none)(:\d+)?", re.IGNORECASE)
"""Names that every machine has for itself."""
_CONTAINER = re.compile(r"[0-9a-f]{12}|[0-9a-f]{64}")
"""What a container calls its host unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Tie:
    """The GPUs that something serves on and what ties it to them, or the reason why nothing does."""

    devices: tuple[str, ...] = ()
    by: str = ""
    specific: bool = False
    """Tied by more than the machine: these GPUs serve it, and not others there."""
    reason: str = ""


def said(groups: Groups, told: Iterable[Attributes]) -> Said:
    """What these attributes name, group by group."""
    told = tuple(told)
    return tuple(
        {value: _last(name) for one in told for name in group if (value := _value(one, name, i == len(groups) - 1))}
        for i, group in enumerate(groups)
    )


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _value(told: Attributes, name: str, is_machine: bool) -> str:
    *optional, last = name.split("/")
    value = named(told.get(last, ""))
    if not value or (is_machine and (_CONTAINER.fullmatch(value) or value == _pod(told))):
        return ""
    return "/".join([*(known for part in optional if (known := told.get(part, "").strip().lower())), value])


def named(name: str) -> str:
    """The name in lower case; "" where it names nothing, because every machine has it for itself."""
    name = name.strip().lower()
    return "" if _NOWHERE.fullmatch(name) else name


def _pod(told: Attributes) -> str:
    """A pod calls its host by the pod's own name."""
    return told.get("k8s.pod.name", "").lower()


def ties(instances: Sequence[Said], devices: Mapping[str, Said]) -> list[Tie]:
    """The tie of each instance. A GPU that another one names more specifically is that one's."""
    levels = [{device: level for device, its in devices.items() if (level := _level(one, its))} for one in instances]
    claimed: dict[str, int] = {}
    for found in levels:
        for device, (group, _) in found.items():
            claimed[device] = min(group, claimed.get(device, group))
    return [_tie(one, found, claimed, instances, devices) for one, found in zip(instances, levels, strict=True)]


def _tie(
    one: Said,
    found: Mapping[str, tuple[int, str]],
    claimed: Mapping[str, int],
    instances: Sequence[Said],
    devices: Mapping[str, Said],
) -> Tie:
    if not found:
        return _only_host(one, instances, devices)
    best = min(level for level, _ in found.values())
    tied = tuple(d for d, (level, _) in found.items() if level == best and claimed[d] == best)
    if not tied:
        return Tie(reason="others that serve on its machine name all GPUs there as theirs")
    by = found[tied[0]][1]
    if len(on := machines(devices[device] for device in tied)) > 1:
        return Tie(reason=f"{by} is named on several machines: {_list(on)}")
    return Tie(tied, by, specific=best < len(one) - 1)


def _level(one: Said, other: Said) -> tuple[int, str] | None:
    """The first group in which both name the same, and how they name it; None if they name different machines."""
    if one[-1] and other[-1] and _shared(one[-1], other[-1]) is None:
        return None
    for level, (its, others) in enumerate(zip(one, other, strict=True)):
        if shared := _shared(its, others):
            return level, shared
    return None


def _shared(its: Mapping[str, str], others: Mapping[str, str]) -> str | None:
    for value, name in its.items():
        for other, other_name in others.items():
            if same(value, other):
                told = name if name == other_name else f"{name} ~ {other_name}"
                return f"{told} ({min(value, other, key=len)})"
    return None


def same(one: str, other: str) -> bool:
    """Equal, or one of them leaves out the domain of a machine or the namespace of a pod."""
    short, long = sorted((one, other), key=len)
    return short == long or long.startswith(f"{short}.") or long.endswith(f"/{short}")


def machines(everybody: Iterable[Said]) -> list[frozenset[str]]:
    """The different machines that are named; names of one machine together."""
    found: list[frozenset[str]] = []
    for names in {frozenset(one[-1]) for one in everybody if one[-1]}:
        alike = [known for known in found if any(same(a, b) for a in known for b in names)]
        found = [known for known in found if known not in alike] + [names.union(*alike)]
    return sorted(found, key=sorted)


def _only_host(one: Said, instances: Sequence[Said], devices: Mapping[str, Said]) -> Tie:
    """All GPUs, where only one machine is named by anybody; else the reason why none is tied."""
    with_gpus = machines(devices.values())
    if not devices:
        return Tie(reason="no GPU was seen")
    if one[-1] and with_gpus:
        return Tie(reason=f"it names the machine {_named(one[-1])}, GPUs were seen on {_list(with_gpus)}")
    if len(with_gpus) > 1:
        return Tie(reason=f"GPUs were seen on {_list(with_gpus)}, and it does not name its machine, pod or GPU")
    if len(machines([*instances, *devices.values()])) > 1:
        return Tie(
            reason=f"several machines serve, and it is not said which of them has GPUs: {_list(machines(instances))}"
        )
    return Tie(tuple(devices), ONLY_HOST)


def _list(found: Sequence[frozenset[str]]) -> str:
    shown = ", ".join(_named(names) for names in found[:3])
    return shown if len(found) <= 3 else f"{shown} and {len(found) - 3} more"


def _named(names: Iterable[str]) -> str:
    return min(names, key=lambda name: (len(name), name))
