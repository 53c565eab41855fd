"""Folded stacks, as perf (stackcollapse) and `py-spy record -f raw` write them: the share of samples under each frame,
itself on the CPU or in a callee, so that two profiles can be compared."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator

from collector.files._contract import Options, Reader, Source
from collector.files._emit import Emitter
from collector.files._log_lines import LINE_LIMIT, LogLines
from collector.files._times import time_in_name
from collector.files._uptime import file_time
from correlator.model.records import Batch, Problem

SURE, LEAST = 0.85, 0.7
TOLD = 50
"""Frames told, those with most samples."""
FRAMES = 100_000
"""Different frames counted; beyond it the rarest half is given up."""
_DIGITS = 12  # of a count
_MANY = 3  # stacks with a callee before a text is taken for a profile


def accepts(source: Source) -> float:
    """By lines that are frames joined by `;` and a count."""
    rows = [row for row in source.head.split(b"\n")[:200] if row.strip()]
    if len(source.head) > 2 and not source.head.endswith(b"\n"):
        rows = rows[:-1] or rows
    stacks = sum(_stack(row) is not None for row in rows)
    deep = sum(b";" in row for row in rows)
    return SURE if deep >= min(_MANY, len(rows)) and deep and stacks >= LEAST * len(rows) else 0.0


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """One batch of gauges at the file's time; a line that is no stack is counted."""
    stamp = options.scrape_time_unix_nano or file_time(source, options)
    if stamp is None:
        yield Problem(source.name, "profile has no time, expected one in the file's name or --scrape-time", "bad_time")
        return
    if time_in_name(source.name) is None and options.scrape_time_unix_nano is None:
        yield Problem(source.name, "profile has no time, the file's modification time is used", "bad_time")
    own, total = Counter[str](), Counter[str]()
    samples, others, first = 0, 0, 0
    with source.open() as stream:
        lines = LogLines(stream)
        for number, raw in lines:
            stack = _stack(raw)
            if stack is None:
                others, first = others + bool(raw.strip()), first or (number if raw.strip() else 0)
                continue
            frames, count = stack
            samples += count
            own[frames[-1]] += count
            total.update(dict.fromkeys(frames, count))
            _bound(own)
            _bound(total)
    yield from _told(source, stamp, samples, own, total)
    if others:
        yield Problem(source.name, "expected `frame;frame;… count`", line=first, count=others)
    if lines.cut:
        reason = f"line is longer than {LINE_LIMIT} bytes and not used"
        yield Problem(source.name, reason, "truncated", lines.first_cut, count=lines.cut)


def _stack(row: bytes) -> tuple[list[str], int] | None:
    """Frames from the root to the leaf, and how many samples had them."""
    frames, _, count = row.strip().rpartition(b" ")
    if not frames.strip() or not count.isdigit() or len(count) > _DIGITS:
        return None
    return frames.decode("utf-8", "replace").split(";"), int(count)


def _bound(counter: Counter[str]) -> None:
    if len(counter) > FRAMES:
        for frame, _ in counter.most_common()[FRAMES // 2 :]:
            del counter[frame]


def _told(source: Source, stamp: int, samples: int, own: Counter[str], total: Counter[str]) -> Iterator[Batch]:
    folder = "-" if source.name == "-" else os.path.dirname(source.name) or "."
    out = Emitter(folder, "profile", "tollens.folded_stacks")
    out.gauge("profile.samples", "{sample}", stamp, samples, {})
    for name, counter in (("profile.self_share", own), ("profile.total_share", total)):
        for frame, count in sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:TOLD]:
            out.gauge(name, "1", stamp, count / max(1, samples), {"frame": frame})
    yield from out.batches()


READER = Reader(id="folded_stacks", accepts=accepts, read=read, needs_year=True)
