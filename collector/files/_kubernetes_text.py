"""Events as `kubectl get events`, `kubectl events` and `kubectl describe` print them: columns under a heading, ages
instead of times; and the last state of a described pod's containers, which has a full time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from collector.attributes import Value
from collector.files._kubernetes import WARNING, Happening
from collector.files._times import SECOND

_HEADING = re.compile(r"\s*(?:NAMESPACE +)?LAST SEEN +|\s*Type +Reason +Age +From +Message")
_COLUMN = re.compile(r"\S+(?: \S+)*")
_AGE = re.compile(r"(?:(\d+)y)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?: ago)?(?: \(x(\d+) over [\w.]+\))?")
_ITEM = re.compile(r"( *)([A-Za-z][\w /.-]*?):\s*(.*)")
_SCALE = (31_536_000, 86_400, 3_600, 60, 1)


def is_heading(text: str) -> bool:
    """Does a table of events begin here?"""
    return _HEADING.match(text) is not None


def rows(numbered: Iterator[tuple[int, str]], now: int | None) -> Iterator[Happening | tuple[int, str]]:
    """Happenings of the tables and described pods in a text, or (line, what was expected). Ages count from `now`."""
    columns: list[tuple[str, int]] = []
    pod = _Described()
    for number, text in numbered:
        if is_heading(text):
            columns = [
                (match[0].upper(), match.start()) for match in _COLUMN.finditer(text.replace("LAST SEEN", "LAST-SEEN"))
            ]
        elif columns and text.strip() and not set(text.strip()) <= {"-", " "}:
            found = _row(text, columns, pod, now)
            if found is not None:
                yield found if isinstance(found, Happening) else (number, found)
        elif not text.strip():
            columns = []
        elif ended := pod.line(text):
            yield ended


def _row(text: str, columns: list[tuple[str, int]], pod: _Described, now: int | None) -> Happening | str | None:
    cells = _cells(text, columns)
    age = _AGE.fullmatch(cells.get("LAST-SEEN") or cells.get("AGE") or "?")
    if age is None or not any(age.groups()):
        return "expected a row of events with an age such as 5m12s"
    if now is None:
        return "has an age but the file no time, expected one in its name, or a file as written"
    seconds = sum(int(digits or 0) * scale for digits, scale in zip(age.groups()[:5], _SCALE, strict=True))
    kind, _, name = (cells.get("OBJECT") or f"pod/{pod.name}").partition("/")
    count = age[6] or cells.get("COUNT") or "1"
    return Happening(
        now - seconds * SECOND,
        cells.get("TYPE", ""),
        cells.get("REASON", ""),
        cells.get("MESSAGE", ""),
        kind.capitalize() if name else "",
        name,
        cells.get("NAMESPACE") or pod.namespace,
        int(count) if count.isdecimal() else 1,
    )


def _cells(text: str, columns: list[tuple[str, int]]) -> dict[str, str]:
    """By the columns' places if the row keeps to them, else by gaps of two spaces and more."""
    starts = [start for _, start in columns]
    if all(start == 0 or start > len(text) or text[start - 1] == " " for start in starts):
        ends = [*starts[1:], len(text)]
        return {name: text[start:end].strip() for (name, start), end in zip(columns, ends, strict=True)}
    parts = re.split(r" {2,}|\t", text.strip(), maxsplit=len(columns) - 1)
    return dict(zip((name for name, _ in columns), parts, strict=False))


class _Described:
    """A pod as `kubectl describe` writes it, line by line: its name, and how its containers last ended."""

    def __init__(self) -> None:
        self.name = self.namespace = ""
        self._container = self._section = ""
        self._state: dict[str, str] = {}

    def line(self, text: str) -> Happening | None:
        """How a container ended, as soon as the line that completes it is met."""
        match = _ITEM.fullmatch(text.rstrip())
        if match is None:
            return None
        indent, key, value = len(match[1]), match[2], match[3]
        if indent == 0:
            self.name = value if key == "Name" else self.name
            self.namespace = value if key == "Namespace" else self.namespace
        elif key in ("State", "Last State"):
            self._section, self._state = value, {}
        elif self._section == "Terminated":
            self._state[key] = value
            return self._ended() if key == "Finished" else None
        if indent == 2 and not value:
            self._container = key
        return None

    def _ended(self) -> Happening | None:
        try:
            finished = parsedate_to_datetime(self._state["Finished"])
            unix_nano = int(finished.timestamp()) * SECOND
        except (ValueError, OverflowError, TypeError):
            return None
        self._section = ""
        more: dict[str, Value] = {"exit_code": self._state.get("Exit Code", ""), "k8s.container.name": self._container}
        reason = self._state.get("Reason", "Error")
        return Happening(unix_nano, WARNING, reason, "", "Pod", self.name, self.namespace, 1, more)
