"""How much of a file is in a reader's own format. One line of an engine in an application's log does not make it the
engine's log: whoever read it as one would lose the application's own records."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from collector.files._app_json import json_object, looks_like_log
from collector.files._app_text import stamp_of
from collector.files._contract import Source
from collector.files._log_lines import text_of
from collector.files._paste import peeled
from collector.files._stamps import Years

ENOUGH = 1 / 3
"""Share of the records above which a log is its reader's. An engine's log also holds records of its web server and
libraries, and pasting may break a record into several that look like others; below it `app_log` is surer."""
_LINES = 2_000
_WEB_SERVER = re.compile(r"(?:\([^()]{1,80}\) )?(?:DEBUG|INFO|WARNING|ERROR):\s+\S")
"""uvicorn's lines: they stand in the logs of engines and of applications alike, so they speak for neither."""


class _Line(NamedTuple):
    written: str
    peeled: str
    begins: bool  # a record, by a stamp or as a JSON log line


def share_of(source: Source, is_own: Callable[[str], object]) -> float:
    """Share of the records at the beginning for which `is_own` holds of a line, as written or without what stands
    before it. A line that begins no record counts only where it is its own; 0 where nothing is."""
    own = others = 0
    for line in _lines(source.head):
        if is_own(line.peeled) or (line.written is not line.peeled and is_own(line.written)):
            own += 1
        elif line.begins and not _WEB_SERVER.match(line.peeled):
            others += 1
    return own / (own + others) if own else 0.0


def score(source: Source, sure: float, is_own: Callable[[str], object]) -> float:
    """`sure` where enough of the records are a reader's own, else so much less that a log of others is theirs."""
    share = share_of(source, is_own)
    return sure if share >= ENOUGH else sure * share


@lru_cache(maxsize=2)  # all readers are asked about one file, one after the other
def _lines(head: bytes) -> tuple[_Line, ...]:
    years = Years(0, lambda: 0)
    found = []
    for raw in head.split(b"\n")[:_LINES]:
        text = text_of(raw)
        bare = peeled(text, years)
        if bare.text.strip():
            begins = bare.unix_nano is not None or _begins(text, years) or _begins(bare.text, years)
            found.append(_Line(text, bare.text if bare.text != text else text, begins))
    return tuple(found)


def _begins(text: str, years: Years) -> bool:
    if text.startswith("{") and (value := json_object(text)) is not None:
        return looks_like_log(value)
    return stamp_of(text, years) is not None
