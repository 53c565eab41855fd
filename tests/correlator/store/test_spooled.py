"""Segments go into the store once and disappear; what the store refuses is kept apart, counted."""

import os
import zlib

import pytest

from correlator.model import segments
from correlator.model.errors import InputError
from correlator.model.records import Problem, Signal
from correlator.model.segments import QUARANTINE, read_segment, segment_names
from correlator.store import StoreError, spooled
from correlator.store.spooled import load_ready
from tests.correlator.store import oracle
from tests.correlator.store.build import log_batch
from tests.correlator.store.spooling import check, emptied, fill, numbers_in, record, write_segment

WRONG_WIRE_TYPE = b"\x08\x01"  # protobuf skips it as unknown, ClickHouse does not


@pytest.fixture
def empty(store):
    return emptied(store)


@pytest.fixture
def constraint(empty):
    """Makes a table refuse rows that decode, in a way that is nobody's fault but the row's."""
    made = []

    def constrain(table, condition):
        empty.query(f"ALTER TABLE {table} ADD CONSTRAINT odd CHECK {condition}")
        made.append(table)

    yield constrain
    for table in made:
        empty.query(f"ALTER TABLE {table} DROP CONSTRAINT odd")


def load(store, folder):
    return list(load_ready(store, folder))


def logs(*bodies):
    return [log_batch(str(body)).payload for body in bodies]


def quarantined(folder):
    return [payload for path in sorted((folder / QUARANTINE).iterdir()) for payload in read_segment(path).payloads]


def test_all_signals_go_in_once(empty, tmp_path):
    """Every record of every signal is in its table once, and the segments are gone."""
    fill(tmp_path, range(8))
    loaded = load(empty, tmp_path)
    assert {signal: 80 for signal in Signal} == {
        signal: sum(part.requests for part in loaded if part.signal is signal) for signal in Signal
    }
    assert ([], 24) == (segment_names(tmp_path), sum(part.segments for part in loaded))
    check(empty, range(80))
    assert [] == load(empty, tmp_path)


def test_small_segments_go_in_together(empty, tmp_path):
    """Many small segments of a signal are one insert, so that a backlog does not become a heap of tiny parts."""
    for number in range(300):
        write_segment(tmp_path, number, Signal.LOGS, logs(number))
    assert [(300, 300)] == [(part.segments, part.requests) for part in load(empty, tmp_path)]
    parts = empty.query("SELECT level, rows FROM system.parts WHERE table = 'otel_logs' AND active")
    assert [(0, 300)] == list(parts.itertuples(index=False, name=None))


def test_large_segments_go_in_one_by_one(empty, tmp_path):
    """Segments that would be too much for a statement are loaded apart, in their order."""
    for number in range(3):
        write_segment(tmp_path, number, Signal.LOGS, [log_batch("x", text="y" * 9_000_000).payload])
    assert [1, 1, 1] == [part.segments for part in load(empty, tmp_path)]


def test_the_oldest_first(empty, tmp_path):
    """Between two segments of a signal those of others come in their turn, by the age of the first."""
    write_segment(tmp_path, 3, Signal.TRACES, [record(Signal.TRACES, 1)])
    write_segment(tmp_path, 1, Signal.LOGS, logs(1))
    write_segment(tmp_path, 2, Signal.METRICS, [record(Signal.METRICS, 1)])
    assert [Signal.LOGS, Signal.METRICS, Signal.TRACES] == [part.signal for part in load(empty, tmp_path)]


def test_a_growing_segment_is_left_alone(empty, tmp_path):
    """What the collector still writes is not touched."""
    path = write_segment(tmp_path, 0, Signal.LOGS, logs(1), sealed=False)
    assert [] == load(empty, tmp_path)
    assert path.exists()


def test_no_folder_yet(empty, tmp_path):
    """A collector that has not started yet is nothing to load, not an error."""
    assert [] == load(empty, tmp_path / "none")


