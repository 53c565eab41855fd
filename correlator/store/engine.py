"""The embedded ClickHouse engine: handles, bound parameters and the schema.

One engine lives in a process and holds one data folder; threads each have a handle of their own,
because two queries at a time on one handle mix up their results.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chdb
import pandas as pd
import pyarrow as pa
from chdb.state.sqlitelike import Connection as Handle

from correlator.store.parameters import literal

HERE = Path(__file__).parent
TOGETHER = 2
"""Statements that run at the same time at most; making a plan takes one core, and small machines have two."""


class StoreError(Exception):
    """The engine refused to open or to run a statement; the message is ClickHouse's own."""

    @property
    def summary(self) -> str:
        """The first sentence of the message, without its code."""
        return re.split(r"[.:] ", str(self).rpartition("DB::Exception: ")[2])[0]


class Engine:
    """Handles on one data folder. Never use it in a child of fork."""

    def __init__(self, path: Path) -> None:
        """Open `path`, made when missing. StoreError when this process has another folder open."""
        if any(sign in str(path) for sign in "?&%"):
            raise StoreError(f"{path}: a data folder's name must be without '?', '&' and '%'")
        path.mkdir(parents=True, exist_ok=True)
        self.folder = path.resolve()
        self._closed = False
        self._address = f"{path.resolve()}?config-file={HERE / 'engine.xml'}"
        self._local = threading.local()
        self._handles: list[Handle] = []
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(TOGETHER, thread_name_prefix="engine")
        self.handle()

    def handle(self) -> Handle:
        """The calling thread's own handle. StoreError when closed."""
        if self._closed:
            raise StoreError("the store is closed")
        handle = getattr(self._local, "handle", None)
        if handle is None:
            handle = self._local.handle = self._connect()
        return handle

    def query(self, sql: str, parameters: Mapping[str, object]) -> pd.DataFrame:
        """The rows `sql` answers; `{name:Type}` in it is bound to `parameters[name]`."""
        bound = {name: literal(value) for name, value in parameters.items()}
        try:
            answer = self.handle().query(sql, "ArrowStream", params=bound).bytes()
            return _frame(answer) if answer else pd.DataFrame()
        except (chdb.ChdbError, pa.ArrowException, UnicodeDecodeError) as error:
            raise StoreError(str(error)) from None

    def together(self, statements: Iterable[str]) -> None:
        """Run statements that do not depend on one another, some at a time. StoreError of one, when all have ended."""
        running = [self._pool.submit(self.query, statement, {}) for statement in statements]
        for error in filter(None, [done.exception() for done in running]):
            raise error

    def insert(self, sql: str, content: bytes) -> None:
        """Run the INSERT `sql` on `content`, in the format Protobuf. All of it is inserted, or nothing."""
        try:
            with self.handle().send_insert(sql, "Protobuf") as statement:
                statement.append(content)
                statement.finish()
        except RuntimeError as error:
            raise StoreError(str(error)) from None

    def close(self) -> None:
        """Give back all handles, of every thread; the engine stops with the last."""
        self._closed = True
        self._pool.shutdown()
        with self._lock:
            handles, self._handles = self._handles, []
        for handle in handles:
            handle.close()

    def _connect(self) -> Handle:
        try:
            handle: Handle = chdb.connect(self._address)
        except RuntimeError as error:
            raise StoreError(str(error)) from None
        with self._lock:
            self._handles.append(handle)
        return handle


def _frame(answer: bytes) -> pd.DataFrame:
    """An Arrow stream as pandas: maps are dicts, times naive UTC.

    chDB's own way to a DataFrame is not used: it hangs on columns of arrays of maps.
    """
    table = pa.ipc.open_stream(answer).read_all()
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            naive = table.column(place).cast(pa.timestamp(field.type.unit))
            table = table.set_column(place, field.name, naive)
    frame: pd.DataFrame = table.to_pandas(maps_as_pydicts="lossy")
    return frame
