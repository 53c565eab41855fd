"""Loads OTLP requests: whole statements first, the exceptional request by itself.

Requests go to ClickHouse as they came, many to a statement: decoded into a staging table in memory,
from there flattened into the tables. When a statement does not decode, the requests at fault are set
aside; those with deeply nested values are found in the staging table, rewritten (`deep.py`) and sent again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from correlator.model.records import Batch, Problem, Signal
from correlator.store import schema
from correlator.store.deep import flattened, is_request
from correlator.store.engine import Engine, StoreError

STATEMENT_BYTES = 16_000_000
STATEMENT_REQUESTS = 10_000
"""What is sent in one statement at most; bounds the memory of loading."""

MERGED_PLAN_BYTES = 8_000_000
"""From here on the steps of a flattening statement are merged: it costs 40 ms, and rows then cost 8 % less."""

MEMORY_BYTES = 800_000_000
"""More of the engine's memory than any statement should need, but not all of it: who needs more is at fault."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was left out, and why. `passing`: for want of memory or disk, so another time it may go in."""

    payload: bytes
    reason: str
    passing: bool


def load(engine: Engine, batches: Iterable[Batch]) -> tuple[Problem, ...]:
    """Insert all `batches` and tell which were left out, alike ones counted together."""
    reasons: Counter[tuple[Signal, str]] = Counter()
    for signal, payloads in statements(batches):
        reasons.update((signal, refusal.reason) for refusal in insert(engine, signal, payloads))
    return problems(reasons)


def problems(reasons: Mapping[tuple[Signal, str], int]) -> tuple[Problem, ...]:
    """How many requests of a signal were left out for a reason, in words."""
    return tuple(
        Problem(source=signal, reason=f"not an OTLP {signal} request: {reason}", kind="rejected", count=count)
        for (signal, reason), count in reasons.items()
    )


def statements(batches: Iterable[Batch]) -> Iterator[tuple[Signal, list[bytes]]]:
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


def insert(
    engine: Engine, signal: Signal, payloads: Sequence[bytes], bounds: str = "max_partitions_per_insert_block = 0"
) -> list[Refusal]:
    """Insert the requests of one statement but those that cannot be decoded.

    StoreError when the decoded ones do not go into the tables within `bounds`, settings of ClickHouse; some of their
    rows may be there then.
    """
    try:
        _stage(engine, signal, payloads)
    except (StoreError, ValueError) as error:
        return _insert_sound(engine, signal, payloads, error, bounds)
    merged = int(sum(map(len, payloads)) >= MERGED_PLAN_BYTES)
    settings = f"{_SETTINGS}, query_plan_merge_expressions = {merged}, {bounds}"
    engine.together(f"{schema.flatten(table)} {settings}" for table in _targets(engine, signal))
    engine.query(f"TRUNCATE TABLE otlp_{signal}", {})
    return []


def _insert_sound(
    engine: Engine, signal: Signal, payloads: Sequence[bytes], error: Exception, bounds: str
) -> list[Refusal]:
    """Insert without the requests that do not decode; where all seem to, halve until the odd one is alone."""
    sound, refused = [], []
    for payload in payloads:
        if is_request(signal, payload):
            sound.append(payload)
        else:
            refused.append(Refusal(payload, "the bytes do not decode", passing=False))
    if refused:
        return refused + (insert(engine, signal, sound, bounds) if sound else [])
    if len(payloads) == 1:
        return [refusal(payloads[0], error)]
    middle = len(payloads) // 2
    halves = (sound[:middle], sound[middle:])
    return [left_out for half in halves for left_out in insert(engine, signal, half, bounds)]


def refusal(payload: bytes, error: Exception) -> Refusal:
    """That `payload` by itself was answered with `error`. What bears no code of the engine is not about the payload."""
    if not isinstance(error, StoreError):
        return Refusal(payload, str(error), passing=False)
    code = re.search(r"Code: (\d+)\. DB::Exception: (Query memory limit|Too many partitions)?", str(error))
    return Refusal(payload, error.summary, passing=code is None or (int(code[1]) in _PASSING and not code[2]))


def _stage(engine: Engine, signal: Signal, payloads: Sequence[bytes]) -> None:
    """Decode requests into the staging table, those with nested values after rewriting them.

    StoreError or ValueError when a payload is not as the `.proto` says.
    """
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
    """Fill the staging table. StoreError when a payload is not as the `.proto` says."""
    engine.query(f"TRUNCATE TABLE otlp_{signal}", {})
    engine.insert(_statement(engine.folder, signal), b"".join(map(_framed, payloads)))


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
        f"INSERT INTO otlp_{signal} SETTINGS format_schema = '{path}:Request', "
        f"input_format_protobuf_oneof_presence = 1, max_memory_usage = {MEMORY_BYTES}"
    )


_KINDS = """
SELECT DISTINCT toString(arrayJoin(arrayFlatten(resource_metrics.scope_metrics.metrics.kind))) AS kind FROM otlp_metrics
"""
_SETTINGS = "SETTINGS output_format_json_escape_forward_slashes = 0"

_PASSING = frozenset(
    {
        74,  # CANNOT_READ_FROM_FILE_DESCRIPTOR
        75,  # CANNOT_WRITE_TO_FILE_DESCRIPTOR
        76,  # CANNOT_OPEN_FILE
        77,  # CANNOT_CLOSE_FILE
        83,  # DIRECTORY_DOESNT_EXIST
        88,  # CANNOT_TRUNCATE_FILE
        107,  # FILE_DOESNT_EXIST
        159,  # TIMEOUT_EXCEEDED
        172,  # CANNOT_CREATE_DIRECTORY
        173,  # CANNOT_ALLOCATE_MEMORY
        202,  # TOO_MANY_SIMULTANEOUS_QUERIES
        204,  # CANNOT_FSYNC
        236,  # ABORTED
        241,  # MEMORY_LIMIT_EXCEEDED
        242,  # TABLE_IS_READ_ONLY
        243,  # NOT_ENOUGH_SPACE
        252,  # TOO_MANY_PARTS
        294,  # CANNOT_WRITE_TO_FILE
        394,  # QUERY_WAS_CANCELLED
        424,  # CANNOT_LINK
        439,  # CANNOT_SCHEDULE_TASK
        458,  # CANNOT_UNLINK
        586,  # CANNOT_CREATE_FILE
        1001,  # STD_EXCEPTION, of the file system
    }
)
