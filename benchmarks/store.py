"""How many spans a second the store takes, beside what merely parsing the same bytes costs.

    python -m benchmarks.store [spans]

Per CPU-second of the whole process, so that a busy machine disturbs little; compare the ratio, not
the figures, between machines. Background merges are part of the load.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.generate import genai_trace_requests
from correlator.model.records import Batch, Signal
from correlator.store import Store

GROUP = 100
"""Requests held in memory at a time."""


def main(spans: int) -> None:
    """Print the figures for `spans` generated spans."""
    parsing = loading = 0.0
    with Store.open() as store:
        for group in _groups(spans):
            parsing += _cpu(_parse, group)
            loading += _cpu(_load, store, group)
        rows = store.query("SELECT count() AS spans FROM otel_traces")["spans"].tolist()
        disk = store.query(_DISK)["bytes"][0]
    if rows != [spans]:
        raise SystemExit(f"{rows[0]} of {spans} spans are there")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"parse only (upb)   {spans / parsing:10,.0f} spans per CPU-second")
    print(f"OTLP to rows       {spans / loading:10,.0f} spans per CPU-second")
    print(f"loading : parsing  {loading / parsing:10.1f} times the CPU")
    print(f"on disk            {disk / spans:10.0f} bytes a span")
    print(f"peak memory        {memory:10.0f} MiB")


def _groups(spans: int) -> Iterator[list[bytes]]:
    requests = genai_trace_requests(spans)
    while group := list(islice(requests, GROUP)):
        yield group


def _parse(requests: list[bytes]) -> None:
    for request in requests:
        ExportTraceServiceRequest.FromString(request)


def _load(store: Store, requests: list[bytes]) -> None:
    store.load(Batch(Signal.TRACES, request) for request in requests)


def _cpu(action: Callable[..., object], *arguments: object) -> float:
    """CPU-seconds of the whole process, all threads, during `action`."""
    before = time.process_time()
    action(*arguments)
    return time.process_time() - before


_DISK = "SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND table LIKE 'otel_traces%'"

if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
