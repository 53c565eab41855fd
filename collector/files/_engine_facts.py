"""Settings of serving engines as their start-up lines write them, `name=value` in Python's or Rust's way of printing,
under the names that Tollens gives them. What a line does not say stays unsaid."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collector.attributes import Value

_VALUE = r"('[^']*'|\"[^\"]*\"|\[[^\]]*\]|Some\([^)]*\)|[^\s,)}\]]+)"
_OFF = frozenset({"None", "null", "auto"})


def settings(names: Mapping[str, str]) -> re.Pattern[str]:
    """A pattern that finds the settings named by the keys."""
    return re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, names))})\s*[=:]\s*{_VALUE}")


def facts_in(text: str, pattern: re.Pattern[str], names: Mapping[str, str]) -> dict[str, Value]:
    """Facts by our names; the first mention of each counts."""
    found: dict[str, Value] = {}
    for match in pattern.finditer(text):
        written = match[2].strip("'\"")
        written = written[5:-1].strip("'\"") if written.startswith("Some(") else written
        if written not in _OFF:
            found.setdefault(names[match[1]], plain(written))
    return found


def plain(text: str) -> Value:
    """The value that a text stands for."""
    if text in ("True", "true", "False", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
