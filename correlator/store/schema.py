"""The statements that make the schema and that flatten decoded requests, from `.sql` and `.proto` files.

`$name` in a file stands for a type below or for the file `flatten/_name.sql`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from string import Template

from correlator.model.records import Signal

HERE = Path(__file__).parent

TABLES = {
    Signal.TRACES: ("otel_traces",),
    Signal.LOGS: ("otel_logs",),
    Signal.METRICS: (
        "otel_metrics_gauge",
        "otel_metrics_sum",
        "otel_metrics_histogram",
        "otel_metrics_exponential_histogram",
        "otel_metrics_summary",
    ),
}
"""The tables of a signal that hold one row a record."""

_CASES = "'unset' = 0, 'text' = 1, 'truth' = 2, 'whole' = 3, 'real' = 4, 'list' = 5, 'tree' = 6, 'blob' = 7"
_LIST = "Tuple(items Array(Tuple(kind Enum8('unset' = 0, 'text' = 1), text String)))"
_VALUE = (
    f"Tuple(kind Enum8({_CASES}), text String, truth Bool, whole Int64, real Float64, list {_LIST}, "
    "tree String, blob String)"
)
_ATTRIBUTES = f"Array(Tuple(key String, value {_VALUE}))"
_NUMBER = "number Enum8('unset' = 0, 'real' = {}, 'whole' = 6), real Float64, whole Int64"
_POINT = f"start_nano UInt64, time_nano UInt64, flags UInt32, attributes {_ATTRIBUTES}"
_TOTALS = "count UInt64, sum Float64"
_EXEMPLAR = f"time_nano UInt64, {_NUMBER.format(3)}, span_id String, trace_id String, attributes {_ATTRIBUTES}"
_DISTRIBUTION = f"{_TOTALS}, min Float64, max Float64, exemplars Array(Tuple({_EXEMPLAR}))"
_TYPES = {
    "value": _VALUE,
    "attributes": _ATTRIBUTES,
    "numbers": f"Array(Tuple({_POINT}, {_NUMBER.format(4)}, exemplars Array(Tuple({_EXEMPLAR}))))",
    "distribution": f"{_POINT}, {_DISTRIBUTION}",
    "totals": f"{_POINT}, {_TOTALS}",
}


def statements() -> list[str]:
    """All statements that make the schema, in order; running them again changes nothing."""
    files = sorted((HERE / "schema").glob("*.sql"))
    text = "".join(_filled(file) for file in files)
    return [statement for statement in re.split(r";\s*\n", text) if statement.strip()]


@cache
def flatten(table: str) -> str:
    """The statement that fills `table` from the decoded requests of its signal."""
    return _filled(HERE / "flatten" / f"{table}.sql")


@cache
def proto(signal: Signal) -> str:
    """The `.proto` of a signal's request with its import in place, as ClickHouse takes it inline."""
    common = (HERE / "otlp" / "common.proto").read_text()
    return common + (HERE / "otlp" / f"{signal}.proto").read_text().replace('import "common.proto";', "")


def _filled(file: Path) -> str:
    parts = {part.stem[1:]: part.read_text().strip() for part in (HERE / "flatten").glob("_*.sql")}
    return Template(file.read_text()).substitute(_TYPES | parts)
