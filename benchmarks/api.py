"""How long reads of the API take while spans are loaded: `python -m benchmarks.api [SPANS_PER_S [SECONDS [READS]]]`.

A whole `tollens up` with incidents in its store gets spans at a steady rate. Reads are due at set times, whether or not
those before have ended, and their time counts from then. Beside them a server of the same kind, in a process of
its own, that answers a constant is asked just as often: what that takes is the machine's own noise. READS are a second.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn
from starlette.responses import PlainTextResponse

from benchmarks.process import load, run
from benchmarks.send import sender
from benchmarks.service import running
from correlator.model.evidence import Kind, Window
from correlator.model.incidents import Incident, State

LIMIT_MS = 200
INCIDENTS, OPEN = 200, 5
REST_S = 5.0
WARM_S = 10.0
"""Of loading, before reads count."""
AT_A_TIME = 32
"""Reads of one kind under way."""
CONSTANT = "a constant, elsewhere"
_S = 10**9

Paths = Mapping[str, tuple[int, str]]
"""What is read → port and path."""
Times = Mapping[str, list[float]]


def main(spans_per_s: int = 50_000, seconds: float = 30, reads_per_s: float = 20) -> None:
    """Print the milliseconds of each read, at rest and while loading."""
    print(load())
    with tempfile.TemporaryDirectory(prefix="tollens-bench-") as folder, _constant() as constant:
        run("benchmarks.api", "--fill", f"{folder}/store")
        with (
            running(Path(folder), {"collector": {"gpu": {"nvml": False}}}) as service,
            sender(service.ports["otlp_grpc_port"], spans_per_s, WARM_S + seconds) as sending,
        ):
            paths = _paths(service.ports["api_port"], sending.first_trace) | {CONSTANT: (constant, "/")}
            _print("at rest", _read(paths, REST_S, reads_per_s, (200, 404)))
            sending.begin()
            time.sleep(WARM_S)
            _print("while loading", _read(paths, seconds, reads_per_s, (200,)))
            sent = sending.sent()
    print(f"acknowledged meanwhile: {sent.spans / sent.seconds:,.0f} spans/s, {sent.refusals} refusals")
    print(load())


def fill(folder: Path) -> None:
    """Incidents with a whole diagnosis each, the first of them `0`."""
    from correlator.store import Store
    from correlator.store.incidents import Incidents

    diagnosis = json.loads(run("correlator", "demo", "--json").output)
    now = time.time_ns()
    with Store.open(folder) as store:
        incidents = Incidents(store)
        for number in range(INCIDENTS):
            incidents.save(_incident(number, now - number * 3600 * _S, diagnosis))


def _incident(number: int, onset: int, diagnosis: Mapping[str, object]) -> Incident:
    return Incident(
        id=str(number),
        state=State.OPEN if number < OPEN else State.CLOSED,
        closed=None if number < OPEN else onset + 600 * _S,
        detector="change",
        kind=Kind.LATENCY,
        where="service.name=rag-api",
        title="latency of rag-api",
        severity=2.0,
        onset=onset,
        opened=onset + 60 * _S,
        updated=onset + 90 * _S,
        baseline=Window(onset - 1800 * _S, onset),
        diagnosed=onset + 90 * _S,
        agreed=3,
        diagnosis=diagnosis,
    )


def _paths(port: int, trace: str) -> dict[str, tuple[int, str]]:
    under = ("incidents", "incidents/0", f"traces/{trace}", "hypotheses", "signals")
    named = {f"GET {path.replace(trace, '{id}')}": (port, f"/api/v1/{path}") for path in under}
    return named | {"GET /healthz": (port, "/healthz")}


def _read(paths: Paths, seconds: float, reads_per_s: float, expected: Collection[int]) -> Times:
    """Milliseconds of each read, by what was read."""
    took: dict[str, list[float]] = {name: [] for name in paths}
    order = [name for name in paths if name != CONSTANT]
    began = time.monotonic()

    def one(name: str, due: float) -> None:
        port, path = paths[name]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path)
        status = connection.getresponse()
        status.read()
        connection.close()
        if status.status not in expected:
            raise SystemExit(f"{name}: {status.status}")
        took[name].append((time.monotonic() - due) * 1e3)

    with ExitStack() as stack:
        threads = {name: stack.enter_context(ThreadPoolExecutor(AT_A_TIME)) for name in paths}
        reads = []
        for number in range(int(seconds * reads_per_s)):
            due = began + number / reads_per_s
            time.sleep(max(0.0, due - time.monotonic()))
            reads += [threads[name].submit(one, name, due) for name in (order[number % len(order)], CONSTANT)]
        for read in reads:
            read.result()
    return took


def _print(title: str, took: Times) -> None:
    print(f"\n{title:28} {'reads':>6} {'p50':>8} {'p99':>8} {'most':>8} ms, limit of p99 {LIMIT_MS}")
    for name, times in took.items():
        _row(name, times)
    _row("all of the API", [ms for name, times in took.items() if name != CONSTANT for ms in times])


def _row(name: str, times: Sequence[float]) -> None:
    ordered = sorted(times)
    median, high = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.99))
    print(f"{name:28} {len(ordered):6} {median:8.1f} {high:8.1f} {ordered[-1]:8.1f}")


@contextmanager
def _constant() -> Iterator[int]:
    """The port of a server that answers a constant."""
    command = [sys.executable, "-m", "benchmarks.api", "--constant"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def constant() -> None:
    """Answer until SIGTERM, after saying the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(PlainTextResponse("ok"), log_config=None, access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--fill", folder]:
            fill(Path(folder))
        case ["--constant"]:
            constant()
        case given:
            main(*map(int, given))
