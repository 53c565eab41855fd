"""Loads the segments of a spool into the store, each exactly once whatever is killed when.

Before the rows of some segments go in, a note on disk says which segments they are and what the tables held. While it
says so, a restart takes those rows back and loads the segments anew. When all are in, the note is replaced by one that
says that, in a single step, and only then are the segments removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from correlator.model.durable import sync_folder, write_durably
from correlator.model.records import Batch, Problem, Signal
from correlator.model.segments import Contents, SegmentName, read_segment, segment_names, set_aside
from correlator.store.engine import Engine, StoreError
from correlator.store.loading import MEMORY_BYTES, STATEMENT_BYTES, Refusal, insert, problems, refusal, statements
from correlator.store.store import Store
from correlator.store.undoing import Blocks, newest_blocks, prepare, undo

MOST_SEGMENTS = 1000
"""Loaded together at most."""

MOST_DAYS = 400
"""A request with records of more days is refused: each day is a partition, and too many would stop the store."""

_BOUNDS = f"max_partitions_per_insert_block = {MOST_DAYS}, max_memory_usage = {MEMORY_BYTES}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Segments of one signal that have gone into the store.

    `requests` are in the tables. `quarantined` ones were refused and are kept, `discarded` ones were refused and found
    no room there; `problems` says why. `lost_bytes` is what was damaged on disk.
    """

    signal: Signal
    segments: int
    requests: int
    quarantined: int
    discarded: int
    lost_bytes: int
    problems: tuple[Problem, ...]


class _Note(BaseModel):
    """What is being loaded. `segments` are file names and marks; `blocks` is None once all their rows are in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    segments: dict[str, str]
    blocks: dict[str, int] | None


def load_ready(store: Store, folder: Path) -> Iterator[Loaded]:
    """Load the sealed segments in `folder`, the oldest first, a few at a time, and remove them.

    What was interrupted is put right first, so nobody else may write to the telemetry tables of this store.
    StoreError when the engine refuses for now, OSError when the disk does, InputError for segments of another version:
    then nothing of these segments is in the store, they are still there, and calling again goes on.
    """
    engine = store.engine
    prepare(engine)
    while True:
        with store.exclusively():
            _put_right(engine, folder)
            loaded = _load_some(engine, folder)
        if loaded is None:
            return
        yield loaded


def _put_right(engine: Engine, folder: Path) -> None:
    """Finish what was interrupted, or take it back."""
    path = _note_path(engine)
    if not path.exists():
        return
    note = _Note.model_validate_json(path.read_bytes())
    if note.blocks is None:
        _remove(folder, [name for name, mark in note.segments.items() if _is_marked(folder / name, mark)])
    else:
        undo(engine, note.blocks)
    path.unlink()


def _load_some(engine: Engine, folder: Path) -> Loaded | None:
    names = _oldest(folder)
    if not names:
        return None
    contents = [read_segment(folder / str(name)) for name in names]
    payloads = [payload for content in contents for payload in content.payloads]
    before = newest_blocks(engine)
    note = _Note(segments=_marks(names, contents), blocks=before)
    _write(engine, note)
    try:
        refused = _insert(engine, names[0].signal, payloads, before)
    except StoreError:
        _put_right(engine, folder)
        raise
    kept = set_aside(folder, names[0], contents[0].mark, [left_out.payload for left_out in refused]) if refused else 0
    _write(engine, note.model_copy(update={"blocks": None}))
    _remove(folder, note.segments)
    reasons = Counter((names[0].signal, left_out.reason) for left_out in refused)
    return Loaded(
        signal=names[0].signal,
        segments=len(names),
        requests=len(payloads) - len(refused),
        quarantined=kept,
        discarded=len(refused) - kept,
        lost_bytes=sum(content.lost_bytes + content.torn_bytes for content in contents),
        problems=problems(reasons),
    )


def _oldest(folder: Path) -> list[SegmentName]:
    """The oldest sealed segment, and those of its signal that follow it, up to the size of a statement."""
    ready = [name for name in segment_names(folder) if name.sealed] if folder.is_dir() else []
    chosen: list[SegmentName] = []
    size = 0
    for name in [name for name in ready if name.signal is ready[0].signal][:MOST_SEGMENTS]:
        size += (folder / str(name)).stat().st_size
        if chosen and size > STATEMENT_BYTES:
            break
        chosen.append(name)
    return chosen


def _insert(engine: Engine, signal: Signal, payloads: Sequence[bytes], before: Blocks) -> list[Refusal]:
    """Insert all but what the engine refuses for good, also by itself; the tables are as they were `before`.

    StoreError when it refuses for now, and then some rows may be there.
    """
    groups = statements(Batch(signal, payload) for payload in payloads)
    try:
        refused = [left_out for _, group in groups for left_out in insert(engine, signal, group, _BOUNDS)]
    except StoreError as error:
        undo(engine, before)
        if len(payloads) > 1:
            return _insert_halves(engine, signal, payloads, before)
        refused = [refusal(payloads[0], error)]
    for left_out in refused:
        if left_out.passing:
            raise StoreError(left_out.reason)
    if refused:
        _prove(engine)
    return refused


def _prove(engine: Engine) -> None:
    """That the engine can write at all: only then is it the request that it refuses. StoreError when it cannot."""
    for statement in _PROOF:
        engine.query(statement, {})


def _insert_halves(engine: Engine, signal: Signal, payloads: Sequence[bytes], before: Blocks) -> list[Refusal]:
    middle = len(payloads) // 2
    refused = _insert(engine, signal, payloads[:middle], before)
    return refused + _insert(engine, signal, payloads[middle:], newest_blocks(engine))


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
    sync_folder(folder)


def _marks(names: Sequence[SegmentName], contents: Sequence[Contents]) -> dict[str, str]:
    return {str(name): content.mark.hex() for name, content in zip(names, contents, strict=True)}


def _is_marked(path: Path, mark: str) -> bool:
    return path.exists() and read_segment(path).mark.hex() == mark


def _note_path(engine: Engine) -> Path:
    return engine.folder / "loading.json"


def _write(engine: Engine, note: _Note) -> None:
    write_durably(_note_path(engine), note.model_dump_json().encode())


_PROOF = (
    "CREATE TABLE IF NOT EXISTS tollens_proof (at DateTime) ENGINE = MergeTree ORDER BY at "
    "SETTINGS fsync_after_insert = 1, fsync_part_directory = 1",
    "INSERT INTO tollens_proof SELECT now()",
    "TRUNCATE TABLE tollens_proof",
)
