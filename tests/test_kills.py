"""Whatever of `tollens up` is killed and when: what was acknowledged is in the store, and nothing is there twice."""

import http.client
import os
import random
import sys
import threading
from collections import Counter
from itertools import count
from pathlib import Path

import grpc
import pytest

from collector.otlp_grpc import SERVICES
from correlator.model.records import Signal
from tests.collector.telemetry import log, logs, span, spans
from tests.live import QUIET, Live, eventually, live, stored

KILLS = int(os.environ.get("TOLLENS_KILLS", "3"))
SEED = int(os.environ.get("TOLLENS_SEED", "7"))
PARTS = (("collector",), ("correlator",), ("collector", "correlator"), ())
"""What is killed at a random moment; nothing named is all of it, the supervisor included."""
OPERATIONS = {"collector": ("fdatasync", "fsync", "rename"), "correlator": ("fsync", "replace", "unlink")}
STEPS = [f"{part} {name} {n}" for part, names in OPERATIONS.items() for name in names for n in (1, 2, 3)]
"""Of a load the first `replace` is mostly the note before it, and the second the one after it, with all rows in."""
AT_ONCE = 3
"""Kills until all of it is started anew: the supervisor's pauses grow."""
TABLES = {Signal.TRACES: ("otel_traces", "SpanName"), Signal.LOGS: ("otel_logs", "Body")}
RECORDS = 5


class Sender(threading.Thread):
    """Sends requests of five records for as long as it is let, over HTTP or gRPC, each again until it is acknowledged.

    Every attempt has names of its own: whoever was not told may have been heard, and sends once more.
    """

    def __init__(self, service: Live, number: int, signal: Signal) -> None:
        super().__init__()
        self.signal = signal
        self.acknowledged: list[str] = []
        self.attempted: list[str] = []
        self.over = threading.Event()
        self._service, self._number = service, number

    def run(self) -> None:
        send = self._by_grpc if self._number % 2 else self._by_http
        for attempt in count():
            if self.over.is_set():
                return
            names = [f"{self._number}.{attempt}.{record}" for record in range(RECORDS)]
            self.attempted += names
            if send(request(self.signal, names)):
                self.acknowledged += names
            self.over.wait(0.05)

    def _by_http(self, payload: bytes) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._service.ports["otlp-http-port"], timeout=10)
        try:
            headers = {"Content-Type": "application/x-protobuf"}
            connection.request("POST", f"/v1/{self.signal}", payload, headers)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _by_grpc(self, payload: bytes) -> bool:
        with grpc.insecure_channel(f"127.0.0.1:{self._service.ports['otlp-grpc-port']}") as channel:
            try:
                channel.unary_unary(f"/{SERVICES[self.signal]}/Export")(payload, timeout=10)
            except grpc.RpcError:
                return False
            return True


def request(signal: Signal, names: list[str]) -> bytes:
    if signal is Signal.TRACES:
        return spans(*(span(name=name) for name in names))
    records = [log() for _ in names]
    for record, name in zip(records, names, strict=True):
        record.body.string_value = name
    return logs(*records)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_whatever_is_killed_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    """Collector, correlator, both and all, at random moments and before named steps, while four clients send."""
    chance, order = random.Random(SEED), tmp_path / "order"
    dying = {"PYTHONPATH": str(Path(__file__).parent / "dying"), "TOLLENS_TEST_DEATH": str(order)}
    with live(tmp_path, QUIET, environment=dying) as service:
        senders = [Sender(service, n, signal) for n, signal in enumerate([*TABLES] * 2)]
        for sender in senders:
            sender.start()
        try:
            assert KILLS <= killed(service, order, chance, senders)
        finally:
            for sender in senders:
                sender.over.set()
                sender.join()
        finished(service)
        if (tmp_path / "died").exists():
            print((tmp_path / "died").read_text())
    for signal in TABLES:
        check(tmp_path / "data", signal, [sender for sender in senders if sender.signal is signal])


def killed(service: Live, order: Path, chance: random.Random, senders: list[Sender]) -> int:
    """Kill so many processes; each turn begins with all of it running and taking telemetry."""
    done = Counter[str]()
    while done.total() < KILLS:
        taken = len(senders[0].acknowledged)
        eventually(lambda taken=taken: service.ready() and len(senders[0].acknowledged) > taken)
        for _ in range(AT_ONCE):
            if done.total() % 2:
                done["step"] += at_step(service, order, chance.choice(STEPS))
            else:
                threading.Event().wait(chance.uniform(0, 3))
                names = chance.choice(PARTS)
                done["+".join(names) or "all"] += service.kill(*names) > 0
                if not names:
                    break
        print("killed", dict(done), "acknowledged", sum(len(sender.acknowledged) for sender in senders), flush=True)
        service.start()
    return done.total()


def at_step(service: Live, order: Path, step: str) -> int:
    """1 when a part died before the step, 0 when it did not come to it."""
    (order.parent / "new").write_text(step)
    (order.parent / "new").rename(order)
    try:
        eventually(lambda: not order.exists(), 10)
    except AssertionError:
        order.unlink(missing_ok=True)
        return 0
    return 1


def finished(service: Live) -> None:
    """All is loaded, and the service has ended well."""
    eventually(service.ready)
    eventually(lambda: not service.segments())
    assert 0 == service.stop()


def check(data: Path, signal: Signal, senders: list[Sender]) -> None:
    """Acknowledged once; at most once what was only attempted; nothing else."""
    found = stored(data, *TABLES[signal])
    acknowledged = {name for sender in senders for name in sender.acknowledged}
    attempted = {name for sender in senders for name in sender.attempted}
    assert acknowledged
    assert set() == acknowledged - found.keys()
    assert {} == {name: times for name, times in found.items() if times > 1}
    assert set() == found.keys() - attempted
