"""The persistent queue of a real Collector and our spool: whoever is killed, what was acknowledged arrives."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.collector.collector_process import collector
from tests.collector.spooling import wait_until
from tests.counterparts.running import CONFIGS, PATIENCE_S, Otelcol, free_port
from tests.counterparts.traffic import send, whole

ROUNDS, PER_REQUEST = 3, 5


@dataclass
class Sender:
    """Sends on and on, the same numbers again until they are acknowledged, as an SDK does."""

    url: str
    acknowledged: list[int] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with httpx.Client(timeout=PATIENCE_S) as client:
            while not self.done.is_set():
                numbers = range(len(self.acknowledged), len(self.acknowledged) + PER_REQUEST)
                with suppress(httpx.HTTPError):
                    send(client, self.url, numbers)
                    self.acknowledged += numbers
                self.done.wait(0.005)

    @contextmanager
    def sending(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self.done.set()
            thread.join()

    def more(self, numbers: int = 100) -> None:
        """Return when so many further ones are acknowledged."""
        enough = len(self.acknowledged) + numbers
        wait_until(lambda: len(self.acknowledged) >= enough, PATIENCE_S)


@pytest.mark.parametrize("victims", ["tollens", "otelcol", "otelcol and tollens"])
def test_nothing_acknowledged_is_lost(tmp_path: Path, victims: str) -> None:
    """Killed with SIGKILL while traffic flows and started again, three times: every acknowledged record arrives."""
    data, grpc = tmp_path / "tollens", free_port()
    otelcol = Otelcol(CONFIGS / "sidecar.yaml", tmp_path, {"TOLLENS_GRPC": f"127.0.0.1:{grpc}"})
    sender = Sender(otelcol.http)
    with ExitStack() as stack:
        start: dict[str, Callable[[], subprocess.Popen[bytes]]] = {
            "tollens": lambda: stack.enter_context(collector(data, None, "--otlp-grpc-port", str(grpc))).process,
            "otelcol": lambda: stack.enter_context(otelcol.running()),
        }
        processes = {name: begin() for name, begin in start.items()}
        with sender.sending():
            for _ in range(ROUNDS):
                sender.more()
                for victim in victims.split(" and "):
                    processes[victim].kill()
                    processes[victim].wait(PATIENCE_S)
                if victims == "tollens":
                    sender.more()  # into the queue
                for victim in victims.split(" and "):
                    processes[victim] = start[victim]()
            sender.more()
        wait_until(lambda: whole(data, sender.acknowledged), PATIENCE_S)
