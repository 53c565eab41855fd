"""What a reason of Kubernetes means (kubelet's, the scheduler's, controllers'), whatever form the event has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from collector.attributes import Value
from collector.files._emit import Emitter

EVENTS = {
    "OOMKilled": "oom_kill",
    "OOMKilling": "oom_kill",
    "SystemOOM": "oom_kill",
    "BackOff": "container_back_off",
    "CrashLoopBackOff": "container_back_off",
    "Unhealthy": "probe_failed",
    "ProbeWarning": "probe_failed",
    "Killing": "container_killed",
    "Evicted": "pod_evicted",
    "Preempted": "pod_evicted",
    "FailedScheduling": "scheduling_failed",
    "Started": "container_started",
    "Failed": "container_failed",
    "Error": "container_failed",
    "FailedMount": "mount_failed",
    "FailedAttachVolume": "mount_failed",
    "NodeNotReady": "node_not_ready",
    "ScalingReplicaSet": "scaled",
    "SuccessfulRescale": "scaled",
}
PULL_FAILED = ("ErrImagePull", "ImagePullBackOff", "Failed to pull image")
WARNING = "Warning"


@dataclass(slots=True)
class Happening:
    """One event of one object. `count` says how often it happened up to `unix_nano`."""

    unix_nano: int
    kind: str  # Normal or Warning
    reason: str
    message: str
    object_kind: str = ""
    object_name: str = ""
    namespace: str = ""
    count: int = 1
    more: dict[str, Value] = field(default_factory=dict)


def event_name(reason: str, message: str) -> str:
    """The event's name with its prefix, "" for one that no cause is made of."""
    if any(text in message for text in PULL_FAILED):
        return "tollens.image_pull_failed"
    if reason == "Killing" and "probe" in message:
        return "tollens.probe_restart"
    name = EVENTS.get(reason, "")
    return f"tollens.{name}" if name else ""


def emit(out: Emitter, happening: Happening) -> None:
    """The event as a log record with the attributes of OpenTelemetry's k8s conventions."""
    attributes: dict[str, Value] = {"k8s.event.reason": happening.reason, "k8s.event.count": happening.count}
    named = {
        "k8s.namespace.name": happening.namespace,
        "k8s.object.kind": happening.object_kind,
        "k8s.object.name": happening.object_name,
        f"k8s.{happening.object_kind.lower()}.name": happening.object_name if happening.object_kind else "",
    }
    attributes |= {key: value for key, value in named.items() if value} | happening.more
    level = "WARNING" if happening.kind == WARNING else "INFO"
    body = f"{happening.reason}: {happening.message}" if happening.message else happening.reason
    out.log(happening.unix_nano, level, body, event_name(happening.reason, happening.message), attributes)


def container_states(status: Mapping[str, object]) -> list[tuple[str, Mapping[str, object]]]:
    """(name, terminated state) of the states of one `containerStatuses` entry, the last and the present one."""
    found: list[tuple[str, Mapping[str, object]]] = []
    for key in ("lastState", "state"):
        state = status.get(key)
        ended = state.get("terminated") if isinstance(state, dict) else None
        if isinstance(ended, dict):
            found.append((key, ended))
    return found