@pytest.mark.parametrize("payloads", [[], [b""]])
def test_a_segment_without_records_goes(empty, tmp_path, payloads):
    """Segments with nothing in them are removed."""
    write_segment(tmp_path, 0, Signal.TRACES, payloads)
    assert [len(payloads)] == [part.requests for part in load(empty, tmp_path)]
    assert [] == segment_names(tmp_path)


def test_poison_is_set_aside(empty, tmp_path):
    """Requests that cannot be decoded are kept in quarantine and counted by reason; their neighbours are loaded."""
    write_segment(tmp_path, 0, Signal.LOGS, [*logs(1), b"junk", *logs(2)])
    write_segment(tmp_path, 1, Signal.LOGS, [*logs(*range(3, 20)), WRONG_WIRE_TYPE, *logs(*range(20, 30))])
    (loaded,) = load(empty, tmp_path)
    assert list(range(1, 30)) == numbers_in(empty, "otel_logs")
    assert (29, 2, 0) == (loaded.requests, loaded.quarantined, loaded.discarded)
    assert [b"junk", WRONG_WIRE_TYPE] == quarantined(tmp_path)
    assert [("rejected", 1)] * 2 == [(problem.kind, problem.count) for problem in loaded.problems]
    undecodable = "not an OTLP logs request: the bytes do not decode"
    assert Problem(source="logs", reason=undecodable, kind="rejected") in loaded.problems


def test_rows_that_a_table_refuses_are_found(empty, tmp_path, constraint):
    """A request that decodes but does not go into its table is set aside, with no row of it in another table."""
    constraint("otel_metrics_sum", "Attributes['number'] != '2'")
    write_segment(tmp_path, 0, Signal.METRICS, [record(Signal.METRICS, number) for number in range(5)])
    (loaded,) = load(empty, tmp_path)
    for table in ("otel_metrics_gauge", "otel_metrics_sum"):
        assert [0, 1, 3, 4] == numbers_in(empty, table)
    assert [record(Signal.METRICS, 2)] == quarantined(tmp_path)
    assert (4, 1) == (loaded.requests, loaded.quarantined)


def test_quarantine_is_bounded(empty, tmp_path, monkeypatch):
    """When quarantine is full, further poison is counted as discarded, and the earlier stays."""
    monkeypatch.setattr(segments, "QUARANTINE_BYTES", 150)
    for number, junk in enumerate([b"first " * 10, b"second" * 10]):
        write_segment(tmp_path, number, Signal.LOGS, [junk, *logs(number), junk])
    (loaded,) = load(empty, tmp_path)
    assert (2, 2, 2) == (loaded.requests, loaded.quarantined, loaded.discarded)
    write_segment(tmp_path, 2, Signal.LOGS, [b"third " * 10])
    (loaded,) = load(empty, tmp_path)
    assert (0, 0, 1) == (loaded.requests, loaded.quarantined, loaded.discarded)
    assert [b"first " * 10] * 2 == quarantined(tmp_path)


