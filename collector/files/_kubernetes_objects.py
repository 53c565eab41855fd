"""Events and pods of Kubernetes as the API writes them: one object, a list, or a watch; from JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from collector.files._kubernetes import WARNING, Happening, container_states
from collector.files._stamps import ISO, iso_unix_nano

_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def happenings(value: Any) -> Iterator[Happening | str]:
    """The happenings in a document, or what was expected of a part that has none."""
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        yield from _one(value)
        return
    for index, item in enumerate(items):
        for found in _one(item):
            yield f"items[{index}]: {found}" if isinstance(found, str) else found


def _one(value: Any) -> Iterator[Happening | str]:
    if isinstance(value, dict) and isinstance(value.get("object"), dict):  # of a watch
        value = value["object"]
    if not isinstance(value, dict):
        yield f"expected an object with `kind`, found {type(value).__name__}"
    elif value.get("kind") == "Pod":
        yield from _pod(value)
    elif "reason" in value and ("involvedObject" in value or "regarding" in value):
        yield _event(value) or "expected lastTimestamp, eventTime or firstTimestamp"
    else:
        yield f"expected an Event or a Pod, found kind {str(value.get('kind'))[:40]}"


def _event(value: Mapping[str, Any]) -> Happening | None:
    series, metadata = _object(value, "series"), _object(value, "metadata")
    times = (
        value.get("lastTimestamp"), series.get("lastObservedTime"), value.get("deprecatedLastTimestamp"),
        value.get("eventTime"), value.get("firstTimestamp"), metadata.get("creationTimestamp"),
    )  # fmt: skip
    unix_nano = next((time for text in times if (time := _time(text)) is not None), None)
    if unix_nano is None:
        return None
    about = _object(value, "involvedObject") or _object(value, "regarding")
    source = _object(value, "source")
    more = {"k8s.node.name": source.get("host"), "k8s.container.name": _container(about.get("fieldPath"))}
    count = value.get("count") or series.get("count") or value.get("deprecatedCount") or 1
    return Happening(
        unix_nano,
        str(value.get("type", "")),
        str(value["reason"]),
        str(value.get("message") or value.get("note") or ""),
        str(about.get("kind", "")),
        str(about.get("name", "")),
        str(about.get("namespace", "")),
        _count(count),
        {key: str(text) for key, text in more.items() if text},
    )


def _pod(value: Mapping[str, Any]) -> Iterator[Happening]:
    """The ends of a pod's containers; a pod without any tells of none."""
    metadata = _object(value, "metadata")
    status_of_pod = _object(value, "status")
    lists = (status_of_pod.get(key) for key in _STATUSES)
    for status in (one for statuses in lists if isinstance(statuses, list) for one in statuses):
        for _, ended in container_states(status) if isinstance(status, dict) else ():
            unix_nano = _time(ended.get("finishedAt"))
            if unix_nano is not None:
                more = {"k8s.container.name": str(status.get("name", "")), "exit_code": str(ended.get("exitCode", ""))}
                yield Happening(
                    unix_nano, WARNING, str(ended.get("reason") or "Error"), str(ended.get("message") or ""),
                    "Pod", str(metadata.get("name", "")), str(metadata.get("namespace", "")),
                    _count(status.get("restartCount")), {**more},
                )  # fmt: skip


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 2**31 else 1


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _time(value: object) -> int | None:
    """Unix ns of RFC 3339 text, or of the datetime that YAML makes of it."""
    match = ISO.match(str(value)) if value else None
    return iso_unix_nano(match) if match else None


def _container(path: object) -> str:
    """`vllm` of `spec.containers{vllm}`."""
    return str(path).partition("{")[2].rstrip("}") if path else ""
