"""The exception a Python traceback ends with."""

import re
from collections.abc import Sequence

HEADER = "Traceback (most recent call last)"
CHAINED = ("During handling of the above", "The above exception was the direct")
_EXCEPTION = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: ?(.*))?$", re.DOTALL)
_NAMED = re.compile(r"(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Timeout|Interrupt|Exit|Failure)$")


def exception_of(lines: Sequence[str]) -> tuple[str, str] | None:
    """Type and message of the last traceback, or of a first line that is itself `…Error: message`."""
    headers = [index for index, line in enumerate(lines) if HEADER in line]
    if not headers:
        return named(lines[0]) if lines else None
    start = headers[-1]
    margin = _indent(lines[start])
    for line in lines[start + 1 :]:
        match = _EXCEPTION.match(line.strip()) if line.strip() and _indent(line) <= margin else None
        if match and (match[2] is not None or _NAMED.match(match[1])):
            return match[1], match[2] or ""
    return None


def named(line: str) -> tuple[str, str] | None:
    """Type and message of a line that reads `SomeError: message`."""
    match = _EXCEPTION.match(line.strip())
    return (match[1], match[2]) if match and match[2] is not None and _NAMED.match(match[1]) else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
