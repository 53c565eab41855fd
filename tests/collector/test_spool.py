"""What the spool has acknowledged is on disk; what it cannot take is refused at once and counted."""

import os
import subprocess
import sys
import threading
import zlib
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from collector.sink import Full
from collector.spool import Limits, Spool
from correlator.model.errors import ConfigError, InputError
from correlator.model.records import Signal
from correlator.model.segments import FRAME_BYTES, SegmentName, encode, read_segment, segment_names
from tests.collector.spooling import payloads, ready, spooled, wait_until

TIMEOUT_S = 20
MARK = b"12345678"


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def put(spool, payload, signal=Signal.TRACES):
    spool.put(signal, payload).result(TIMEOUT_S)


def test_acknowledged_is_on_disk(tmp_path):
    """As soon as the future is done, the request is in a file, whatever comes of the process."""
    with Spool(tmp_path) as spool:
        for signal in Signal:
            put(spool, f"of {signal}".encode(), signal)
        assert {(signal, f"of {signal}".encode()) for signal in Signal} == set(spooled(tmp_path))


def test_closing_seals_everything(tmp_path):
    """After closing, all segments are ready for the loader; closing twice is safe."""
    spool = Spool(tmp_path)
    kept = [spool.put(Signal.LOGS, bytes([number])) for number in range(100)]
    spool.close()
    spool.close()
    assert [None] * 100 == [future.result(0) for future in kept]
    assert segment_names(tmp_path) == ready(tmp_path)
    assert [bytes([number]) for number in range(100)] == payloads(tmp_path)


def test_closed_takes_no_more(tmp_path):
    """A closed spool refuses and counts it."""
    spool = Spool(tmp_path)
    spool.close()
    with pytest.raises(Full, match="stopping"):
        spool.put(Signal.LOGS, b"late")
    assert {"closed": 1} == spool.state().refused


def test_a_segment_is_sealed_by_age(tmp_path):
    """A single request becomes ready for the loader without anything following it."""
    with Spool(tmp_path) as spool:
        put(spool, b"alone")
        wait_until(lambda: ready(tmp_path))
        assert [b"alone"] == payloads(tmp_path)


def test_a_segment_is_sealed_by_size(tmp_path):
    """Segments stay below 16 MiB unless one request is larger, and keep the order."""
    sent = [bytes([number]) * 6_000_000 for number in range(7)] + [bytes(40_000_000), b"last"]
    with Spool(tmp_path, clock=Clock()) as spool:
        for payload in sent:
            put(spool, payload)
        assert sent == payloads(tmp_path)
        assert [2, 2, 2, 1, 1, 1] == [
            len(read_segment(tmp_path / str(name)).payloads) for name in segment_names(tmp_path)
        ]


def test_many_threads_share_flushes(tmp_path):
    """Requests of many threads all arrive once, with fewer flushes of the disk than requests."""
    with Spool(tmp_path) as spool:
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(lambda number: put(spool, str(number).encode()), range(2000)))
        state = spool.state()
    assert sorted(map(str, range(2000))) == sorted(payload.decode() for payload in payloads(tmp_path))
    assert (2000, {}) == (state.appended, state.refused)
    assert state.fsyncs < 1000


def test_full_is_refused_at_once_and_recovers(tmp_path):
    """At its limit of bytes the spool refuses, and takes again when the loader has removed a segment."""
    with Spool(tmp_path, Limits(capacity_bytes=10_000)) as spool:
        put(spool, bytes(9000))
        with pytest.raises(Full, match="full"):
            spool.put(Signal.LOGS, bytes(2000))
        assert 9000 + FRAME_BYTES <= spool.state().bytes <= 10_000
        wait_until(lambda: ready(tmp_path))
        (tmp_path / str(ready(tmp_path)[0])).unlink()
        wait_until(lambda: spool.state().bytes == 0)
        put(spool, bytes(2000))
        assert {"capacity": 1} == spool.state().refused


def test_what_was_there_counts(tmp_path):
    """Segments of an earlier run count towards the limit of bytes, and are not overwritten."""
    with Spool(tmp_path) as spool:
        put(spool, bytes(9000))
    with Spool(tmp_path, Limits(capacity_bytes=10_000)) as spool:
        with pytest.raises(Full):
            spool.put(Signal.TRACES, bytes(2000))
        put(spool, b"small")
    assert [bytes(9000), b"small"] == payloads(tmp_path)


def test_too_old_is_refused(tmp_path):
    """When nothing has been loaded for too long the spool refuses rather than collect what nobody reads."""
    clock = Clock()
    with Spool(tmp_path, Limits(age_s=3600), clock) as spool:
        put(spool, b"one")
        clock.now += 3601
        with pytest.raises(Full, match="too long"):
            spool.put(Signal.TRACES, b"two")
        assert (3601, {"age": 1}) == (spool.state().oldest_age_s, spool.state().refused)