def test_damage_is_counted(empty, tmp_path):
    """Of a damaged segment all sound requests are loaded, and the bytes lost are said."""
    path = write_segment(tmp_path, 0, Signal.LOGS, logs(1, 2, 3))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content + b"torn")
    (loaded,) = load(empty, tmp_path)
    assert [1, 3] == numbers_in(empty, "otel_logs")
    assert (2, (len(content) - 20) // 3 + 4) == (loaded.requests, loaded.lost_bytes)


def test_another_version_is_left_alone(empty, tmp_path):
    """A segment of another version is an error that names it, and stays."""
    path = write_segment(tmp_path, 0, Signal.LOGS, [])
    head = b"TOLLENS\x02" + bytes(8)
    path.write_bytes(head + zlib.crc32(head).to_bytes(4, "little"))
    with pytest.raises(InputError, match=path.name):
        load(empty, tmp_path)
    assert path.exists()


def test_an_engine_without_memory_loses_nothing(empty, tmp_path, monkeypatch):
    """When the engine has no memory for now, nothing is set aside and nothing is in; calling again goes on."""
    fill(tmp_path, range(1))
    query = empty.engine.query

    def starved(sql, parameters):
        if "INSERT INTO otel_metrics_sum" in sql:
            raise StoreError("Code: 241. DB::Exception: (total) memory limit exceeded: would use 1 GiB")
        return query(sql, parameters)

    monkeypatch.setattr(empty.engine, "query", starved)
    with pytest.raises(StoreError, match="memory limit"):
        load(empty, tmp_path)
    assert [] == numbers_in(empty, "otel_metrics_gauge")
    assert not (tmp_path / QUARANTINE).exists()
    monkeypatch.undo()
    load(empty, tmp_path)
    check(empty, range(10))


@pytest.mark.parametrize("said", ["the disk hiccuped", "Code: 999. DB::Exception: nobody knows this one"])
def test_an_engine_that_cannot_write_blames_no_request(empty, tmp_path, monkeypatch, said):
    """Whatever the words: as long as nothing at all can be written, requests stay in the spool."""
    fill(tmp_path, range(3))
    query = empty.engine.query

    def broken(sql, parameters):
        if sql.lstrip().startswith(("INSERT INTO otel", "INSERT INTO tollens_proof")):
            raise StoreError(said)
        return query(sql, parameters)

    monkeypatch.setattr(empty.engine, "query", broken)
    with pytest.raises(StoreError):
        load(empty, tmp_path)
    assert not (tmp_path / QUARANTINE).exists()
    monkeypatch.undo()
    load(empty, tmp_path)
    check(empty, range(30))


def amplifying():
    """A small request that is huge as rows: each of its records gets all attributes of its resource."""
    request = oracle.REQUESTS[Signal.LOGS]()
    resource_logs = request.resource_logs.add()
    for number in range(1000):
        resource_logs.resource.attributes.add(key=f"key {number}").value.string_value = "v" * 100
    records = resource_logs.scope_logs.add().log_records
    for _ in range(20_000):
        records.add(time_unix_nano=1)
    return request.SerializeToString()


def many_days():
    """A request with a record for each day of more than a year."""
    request = oracle.REQUESTS[Signal.LOGS]()
    records = request.resource_logs.add().scope_logs.add().log_records
    for day in range(spooled.MOST_DAYS + 1):
        records.add(time_unix_nano=day * 86_400 * 10**9 + 1)
    return request.SerializeToString()


@pytest.mark.parametrize("bomb", [amplifying, many_days])
def test_a_bomb_is_set_aside(empty, tmp_path, bomb):
    """A request that by itself needs too much of the engine is kept in quarantine and stops nobody else."""
    write_segment(tmp_path, 0, Signal.LOGS, [*logs(1, 2), bomb(), *logs(3)])
    write_segment(tmp_path, 1, Signal.TRACES, [record(Signal.TRACES, 1)])
    assert [(3, 1), (1, 0)] == [(part.requests, part.quarantined) for part in load(empty, tmp_path)]
    assert [1, 2, 3] == numbers_in(empty, "otel_logs")
    assert [bomb()] == quarantined(tmp_path)


class Killed(BaseException):
    """The process ends here: nothing that follows is run."""


def test_interrupted_at_every_step(empty, tmp_path, monkeypatch):
    """Whatever step of loading is the last before a crash, afterwards every record is in each table once."""
    step = 0
    while killed_at(empty, tmp_path, step, monkeypatch):
        step += 1
    assert step > 15
    load(empty, tmp_path)
    for table in ("otel_metrics_gauge", "otel_metrics_sum"):
        assert list(range(10 * (step + 1))) == numbers_in(empty, table)


def killed_at(store, folder, step, monkeypatch):
    """Load one more segment of metrics and stop before statement or file operation `step`; False when past all."""
    fill(folder, [step], [Signal.METRICS])
    left = iter(range(step))

    def mortal(function):
        def call(*arguments, **options):
            if next(left, None) is None:
                raise Killed
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in ("query", "insert"):
            patch.setattr(store.engine, name, mortal(getattr(store.engine, name)))
        for name in ("replace", "unlink", "fsync"):
            patch.setattr(os, name, mortal(getattr(os, name)))
        try:
            load(store, folder)
        except Killed:
            return True
    return False
