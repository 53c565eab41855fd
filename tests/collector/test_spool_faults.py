"""A disk that is full, refuses or lies, and a writer that is killed: nothing acknowledged is lost."""

import errno
import os
import random
import resource
import shutil
import subprocess
import sys

import pytest

from collector.sink import Full
from collector.spool import Spool
from correlator.model.records import Signal
from correlator.model.segments import segment_names
from tests.collector.spooling import payloads, ready, wait_until

KILLS = int(os.environ.get("TOLLENS_KILLS", "10"))
TIMEOUT_S = 20


def put(spool, payload, signal=Signal.TRACES):
    spool.put(signal, payload).result(TIMEOUT_S)


def refused(spool, payload, words):
    with pytest.raises(Full, match=words):
        put(spool, payload)


@pytest.fixture
def small_files():
    """No file may grow beyond 100 kB: a write is then cut in its middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def fault(monkeypatch):
    """Lets a call of `os` fail with a number from now on; the number 0 mends it."""
    original = {}

    def set_fault(name, number):
        original.setdefault(name, getattr(os, name))

        def failing(*arguments):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, name, failing if number else original[name])

    return set_fault


def test_a_write_cut_short_is_taken_back(tmp_path, small_files):
    """A request that fits only in part is refused, the disk holds none of it, and smaller ones go on."""
    with Spool(tmp_path) as spool:
        put(spool, b"a" * 60_000)
        refused(spool, b"b" * 60_000, "File too large")
        assert ("File too large", {"disk": 1}) == (spool.state().trouble, spool.state().refused)
        assert [b"a" * 60_000] == payloads(tmp_path)
        assert spool.state().bytes == sum((tmp_path / str(name)).stat().st_size for name in segment_names(tmp_path))
        put(spool, b"c")
        assert spool.state().trouble is None
        assert 0 == spool.state().waiting_bytes
    assert [b"a" * 60_000, b"c"] == payloads(tmp_path)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_failed_flush_is_never_acknowledged(tmp_path, fault, number):
    """What could not be made durable is refused and cut off; the next goes into another segment."""
    with Spool(tmp_path) as spool:
        put(spool, b"before")
        fault("fdatasync", number)
        refused(spool, b"never", os.strerror(number))
        fault("fdatasync", 0)
        put(spool, b"after")
        assert [b"before", b"after"] == payloads(tmp_path)
        assert [0, 1] == [name.number for name in segment_names(tmp_path)]


@pytest.mark.parametrize("call", ["open", "pwrite", "fdatasync", "fsync"])
def test_a_disk_that_refuses_everything_for_a_while(tmp_path, fault, call):
    """While the disk is read-only every request is refused, with no files left behind; then all is well by itself."""
    with Spool(tmp_path) as spool:
        fault(call, errno.EROFS)
        for _ in range(30):
            refused(spool, b"never", "Read-only file system")
        assert "Read-only file system" == spool.state().trouble
        fault(call, 0)
        put(spool, b"after")
        assert (30, 1) == (spool.state().refused["disk"], spool.state().appended)
    assert [b"after"] == payloads(tmp_path)
    assert 1 == len(segment_names(tmp_path))


def test_a_segment_that_cannot_be_sealed_is_tried_again(tmp_path, fault):
    """When even cutting back fails, acknowledged requests stay, files do not pile up, and later all is sealed."""
    with Spool(tmp_path) as spool:
        put(spool, b"before")
        for call in ("fdatasync", "ftruncate", "unlink"):
            fault(call, errno.EIO)
        for _ in range(50):
            refused(spool, b"never", "Input/output error|earlier segments")
        assert len(segment_names(tmp_path)) < 12
        for call in ("fdatasync", "ftruncate", "unlink"):
            fault(call, 0)
        wait_until(lambda: len(ready(tmp_path)) == len(segment_names(tmp_path)) == 1)
        put(spool, b"after")
    assert [b"before", b"after"] == payloads(tmp_path)


def test_a_folder_that_vanishes_is_trouble_not_the_end(tmp_path):
    """Without its folder the spool refuses; when the folder is back, it goes on."""
    folder = tmp_path / "spool"
    with Spool(folder) as spool:
        put(spool, b"lost with its disk")
        wait_until(lambda: ready(folder))
        shutil.rmtree(folder)
        refused(spool, b"never", "No such file")
        folder.mkdir()
        put(spool, b"after")
    assert [b"after"] == payloads(folder)


FILL = """
import os, sys
from pathlib import Path
from collector.sink import Full
from collector.spool import Spool
from correlator.model.records import Signal
from correlator.model.segments import read_segment, segment_names
folder = Path(sys.argv[1])
with Spool(folder) as spool:
    kept = []
    try:
        while True:
            payload = str(len(kept)).encode().ljust(700_000)
            spool.put(Signal.TRACES, payload).result(20)
            kept.append(payload)
    except Full as full:
        print(full)
    there = [p for name in segment_names(folder) for p in read_segment(folder / str(name)).payloads]
    assert kept == there, (len(kept), len(there))
    for name in [name for name in segment_names(folder) if name.sealed]:
        (folder / str(name)).unlink()
    spool.put(Signal.TRACES, b"after").result(20)
    print(len(kept), "kept,", spool.state().trouble)
"""


@pytest.mark.skipif(
    subprocess.run(["unshare", "-Urm", "true"], check=False, capture_output=True).returncode != 0,
    reason="a file system of one's own needs user namespaces",
)
def test_a_full_disk(tmp_path):
    """On a file system of 40 MB everything acknowledged is there when it is full, and emptying it is enough."""
    mounted = 'mount -t tmpfs -o size=40m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "-Urm", "sh", "-c", mounted, "sh", str(tmp_path), sys.executable, FILL]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "" == done.stderr
    assert "No space left on device\n" in done.stdout
    assert " kept, None\n" in done.stdout


def test_killed_at_any_moment(tmp_path):
    """After each kill all acknowledged requests are there, once; none is torn or made up."""
    chance, acknowledged, first = random.Random(), set(), 0
    for _ in range(KILLS):
        acknowledged |= killed(tmp_path, first, chance.randrange(1, 60))
        with Spool(tmp_path):
            numbers = [int(payload.split()[0]) for payload in payloads(tmp_path)]
        assert set() == acknowledged - set(numbers)
        assert len(numbers) == len(set(numbers))
        first = max(numbers) + 10
        if sum((tmp_path / str(name)).stat().st_size for name in ready(tmp_path)) > 100_000_000:
            acknowledged = emptied(tmp_path)


def killed(folder, first, after):
    """Let a process fill the spool and kill it after so many acknowledgements: which they were."""
    command = [sys.executable, "-m", "tests.collector.spool_child", str(folder), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        lines = [child.stdout.readline() for _ in range(after)]
        child.kill()
        lines += child.stdout
    return {int(line) for line in lines if line.endswith(b"\n")}


def emptied(folder):
    for name in ready(folder):
        (folder / str(name)).unlink()
    return set()
