"""Kubernetes events and the ends of containers: `kubectl get events` and `kubectl events` as tables, JSON or YAML,
`kubectl describe`, `kubectl get pods -o json`. Ages count from the file's own time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import yaml

from collector.files._contract import Options, Reader, Source
from collector.files._documents import each
from collector.files._emit import Emitter
from collector.files._kubernetes import Happening, emit
from collector.files._kubernetes_objects import happenings
from collector.files._kubernetes_text import is_heading, rows
from collector.files._log_lines import LogLines, text_of
from collector.files._paste import peeled
from collector.files._share import score
from collector.files._stamps import Years
from collector.files._times import plausible, time_in_name
from collector.files._uptime import file_time
from correlator.model.records import Batch, Problem

SURE = 0.96
YAML_LIMIT = 16 << 20  # bytes of a YAML document, which is held whole
_OBJECT = re.compile(rb'"?(?:involvedObject|regarding|(?:initC|ephemeralC|c)ontainerStatuses)"?\s*:')
_KIND = re.compile(rb'(?:^|\n|[{,])\s*-?\s*"?kind"?\s*:\s*"?(?:List|EventList|Event|PodList|Pod)\b')
_ROW = re.compile(r"(?:^|\s)(?:Normal|Warning)\s+[A-Z]\w+\s")
_DESCRIBED = re.compile(r"(?m)^Name: +\S+\n(?:.*\n){0,3}?Namespace: +\S+")


def accepts(source: Source) -> float:
    """By the fields of an event or pod, or a table's heading."""
    if _KIND.search(source.head) and _OBJECT.search(source.head):
        return SURE
    text = source.head.decode("utf-8", "replace")
    years = Years(None, lambda: 0)
    if _DESCRIBED.search(text) and "Containers:" in text:
        return SURE
    if any(is_heading(peeled(line, years).text) for line in text.split("\n")[:2_000]):
        return score(source, SURE, lambda line: is_heading(line) or _ROW.search(line))
    return 0.0


def read(source: Source, options: Options, now: Callable[[], int] = time.time_ns) -> Iterator[Batch | Problem]:
    """Batches of log records; what is no event is named."""
    out = Emitter(source.name, "kubernetes", "tollens.kubernetes_events")
    for found in _found(source, options):
        if isinstance(found, Problem):
            yield found
        elif reason := plausible(found.unix_nano):
            yield Problem(source.name, reason, "bad_time", field=found.reason)
        else:
            emit(out, found)
        if out.full:
            yield from out.batches()
    yield from out.batches()


def _found(source: Source, options: Options) -> Iterator[Happening | Problem]:
    if source.head.lstrip()[:1] in (b"{", b"["):
        yield from _json(source)
    elif _KIND.search(source.head) and _OBJECT.search(source.head):
        yield from _yaml(source)
    else:
        yield from _text(source, options)


def _json(source: Source) -> Iterator[Happening | Problem]:
    yield from each(source, lambda line, value: _named(source, happenings(value), line))


def _yaml(source: Source) -> Iterator[Happening | Problem]:
    with source.open() as stream:
        text = stream.read(YAML_LIMIT + 1)
    if len(text) > YAML_LIMIT:
        yield Problem(source.name, f"YAML is longer than {YAML_LIMIT >> 20} MiB; kubectl -o json has no such limit")
        return
    try:
        for value in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            yield from _named(source, happenings(value), None)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        yield Problem(source.name, f"not valid YAML: {error!s:.200}", line=mark.line + 1 if mark else None)


def _text(source: Source, options: Options) -> Iterator[Happening | Problem]:
    years, now = Years(None, lambda: 0), file_time(source, options)
    if now is not None and now != time_in_name(source.name):
        yield Problem(source.name, "ages count from when the file was written (a time in its name sets it)", "bad_time")
    with source.open() as stream:
        numbered = ((number, peeled(text_of(raw), years).text) for number, raw in LogLines(stream))
        for found in rows(numbered, now):
            yield Problem(source.name, found[1], line=found[0]) if isinstance(found, tuple) else found


def _named(source: Source, found: Iterator[Happening | str], line: int | None) -> Iterator[Happening | Problem]:
    for item in found:
        yield Problem(source.name, item, line=line) if isinstance(item, str) else item


READER = Reader(id="kubernetes_events", accepts=accepts, read=read, needs_year=True)
