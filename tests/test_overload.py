"""Five times what can be kept: refused loudly, memory within its bound, nothing acknowledged lost, recovery."""

import http.client
import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from collector.otlp_grpc import SERVICES
from correlator.model.records import Signal
from tests.collector.telemetry import span, spans
from tests.live import Live, eventually, live, stored

SECONDS = float(os.environ.get("TOLLENS_OVERLOAD_S", "5"))
TIMES = 5
CAPACITY_S = 5.0
SENDERS = 12
LIMITS = {"requests": 8, "bytes_in_flight": 8 << 20}
SETTINGS = {
    "collector": {
        "gpu": {"nvml": False},
        "spool": {"capacity_bytes": 2 << 20, "waiting_bytes": 1 << 20},
        "receivers": {"limits": LIMITS},
    },
    "watch": {"enabled": False},
}
GROWTH_BYTES = {"collector": 150 << 20, "correlator": 1000 << 20}
"""What a process may take beyond what it has at rest: bounds of intake and spool; the engine's own bound of loading."""
PATIENCE_S = 60.0


class Traffic:
    """Requests sent, those that were acknowledged, and how the others were answered."""

    def __init__(self, service: Live) -> None:
        self.acknowledged: list[str] = []
        self.answers: Counter[str] = Counter()
        self._service, self._numbers = service, count()

    @property
    def sent(self) -> int:
        return self.answers.total()

    def one(self) -> bool:
        """Send one request, over HTTP and gRPC in turn: whether it was acknowledged."""
        number = next(self._numbers)
        answer = (self._by_grpc if number % 2 else self._by_http)(request(number))
        self.answers[answer] += 1
        if answer == "ok":
            self.acknowledged.append(str(number))
        return answer == "ok"

    def _by_http(self, payload: bytes) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._service.ports["otlp-http-port"], timeout=PATIENCE_S)
        connection.request("POST", "/v1/traces", payload, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        again = "again" if answer.getheader("Retry-After", "").isdigit() else "never"
        return "ok" if answer.status == 200 else f"{answer.status} {again}"

    def _by_grpc(self, payload: bytes) -> str:
        with grpc.insecure_channel(f"127.0.0.1:{self._service.ports['otlp-grpc-port']}") as channel:
            try:
                channel.unary_unary(f"/{SERVICES[Signal.TRACES]}/Export")(payload, timeout=PATIENCE_S)
            except grpc.RpcError as error:
                return f"{error.code().name} {'again' if retried(error) else 'never'}"
            return "ok"


def retried(error: grpc.RpcError) -> bool:
    """Whether the answer says after what time to try again."""
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    found = [one for one in Status.FromString(details).details if one.Is(RetryInfo.DESCRIPTOR)]
    return [True] == [RetryInfo.FromString(one.value).retry_delay.seconds > 0 for one in found]


def request(number: int) -> bytes:
    """Half a spool's twentieth: one span that is known by its number."""
    return spans(span(name=f"{number}", trace_state="x" * 50_000))


def paced(traffic: Traffic, per_s: float, seconds: float) -> float:
    """Send at that rate, whatever is answered; the rate that was reached."""
    began, before = time.monotonic(), traffic.sent
    gap = threading.Event()
    with ThreadPoolExecutor(SENDERS) as threads:
        for number in range(int(per_s * seconds)):
            gap.wait(max(0.0, began + number / per_s - time.monotonic()))
            threads.submit(traffic.one)
    return (traffic.sent - before) / (time.monotonic() - began)


def capacity(traffic: Traffic) -> float:
    """Requests per second that are kept where senders do as they are told."""
    over = threading.Event()

    def send() -> None:
        while not over.is_set():
            if not traffic.one():
                over.wait(1)

    began, before = time.monotonic(), len(traffic.acknowledged)
    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    over.wait(CAPACITY_S)
    over.set()
    for thread in threads:
        thread.join()
    return (len(traffic.acknowledged) - before) / (time.monotonic() - began)


class Memory(threading.Thread):
    """The most resident bytes of each part, looked up ten times a second until `over`."""

    def __init__(self, service: Live) -> None:
        super().__init__()
        self.parts = service.parts()
        self.most: Counter[str] = Counter()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            for name, pid in self.parts.items():
                self.most[name] = max(self.most[name], resident(pid))


def resident(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_five_times_too_much_is_refused_and_survived(tmp_path: Path) -> None:
    """Every refusal says when to try again, memory stays, what was acknowledged is stored once, and it recovers."""
    with live(tmp_path, SETTINGS) as service:
        eventually(service.ready)
        traffic, memory = Traffic(service), Memory(service)
        usual = capacity(traffic)
        rest = {name: resident(pid) for name, pid in memory.parts.items()}
        memory.start()
        reached = paced(traffic, TIMES * usual, SECONDS)
        memory.over.set()
        memory.join()
        print(f"{usual:.0f}/s kept, {reached:.0f}/s sent", dict(traffic.answers), rest, dict(memory.most))
        eventually(traffic.one, PATIENCE_S)
        eventually(service.ready)
        eventually(lambda: not service.segments())
        assert memory.parts == service.parts()
        assert 0 == service.stop()
    refused = set(traffic.answers) - {"ok"}
    assert refused and refused <= {"503 again", "429 again", "RESOURCE_EXHAUSTED again"}
    assert reached > 0.8 * TIMES * usual
    assert {} == {name: most for name, most in memory.most.items() if most - rest[name] > GROWTH_BYTES[name]}
    assert dict.fromkeys(traffic.acknowledged, 1) == stored(tmp_path / "data")
