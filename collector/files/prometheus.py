"""Prometheus text and OpenMetrics, one scrape or many a file; a scrape without a time gets its file's."""

import os
import re
from collections.abc import Iterator

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics, ScopeMetrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from collector.files._contract import Options, Reader, Source
from collector.files._metrics import metrics
from collector.files._otlp import Screen, batches
from collector.files._page import Fault, Page, pages
from collector.files._series import attributes
from collector.files._services import service_of
from collector.files._times import time_in_name
from correlator.model.records import Batch, Problem, Signal

_META = re.compile(rb"^# (?:TYPE [^\s]+ [a-z]+|HELP [^\s]+ .*|EOF)\r?$", re.MULTILINE)
_SAMPLE = re.compile(rb"[a-zA-Z_:][\w:]*(?:\{[^\n]*\})?[ \t]+[-+]?(?:[\d.][\d.eE+-]*|Inf|NaN)(?:[ \t]+-?\d+)?\s*")


def accepts(source: Source) -> float:
    """By HELP, TYPE and EOF comments, or else by lines that are all samples."""
    if _META.search(source.head):
        return 1.0
    whole = source.head.rpartition(b"\n")[0] or source.head
    rows = [row for row in whole.split(b"\n", 50)[:50] if row.strip() and not row.startswith(b"#")]
    return 0.8 if 2 * sum(bool(_SAMPLE.fullmatch(row)) for row in rows) > len(rows) else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Every scrape as one metrics request; a line that cannot be read is named and left out."""
    problems: list[Problem] = []
    screen = Screen(source.name)

    def fault(line: int, name: str, reason: str) -> None:
        problems.append(Problem(source.name, reason, line=line, field=name or None))

    with source.open() as stream:
        for page, is_last in _with_last(pages(stream, fault)):
            unix_nano = page.unix_nano
            if unix_nano is None and page.undated and is_last:
                unix_nano = _time(source, options, problems)
            if unix_nano is None and page.undated:
                problems.append(_undated(source, page))
            yield from _scrape(page, unix_nano, source, screen, fault)
            yield from problems
            problems.clear()
    yield from screen.problems()


def _with_last(items: Iterator[Page]) -> Iterator[tuple[Page, bool]]:
    """Each page that has samples, and whether no other follows."""
    held: Page | None = None
    for page in items:
        if page.samples:
            if held is not None:
                yield held, False
            held = page
    if held is not None:
        yield held, True


def _time(source: Source, options: Options, problems: list[Problem]) -> int | None:
    """The time of a file's last scrape where the page itself has none."""
    told = time_in_name(source.name) or options.scrape_time_unix_nano
    if told is None and source.modified_unix_nano is not None:
        reason = "scrape has no time, the file's modification time is used (--scrape-time sets it)"
        problems.append(Problem(source.name, reason, kind="bad_time"))
    return told or source.modified_unix_nano


def _undated(source: Source, page: Page) -> Problem:
    reason = "scrape has no time, expected one in the samples, a comment, the file's name or --scrape-time"
    count = sum(sample.time is None for sample in page.samples)
    return Problem(source.name, reason, "bad_time", page.samples[0].line, count=count)


def _scrape(page: Page, unix_nano: int | None, source: Source, screen: Screen, fault: Fault) -> Iterator[Batch]:
    if unix_nano is None:
        page.samples = [sample for sample in page.samples if sample.time is not None]
    if not page.samples:
        return
    line = page.samples[0].line
    resource = Resource(attributes=attributes(_resource(page, source)))
    scope = ScopeMetrics(metrics=metrics(page, unix_nano or 0, fault))
    request = ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(resource=resource, scope_metrics=[scope])])
    screen.clean(Signal.METRICS, request, line)
    yield from batches(Signal.METRICS, request)


def _resource(page: Page, source: Source) -> tuple[tuple[str, str], ...]:
    """Who was scraped: the service, where the metrics' prefix tells it, and the folder of the file."""
    folder = "-" if source.name == "-" else os.path.dirname(source.name) or "."
    service = service_of({sample.series.name for sample in page.samples})
    return (*((("service.name", service),) if service else ()), ("tollens.source", folder))


READER = Reader(id="prometheus", accepts=accepts, read=read)
