"""What `dcgmi dmon` prints: rows of fields by their tags, without any time.

The names are those that the DCGM sampler and dcgm-exporter give the same fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collector.files._contract import Options, Reader, Source
from collector.files._gpu_samples import Undated, undated_times
from collector.files._log_lines import LogLines, text_of
from collector.files._share import score
from collector.gpu.dcgm_fields import PREFIX
from collector.gpu.dmon_table import Row, Table
from collector.gpu.otlp import Attributes, Reading, metrics_request
from correlator.model.records import Batch, Problem, Signal

EVERY_S = 1.0
"""Its interval unless `-d` says otherwise."""
ROWS = 1_000
SURE = 0.98
_ROW = re.compile(r"ID\s*$|\s*(?:GPU|CPU|Switch|Link|[A-Za-z-]+) ?\d[\d/:]*\s+(?:[\d.]+|N/A)(?!\S)")
_HEADER = re.compile(r"#\s?Entity\s+[A-Z0-9]")


def accepts(source: Source) -> float:
    """By its header, and the share of lines that are rows."""
    if not _HEADER.search(source.head.decode("utf-8", "replace")):
        return 0.0
    return score(source, SURE, lambda text: _HEADER.search(text) or _ROW.match(text))


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """One point a field and row; the last row gets the file's time, one before it a second less."""
    table, offset = Table(), 0
    found: list[tuple[int, Row]] = []
    with source.open() as stream:
        for number, raw in LogLines(stream):
            text = text_of(raw)
            if header := _HEADER.search(text):
                offset = header.start()
            faults = table.faults
            if row := table.row(text[offset:]):
                found.append((number, row))
            if table.faults > faults:
                reason = f"expected an entity like GPU 0 and numbers or N/A, found {text.strip()[:60]!r}"
                yield Problem(source.name, reason, line=number)
    entities = [(number, row.entity) for number, row in found]
    times, problem = undated_times(source, options, entities, Undated(EVERY_S))
    if problem:
        yield problem
    dated = [(at, row) for at, (_, row) in zip(times, found, strict=True) if at is not None]
    for i in range(0, len(dated), ROWS):
        batches = [(_resource(row, source), at, _readings(row)) for at, row in dated[i : i + ROWS]]
        yield Batch(Signal.METRICS, metrics_request(READER.id, batches))


def _readings(row: Row) -> list[Reading]:
    return [
        Reading(PREFIX + field.name, field.unit, value, "counter" if field.kind == "sum" else "gauge")
        for field, value in row.values
    ]


def _resource(row: Row, source: Source) -> Attributes:
    kind, _, index = row.entity.partition(" ")
    who = {"gpu": int(index)} if kind == "GPU" and index.isdigit() else {"dcgm.entity": row.entity}
    return {**who, "tollens.source": source.name.rpartition("/")[0] or "."}


READER = Reader(id="dcgmi_dmon", accepts=accepts, read=read, needs_year=True)