def test_memory_is_bounded(tmp_path, monkeypatch):
    """While the disk does not answer, no more waits in memory than the limit; the rest is refused."""
    stuck, flush = threading.Event(), os.fdatasync

    def slow(file):
        stuck.wait(TIMEOUT_S)
        flush(file)

    monkeypatch.setattr(os, "fdatasync", slow)
    with Spool(tmp_path, Limits(waiting_bytes=100_000)) as spool:
        kept = [spool.put(Signal.TRACES, bytes(9000)) for _ in range(11)]
        with pytest.raises(Full, match="waits"):
            spool.put(Signal.TRACES, bytes(9000))
        assert 11 * (9000 + FRAME_BYTES) == spool.state().waiting_bytes
        stuck.set()
        assert [None] * 11 == [future.result(TIMEOUT_S) for future in kept]
        assert (0, {"waiting": 1}) == (spool.state().waiting_bytes, spool.state().refused)


def test_nobody_can_cancel(tmp_path):
    """A sender that goes away takes nothing back and disturbs nothing."""
    with Spool(tmp_path) as spool:
        kept = spool.put(Signal.LOGS, b"one")
        assert not kept.cancel()
        try:
            kept.result(TIMEOUT_S)
        except CancelledError:
            pytest.fail("it was cancelled")
        put(spool, b"two", Signal.LOGS)
    assert [b"one", b"two"] == payloads(tmp_path)


def test_one_process_owns_it(tmp_path):
    """A second spool on the folder, in this or another process, is told so; the first goes on."""
    again = f"from pathlib import Path; from collector.spool import Spool; Spool(Path({str(tmp_path)!r}))"
    with Spool(tmp_path) as spool:
        with pytest.raises(ConfigError, match="another process"):
            Spool(tmp_path)
        other = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, check=False)
        assert "ConfigError: spool folder" in other.stderr
        put(spool, b"one")
    with Spool(tmp_path):
        assert [b"one"] == payloads(tmp_path)


def test_a_folder_that_is_none_is_a_config_error(tmp_path):
    """A path that cannot be a folder is named, with the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file/spool: Not a directory"):
        Spool(tmp_path / "file" / "spool")


@pytest.mark.parametrize("cut", [1, 10, FRAME_BYTES, FRAME_BYTES + 4])
def test_a_torn_tail_is_cut(tmp_path, cut):
    """What a crash left open is sealed with all whole requests, and the torn rest is counted."""
    content = encode(MARK, [b"one", b"last"])
    (tmp_path / str(SegmentName(7, Signal.LOGS, sealed=False))).write_bytes(content[:-cut])
    with Spool(tmp_path) as spool:
        assert [SegmentName(7, Signal.LOGS, sealed=True)] == ready(tmp_path)
        assert [b"one"] == payloads(tmp_path)
        assert FRAME_BYTES + 4 - cut == spool.state().recovered_cut_bytes
        put(spool, b"next")
        assert [7, 8] == [name.number for name in segment_names(tmp_path)]


@pytest.mark.parametrize("content", [b"", b"TOLL", encode(MARK, [])])
def test_an_empty_rest_of_a_crash_goes(tmp_path, content):
    """A segment without any whole request leaves nothing."""
    (tmp_path / str(SegmentName(0, Signal.LOGS, sealed=False))).write_bytes(content)
    with Spool(tmp_path) as spool:
        assert ([], 0) == (segment_names(tmp_path), spool.state().segments)


def test_a_segment_of_another_version_stays(tmp_path):
    """A segment that another version left is not touched, and named; the folder stays free."""
    magic = b"TOLLENS\x02"
    path = tmp_path / str(SegmentName(0, Signal.LOGS, sealed=False))
    path.write_bytes(magic + MARK + zlib.crc32(magic + MARK).to_bytes(4, "little"))
    for _ in range(2):
        with pytest.raises(InputError, match=path.name):
            Spool(tmp_path)
    assert path.exists()


def test_a_lagging_loader_gets_larger_segments(tmp_path):
    """With a hundred segments waiting, a young one goes on growing instead of becoming one more small file."""
    for number in range(100):
        (tmp_path / str(SegmentName(number, Signal.LOGS, sealed=True))).write_bytes(encode(MARK, [b"old"]))
    clock = Clock()
    with Spool(tmp_path, clock=clock) as spool:
        for number in range(5):
            put(spool, bytes([number]))
            clock.now += 5
        assert 101 == spool.state().segments
        clock.now += 60
        put(spool, b"!")
        put(spool, b"?")
        assert 102 == spool.state().segments
