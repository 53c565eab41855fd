"""Loads OTLP requests: whole statements first, the exceptional request by itself.

Requests go to ClickHouse as they came, many to a statement: decoded into a staging table in memory,
from there flattened into the tables. When a statement does not decode, the requests at fault are set
aside; those with deeply nested values are found in the staging table, rewritten (`deep.py`) and sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from correlator.model.records import Batch, Problem, Signal
from correlator.store import schema
from correlator.store.deep import flattened, is_request
from correlator.store.engine import Engine, StoreError

STATEMENT_BYTES = 16_000_000
STATEMENT_REQUESTS = 10_000
"""What is sent in one statement at most; bounds the memory of loading."""

Fault = tuple[Signal, str]
"""A request that was left out, and why."""


def load(engine: Engine, batches: Iterable[Batch]) -> tuple[Problem, ...]:
    """Insert all `batches` and tell which were left out, alike ones counted together."""
    faults: Counter[Fault] = Counter()
    for signal, payloads in _statements(batches):
        faults.update(_insert(engine, signal, payloads))
    return tuple(
        Problem(source=signal, reason=f"not an OTLP {signal} request: {reason}", kind="rejected", count=count)
        for (signal, reason), count in faults.items()
    )


def _statements(batches: Iterable[Batch]) -> Iterator[tuple[Signal, list[bytes]]]:
    """Payloads of one signal, up to STATEMENT_BYTES and STATEMENT_REQUESTS (one may be larger)."""
    waiting: dict[Signal, list[bytes]] = {signal: [] for signal in Signal}
    sizes: Counter[Signal] = Counter()
    for batch in batches:
        sizes[batch.signal] += len(batch.payload)
        waiting[batch.signal].append(batch.payload)
        if sizes[batch.signal] >= STATEMENT_BYTES or len(waiting[batch.signal]) >= STATEMENT_REQUESTS:
            yield batch.signal, waiting[batch.signal]
            waiting[batch.signal], sizes[batch.signal] = [], 0
    yield from ((signal, payloads) for signal, payloads in waiting.items() if payloads)


def _insert(engine: Engine, signal: Signal, payloads: Sequence[bytes]) -> list[Fault]:
    try:
        _stage(engine, signal, payloads)
    except ValueError as error:
        return _insert_sound(engine, signal, payloads, str(error))
    for table in _targets(engine, signal):
        engine.query(f"{schema.flatten(table)} {_SETTINGS}", {})
    engine.query(f"TRUNCATE TABLE otlp_{signal}", {})
    return []


def _insert_sound(engine: Engine, signal: Signal, payloads: Sequence[bytes], error: str) -> list[Fault]:
    """Insert without the requests that do not decode; where all seem to, halve until the odd one is alone."""
    sound = [payload for payload in payloads if is_request(signal, payload)]
    faults = [(signal, "the bytes do not decode")] * (len(payloads) - len(sound))
    if faults:
        return faults + (_insert(engine, signal, sound) if sound else [])
    if len(payloads) == 1:
        return [(signal, error)]
    middle = len(payloads) // 2
    return [fault for half in (sound[:middle], sound[middle:]) for fault in _insert(engine, signal, half)]


def _stage(engine: Engine, signal: Signal, payloads: Sequence[bytes]) -> None:
    """Decode requests into the staging table, those with nested values after rewriting them."""
    _decode(engine, signal, payloads)
    deep = engine.query(f"SELECT deep FROM otlp_{signal} SETTINGS max_threads = 1", {})["deep"]
    if deep.any():
        pairs = zip(payloads, deep, strict=True)
        _decode(engine, signal, [flattened(signal, payload) if nested else payload for payload, nested in pairs])


def _targets(engine: Engine, signal: Signal) -> Iterable[str]:
    """The tables that get rows: of metrics only those whose kind of data is there."""
    if signal is not Signal.METRICS:
        return schema.TABLES[signal]
    kinds = set(engine.query(_KINDS, {})["kind"])
    return [table for table in schema.TABLES[signal] if table.removeprefix("otel_metrics_") in kinds]


def _decode(engine: Engine, signal: Signal, payloads: Sequence[bytes]) -> None:
    """Fill the staging table. ValueError when a payload is not as the `.proto` says."""
    engine.query(f"TRUNCATE TABLE otlp_{signal}", {})
    try:
        engine.insert(_statement(engine.folder, signal), b"".join(map(_framed, payloads)))
    except StoreError as error:
        raise ValueError(error.summary) from None


def _framed(payload: bytes) -> bytes:
    """The request with its length before it, as the format Protobuf wants it."""
    return _varint(len(payload)) + payload


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _statement(folder: Path, signal: Signal) -> str:
    """The INSERT of a signal. Its schema is a file of the data folder: given inline, ClickHouse would keep a copy
    in the working directory, which may be the user's or read-only.
    """
    file = folder / "format_schemas" / f"{signal}.proto"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(schema.proto(signal), encoding="utf-8")
    path = str(file).replace("\\", "\\\\").replace("'", "\\'")
    return (
        f"INSERT INTO otlp_{signal} SETTINGS format_schema = '{path}:Request', input_format_protobuf_oneof_presence = 1"
    )


_KINDS = """
SELECT DISTINCT toString(arrayJoin(arrayFlatten(resource_metrics.scope_metrics.metrics.kind))) AS kind FROM otlp_metrics
"""
_SETTINGS = "SETTINGS output_format_json_escape_forward_slashes = 0, max_partitions_per_insert_block = 0"
