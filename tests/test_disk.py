"""`tollens up` where the disk is full or read-only or the correlator stands still: no loss, and it says so."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import httpx
import pytest

from tests.collector.telemetry import span, spans
from tests.live import QUIET, Live, eventually, live

NAMESPACE = ["unshare", "-Urm"]
SIZE = "120m"
SPOOL = {"capacity_bytes": 8 << 20}
PADDING = 200_000
MIB = 1 << 20

pytestmark = pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode != 0,
    reason="a file system of one's own needs user namespaces",
)


class Disk:
    """A mount namespace in which the data folder is a file system of its own."""

    def __init__(self, folder: Path, holder: subprocess.Popen[bytes]) -> None:
        self.folder = folder / "data"
        self.root = Path(f"/proc/{holder.pid}/root")
        self.within = ["nsenter", "-t", str(holder.pid), "-U", "-m", "--preserve-credentials"]
        self._ballast = self.root / self.folder.relative_to("/") / "ballast"

    def fill(self) -> None:
        """Take all the room that is left."""
        with pytest.raises(OSError, match="No space"), self._ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def empty(self) -> None:
        """Give it back."""
        self._ballast.unlink()

    def protect(self) -> None:
        """Let nothing be opened for writing any more."""
        self._run("mount", "--bind", str(self.folder), str(self.folder))
        self._run("mount", "-o", "remount,ro,bind", str(self.folder))

    def release(self) -> None:
        """Writable again."""
        self._run("umount", "-l", str(self.folder))

    def _run(self, *command: str) -> None:
        subprocess.run([*self.within, *command], check=True, timeout=30)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    folder = tmp_path_factory.mktemp("disk")
    (folder / "data").mkdir()
    script = f'mount -t tmpfs -o size={SIZE} tmpfs "$1" && echo mounted && exec cat'
    command = [*NAMESPACE, "sh", "-c", script, "sh", str(folder / "data")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and b"mounted\n" == holder.stdout.readline()
        yield Disk(folder, holder)
        holder.kill()


@pytest.fixture(scope="module")
def service(disk: Disk) -> Iterator[Live]:
    settings = QUIET | {"collector": QUIET["collector"] | {"spool": SPOOL}}
    with live(disk.folder.parent, settings, within=disk.within, root=disk.root) as service:
        eventually(service.ready)
        yield service
        assert 0 == service.stop()


class Sender:
    """Sends spans of one trace, and knows which were acknowledged."""

    def __init__(self, service: Live) -> None:
        self.trace = os.urandom(16)
        self.acknowledged: list[str] = []
        self._service, self._numbers = service, count()

    def send(self) -> httpx.Response:
        name = str(next(self._numbers))
        payload = spans(span(trace_id=self.trace, name=name, trace_state="x" * PADDING))
        headers = {"Content-Type": "application/x-protobuf"}
        answer = httpx.post(self._service.url("otlp-http-port", "/v1/traces"), content=payload, headers=headers)
        if answer.status_code == 200:
            self.acknowledged.append(name)
        return answer

    def refused(self) -> bool:
        """Whether it is told to come again; nothing else but an acknowledgement may be the answer."""
        answer = self.send()
        assert answer.status_code == 200 or (answer.status_code, True) == (503, "retry-after" in answer.headers)
        return answer.status_code == 503

    def stored(self) -> bool:
        """Whether all that was acknowledged is in the store, once, and nothing else."""
        answer = self._service.get(f"/api/v1/traces/{self.trace.hex()}")
        found = Counter(one["name"] for one in answer.json()["spans"]) if answer and answer.status_code == 200 else {}
        assert set(found) <= set(self.acknowledged) and all(times == 1 for times in found.values()), found
        return len(found) == len(self.acknowledged)


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def status(service: Live, port: str) -> int:
    answer = service.get("/readyz", port)
    return answer.status_code if answer else 0


def test_a_full_disk(service: Live, disk: Disk) -> None:
    """Senders are refused and both parts say that they are not ready; with room again all goes on by itself."""
    troubled(service, disk.fill, disk.empty)


def test_a_disk_that_is_read_only(service: Live, disk: Disk) -> None:
    """The same where nothing may be written."""
    troubled(service, disk.protect, disk.release)


def troubled(service: Live, harm: Callable[[], None], mend: Callable[[], None]) -> None:
    sender, logged = Sender(service), len(service.log())
    with ExitStack() as stack:
        with standing_still(service.parts()["correlator"]):
            for _ in range(5):
                assert not sender.refused()
            eventually(lambda: [name for name in service.segments() if name.endswith(".ready")], 60)
            harm()
            stack.callback(mend)
        eventually(sender.refused, 60)
        eventually(lambda: sender.refused() and status(service, "otlp-http-port") == 503, 60)
        eventually(lambda: status(service, "port") == 503, 60)
        assert 1 == service.metrics("metrics-port")["tollens_spool_trouble"]
        assert 0 == service.metrics("port")["tollens_chore_well{loading}"]
        assert "loading failed" in service.log()[logged:]
    eventually(lambda: not sender.refused(), 60)
    eventually(service.ready, 60)
    eventually(sender.stored, 60)
    assert not service.metrics("metrics-port")["tollens_spool_trouble"]


def test_a_correlator_that_stands_still(service: Live) -> None:
    """The spool takes what comes until it is full, then refuses, and shows it; going on, everything is loaded once."""
    sender = Sender(service)
    with standing_still(service.parts()["correlator"]):
        eventually(sender.refused, 60)
        spool = service.metrics("metrics-port")
    assert SPOOL["capacity_bytes"] * 0.9 < spool["tollens_spool_bytes"] <= spool["tollens_spool_limit_bytes"]
    assert 0 < spool["tollens_spool_oldest_age_seconds"]
    assert 0 < spool["tollens_spool_refused_requests_total{capacity}"]
    eventually(lambda: not sender.refused(), 60)
    eventually(sender.stored, 60)
    eventually(service.ready, 60)
