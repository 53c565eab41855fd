"""The public door of the store."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import pandas as pd

from correlator.model.records import Batch, Problem
from correlator.store import schema
from correlator.store.engine import Engine
from correlator.store.loading import load

_ROWS = """
SELECT name, total_rows FROM system.tables
WHERE database = currentDatabase() AND name IN {tables:Array(String)}
"""


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What `Store.load` did: rows added per table, and the requests that were left out."""

    rows: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Store:
    """Telemetry as the Collector's ClickHouse exporter would have written it, ready for SQL.

    Times are UTC. Threads may share a store; loads run one after another.
    """

    def __init__(self, engine: Engine, temporary: Path | None) -> None:
        self.engine = engine
        self._temporary = temporary
        self._loading = threading.Lock()

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open the data folder `path`, or a temporary one that is removed on close.

        StoreError when another folder is open in this process, or `path` in another process.
        """
        folder = path or Path(tempfile.mkdtemp(prefix="tollens-"))
        engine = Engine(folder)
        for statement in schema.statements():
            engine.query(statement, {})
        return cls(engine, None if path else folder)

    def load(self, batches: Iterable[Batch]) -> LoadReport:
        """Insert OTLP requests. What cannot be decoded is a problem in the report, the rest is in."""
        with self._loading:
            before = self._rows()
            problems = load(self.engine, batches)
            added = {table: rows - before[table] for table, rows in self._rows().items()}
        return LoadReport(rows=added, problems=problems)

    def query(self, sql: str, **parameters: object) -> pd.DataFrame:
        """The answer of `sql`, in which `{name:Type}` stands for `parameters[name]`.

        Whatever comes from a user goes through parameters. StoreError carries ClickHouse's message.
        """
        return self.engine.query(sql, parameters)

    def exclusively(self) -> threading.Lock:
        """Hold this (`with`) while rows are loaded or dropped: one of these at a time."""
        return self._loading

    def close(self) -> None:
        """Release the data folder, of all threads. Closing twice is safe."""
        self.engine.close()
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rows(self) -> dict[str, int]:
        counts = self.engine.query(_ROWS, {"tables": sum(schema.TABLES.values(), ())})
        return dict(zip(counts["name"], counts["total_rows"].astype(int), strict=True))
