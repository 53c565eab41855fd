"""Loads OTLP requests: whole statements first, the exceptional request by itself.

Requests go to ClickHouse as they came, many to a statement. A statement that fails is halved until
the request at fault is alone and can be set aside; requests with deeply nested values are named by
the statement itself, rewritten (`deep.py`) and sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from correlator.model.records import Batch, Problem, Signal
from correlator.store import schema
from correlator.store.deep import flattened
from correlator.store.engine import Engine, StoreError

STATEMENT_BYTES = 4_000_000
"""Payload sent in one statement; bounds the memory of loading."""


def load(engine: Engine, batches: Iterable[Batch]) -> list[Problem]:
    """Insert all `batches` and tell which were left out."""
    problems: list[Problem] = []
    for signal, payloads in _statements(batches):
        problems += _insert(engine, signal, payloads)
    return problems


def _statements(batches: Iterable[Batch]) -> Iterator[tuple[Signal, list[bytes]]]:
    """Payloads of one signal, up to STATEMENT_BYTES each time (one payload may be larger)."""
    waiting: dict[Signal, list[bytes]] = {}
    sizes: dict[Signal, int] = {}
    for batch in batches:
        if sizes.get(batch.signal, 0) + len(batch.payload) > STATEMENT_BYTES and waiting.get(batch.signal):
            yield batch.signal, waiting.pop(batch.signal)
            sizes[batch.signal] = 0
        waiting.setdefault(batch.signal, []).append(batch.payload)
        sizes[batch.signal] = sizes.get(batch.signal, 0) + len(batch.payload)
    yield from waiting.items()


def _insert(engine: Engine, signal: Signal, payloads: Sequence[bytes]) -> list[Problem]:
    try:
        _stage(engine, signal, payloads)
    except ValueError as error:
        return _halved(engine, signal, payloads, error)
    for table in _targets(engine, signal):
        engine.query(schema.flatten(table), {})
    engine.query(f"TRUNCATE TABLE otlp_{signal}", {})
    return []


def _halved(
    engine: Engine, signal: Signal, payloads: Sequence[bytes], error: ValueError
) -> list[Problem]:
    """Insert each half by itself, and so on until the request at fault is alone."""
    if len(payloads) == 1:
        reason = f"not an OTLP {signal} request: {error}"
        return [Problem(source=signal, reason=reason, kind="rejected")]
    middle = len(payloads) // 2
    halves = payloads[:middle], payloads[middle:]
    return [problem for half in halves for problem in _insert(engine, signal, half)]


def _stage(engine: Engine, signal: Signal, payloads: Sequence[bytes]) -> None:
    """Decode requests into the staging table, those with nested values after rewriting them."""
    _decode(engine, signal, payloads)
    deep = set(engine.query(f"SELECT batch FROM otlp_{signal} WHERE deep", {})["batch"])
    if deep:
        _decode(engine, signal, [flattened(signal, payload) if index in deep else payload
                                 for index, payload in enumerate(payloads)])


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
        engine.insert(_INSERTS[signal], b"".join(map(_framed, range(len(payloads)), payloads)))
    except StoreError as error:
        raise ValueError(str(error)) from None


def _framed(index: int, payload: bytes) -> bytes:
    """The request with its `batch` number, length first, as the format Protobuf wants it."""
    numbered = _BATCH_TAG + _varint(index) + payload
    return _varint(len(numbered)) + numbered


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _statement(signal: Signal) -> str:
    proto = schema.proto(signal).replace("\\", "\\\\").replace("'", "\\'")
    return (
        f"INSERT INTO otlp_{signal} SETTINGS format_schema_source = 'string', format_schema = '{proto}', "
        "format_schema_message_name = 'Request', input_format_protobuf_oneof_presence = 1"
    )


_KINDS = """
SELECT DISTINCT arrayJoin(arrayFlatten(resource_metrics.scope_metrics.metrics.kind)) AS kind FROM otlp_metrics
"""
_BATCH_TAG = _varint(1000 << 3)
_INSERTS = {signal: _statement(signal) for signal in Signal}
