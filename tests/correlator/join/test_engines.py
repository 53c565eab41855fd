"""What engines' own figures imply, and two runs compared by what their client said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from correlator.join.client_run import tail
from correlator.join.engine_memory import with_other_memory
from correlator.join.engines import capacity, with_batch
from correlator.join.symptom import find_symptom
from correlator.model import names as n
from correlator.model.evidence import Evidence, Fact, Kind, Window, Windows, with_windows

S = 1_000_000_000
GIB = 2.0**30
WINDOWS = Windows(Window(0, 100 * S), Window(200 * S, 300 * S))


def running(*rows: tuple[int, str, float]) -> pd.DataFrame:
    """Points of the running batch: second, engine, requests."""
    return pd.DataFrame(
        [{"signal": n.RUNNING.name, "rank": 0, "start": at * S, "series": who, "value": v} for at, who, v in rows]
    )


def wide(**columns: float) -> pd.DataFrame:
    """One stretch of five seconds."""
    return pd.DataFrame({name: [value] for name, value in columns.items()}, index=[0])


def run(at: int, median: float, p99: float, completed: int = 2000) -> tuple[Fact, ...]:
    """What the client of one run told."""
    figures = {"client.completed": completed, "client.tpot.median_s": median, "client.tpot.p99_s": p99}
    return tuple(Fact(name, str(value), at * S, "client") for name, value in figures.items())


def told(*facts: Fact) -> Evidence:
    """Evidence of nothing but facts."""
    empty = pd.DataFrame({"start": pd.Series(dtype="int64"), "host": pd.Series(dtype=str)})
    return with_windows(Evidence(empty, empty, facts=facts), WINDOWS)


def test_time_per_token_is_the_batch_over_its_tokens() -> None:
    """Two engines of 96 requests that make 9,600 tokens a second give each request one every 20 ms."""
    points = running((0, "a", 96), (0, "b", 96), (2, "a", 96), (2, "b", 96))
    found = with_batch(points, wide(running_requests=192, generation_throughput=9600), 5 * S).iloc[0]
    assert (2, 96, 0.02, 9600) == (
        found[n.ENGINES.name],
        found[n.BATCH_SIZE.name],
        found[n.TIME_PER_OUTPUT_TOKEN.name],
        found[f"n.{n.TIME_PER_OUTPUT_TOKEN.name}"],
    )


def test_one_snapshot_is_no_mean() -> None:
    """A single reading in five seconds gives no time per token."""
    found = with_batch(running((0, "a", 96)), wide(running_requests=96, generation_throughput=4800), 5 * S)
    assert n.TIME_PER_OUTPUT_TOKEN.name not in found


def test_a_measured_time_per_token_stays() -> None:
    """What the engine measured is not replaced."""
    points = running((0, "a", 96), (2, "a", 96))
    measured = wide(running_requests=96, generation_throughput=4800, time_per_output_token=0.5)
    assert 0.5 == with_batch(points, measured, 5 * S)[n.TIME_PER_OUTPUT_TOKEN.name].iloc[0]


def test_a_pool_of_blocks_has_tokens() -> None:
    """Blocks times their size, unless the engine told tokens or one of the two is no number."""
    blocks = [Fact("engine.num_gpu_blocks", "100", 1), Fact("engine.block_size", "16", 1)]
    assert "1600" == capacity(blocks)[-1].value
    assert blocks == capacity([blocks[0], blocks[1]])[:2]
    assert 2 == len(capacity([Fact("engine.num_gpu_blocks", "None", 1), blocks[1]]))
    own = [*blocks, Fact("engine.kv_cache_tokens", "5", 1)]
    assert own == capacity(own)


@pytest.mark.parametrize(("used", "expected"), [(9.0, 0.0), (9.5, 0.5), (4.0, 0.0)])
def test_memory_beyond_an_engines_share_is_somebody_elses(used: float, expected: float) -> None:
    """Of a GPU of 10 GiB an engine was given 90 %: what is in use beyond that is not its own."""
    series = pd.DataFrame({"start": [0], n.GPU_MEMORY_USED.name: [used * GIB], n.GPU_MEMORY_TOTAL.name: [10 * GIB]})
    found = with_other_memory(series, [Fact("engine.gpu_memory_utilization", "0.9", 0)])
    assert pytest.approx(expected * GIB) == found[n.GPU_OTHER_MEMORY.name].iloc[0]


def test_listed_processes_know_better() -> None:
    """Where processes were listed, or the engine's share is not known, nothing is computed."""
    series = pd.DataFrame({"start": [0], n.GPU_MEMORY_USED.name: [9.9 * GIB], n.GPU_MEMORY_TOTAL.name: [10 * GIB]})
    assert n.GPU_OTHER_MEMORY.name not in with_other_memory(series, [])
    listed = series.assign(**{n.GPU_OTHER_MEMORY.name: 7.0})
    assert listed.equals(with_other_memory(listed, [Fact("engine.gpu_memory_utilization", "0.9", 0)]))


def test_a_longer_tail_of_the_client_is_a_symptom() -> None:
    """Three times the 99th percentile of 2,000 requests is a latency symptom, with an interval around it."""
    found = find_symptom(told(*run(1, 0.048, 0.054), *run(201, 0.058, 0.174)))
    assert found is not None
    assert (Kind.LATENCY, "p99", n.TIME_PER_OUTPUT_TOKEN) == (found.kind, found.statistic, found.signal)
    assert found.change.low < 0.174 / 0.054 < found.change.high


@pytest.mark.parametrize(
    "facts",
    [
        (*run(1, 0.048, 0.054), *run(201, 0.05, 0.06)),
        (*run(1, 0.048, 0.054, completed=100), *run(201, 0.058, 0.174, completed=100)),
        run(1, 0.048, 0.054),
        (*run(1, 0.048, 0.0), *run(201, 0.058, 0.174)),
    ],
    ids=["like runs", "few requests", "one run", "no tail"],
)
def test_the_client_says_nothing_of_like_or_small_runs(facts: tuple[Fact, ...]) -> None:
    """Like runs, runs of few requests, and figures that cannot be, are no symptom."""
    assert find_symptom(told(*facts)) is None


def test_the_tails_interval_covers() -> None:
    """Of log-normal runs of equal tails at most one in ten and some differ beyond the 90 % interval."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(200):
        sides = [np.quantile(rng.lognormal(-3, 0.3, 2000), [0.5, 0.99]) for _ in range(2)]
        found = tail(told(*run(1, *sides[0]), *run(201, *sides[1])), n.TIME_PER_OUTPUT_TOKEN)
        assert found is not None
        missed += not found.change.low <= 1 <= found.change.high
    assert 0.04 * 200 <= missed <= 0.18 * 200
