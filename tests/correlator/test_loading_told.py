"""Segments that are loaded together are one span, and what could not be loaded is in the tables with its time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from correlator.model.records import Signal
from correlator.model.segments import SegmentName, encode
from correlator.model.telemetry import Attributes
from correlator.serve import _load
from correlator.store import Store
from correlator.store.priority import Background
from tests.collector.collector_process import request

LOST = "SELECT toInt64(sum(Value)) AS n FROM otel_metrics_sum WHERE ServiceName = 'tollens-correlator'"


def test_loading_is_a_span_and_refusals_are_told(tmp_path: Path) -> None:
    """Of three segments two hold spans and one holds nonsense: one span; with nothing to do nothing is told."""
    told: list[tuple[str, Attributes]] = []

    @contextmanager
    def spans(name: str) -> Iterator[Attributes]:
        found: Attributes = {}
        yield found
        told.append((name, found))

    spool = tmp_path / "spool"
    spool.mkdir()
    for number, payload in enumerate([request(1), request(2), b"\xff\xff"]):
        name = SegmentName(number, Signal.TRACES, sealed=True)
        (spool / str(name)).write_bytes(encode(bytes([number]) * 8, [payload]))
    with Store.open(tmp_path / "store") as store:
        _load(store, spool, Counter(), spans, Background())
        _load(store, spool, Counter(), spans, Background())
        lost = store.query(LOST)
    expected = {"tollens.signal": "traces", "tollens.segments": 3, "tollens.requests": 2}
    assert [("load", expected)] == [(name, found) for name, found in told if found]
    assert [1] == lost["n"].tolist()
