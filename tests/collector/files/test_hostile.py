"""Whatever the bytes are, read() ends, names what it could not use and raises nothing."""

from hypothesis import given
from hypothesis import strategies as st

from tests.collector.files.support import (
    T0,
    gauges,
    json_lines,
    log,
    logs,
    point,
    read_bytes,
    span,
    traces,
    zipped,
)

JSON = json_lines(traces(span(1), span(2)), gauges(point(), point()), logs(log()))
PROM = b"""# HELP w Wait
# TYPE w histogram
w_bucket{le="1.0",a="b"} 1 # {trace_id="0af7"} 0.5
w_bucket{le="+Inf",a="b"} 2
w_count{a="b"} 2
w_sum{a="b"} 3
# TYPE jobs counter
jobs_total 5 1796000000
# EOF
"""
VLLM = b"INFO 11-30 05:06:07 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs\n" * 3
APP = b"2026-11-30 05:06:07,123 ERROR app: upstream refused\nTraceback (most recent call last):\n  File\nKeyError: 1\n"
OTLP = b"".join(batch.payload for batch in read_bytes(JSON)[0][:1])
SOUND = st.sampled_from([JSON, PROM, VLLM, APP, OTLP, zipped(JSON), zipped(PROM)])


@given(content=st.binary(max_size=400))
def test_any_bytes(content: bytes) -> None:
    """Random bytes give batches or problems, never neither and never an exception."""
    batches, problems = read_bytes(content)
    assert batches or problems


@given(content=SOUND, data=st.data())
def test_mutilated_telemetry(content: bytes, data: st.DataObject) -> None:
    """Telemetry with pieces cut out, doubled or overwritten raises nothing, and no reader gives up on it."""
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(changed)))
        stop = data.draw(st.integers(start, min(len(changed), start + 40)))
        changed[start:stop] = data.draw(st.binary(max_size=6) | st.just(bytes(changed[start:stop] * 2)))
    batches, problems = read_bytes(bytes(changed), "1796000000.x")
    assert batches or problems
    assert [] == [problem for problem in problems if "gave up" in problem.reason]


def test_soundness_of_the_examples() -> None:
    """The unharmed examples are read without any problem, so that mutilating them means something."""
    assert T0
    for content in (JSON, PROM, OTLP, zipped(JSON)):
        batches, problems = read_bytes(content, "1796000000.x")
        assert (True, []) == (bool(batches), problems)
