"""What serves and what ties it to which GPUs, or why nothing does: for the join, and in words for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from correlator.join.connect import Attributes, Groups, Tie, said, ties
from correlator.join.gpu_seen import Seen, devices

GPUS = 512
"""Devices that are tied at most; those with the most points come first."""
ANYBODY = "client"
"""The source of requests of which only the client's call was seen: it names neither machine nor pod."""


@dataclass(frozen=True, slots=True)
class Connection:
    """GPUs and what serves on them; without one of the two the reason."""

    gpus: tuple[str, ...]
    serves: str
    tied_by: str
    reason: str

    def __str__(self) -> str:
        """A sentence."""
        if self.tied_by:
            return f"GPUs {_listed(self.gpus)} serve {self.serves}: tied by {self.tied_by}"
        if self.serves:
            return f"no GPU is tied to {self.serves}: {self.reason}"
        return f"GPUs {_listed(self.gpus)} serve nobody that is seen here: {self.reason}"


def connections(sources: Mapping[object, Attributes], found: Collection[Seen], groups: Groups) -> dict[object, Tie]:
    """The tie of each source of what serves."""
    chosen = set(list(dict.fromkeys(one.device for one in found))[:GPUS])
    told = devices([one for one in found if one.device in chosen], groups)
    instances = [said(groups, [attributes]) for attributes in sources.values()]
    return dict(zip(sources, ties(instances, told), strict=True))


def described(
    by_source: Mapping[object, Tie], sources: Mapping[object, Attributes], found: Collection[Seen]
) -> tuple[Connection, ...]:
    """Each distinct connection once: the tied ones, what serves without GPUs, then GPUs on which nobody serves."""
    told = [
        Connection(tie.devices, _who(sources[source]), tie.by, tie.reason)
        for source, tie in sorted(by_source.items(), key=lambda pair: not pair[1].devices)
    ]
    return tuple(dict.fromkeys([*told, *_idle(by_source, found)]))


def _idle(by_source: Mapping[object, Tie], found: Collection[Seen]) -> Iterator[Connection]:
    """GPUs, a machine at a time, that nothing is tied to."""
    used = {device for tie in by_source.values() for device in tie.devices}
    used |= {one.whole for one in found if one.device in used}
    machines: dict[str, list[str]] = {}
    for one in found:
        if one.device not in used:
            machines.setdefault(_machine(one.attributes), []).append(one.device)
    for machine, idle in sorted(machines.items()):
        reason = f"nothing that serves names {machine or 'their machine'}, their pod or them"
        yield Connection(tuple(dict.fromkeys(idle)), "", "", reason)


def _machine(attributes: Attributes) -> str:
    return next((attributes[key] for key in ("host.name", "Hostname", "hostname", "node") if attributes.get(key)), "")


def _listed(found: Collection[str]) -> str:
    shown = list(found)[:4]
    return ", ".join(shown) + (f" and {len(found) - len(shown)} more" if len(found) > len(shown) else "")


def _who(attributes: Attributes) -> str:
    """The service and its instance, as far as it names them."""
    keys = ("service.name", "service.instance.id", "k8s.pod.name", "host.name")
    named = [attributes[key] for key in keys if attributes.get(key)]
    return " ".join(dict.fromkeys(named)) or "a model that is known by its callers only"
