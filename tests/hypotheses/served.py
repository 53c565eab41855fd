"""One window of a simulated service: requests whose ledger parts add up to their latency, and engine state.

The causes work as they do in a real service (prefill follows prompt tokens, a full KV pool stalls whoever
meets it, a small pool makes calls queue), so a test only says what is different.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from correlator.model import names as n
from correlator.model.evidence import BLOCK_NS

BUCKET_NS = BLOCK_NS // 2
HOST = "node-1"
DRIFT = 0.08
"""Standard deviation of the logarithm by which everything on a host is slower or faster in one block."""
FAILED_FAST = 0.05
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Served:
    """Means of one window: tokens and seconds per request, shares from 0 to 1, state of the engine."""

    per_block: float = 12
    input_tokens: float = 300
    output_tokens: float = 60
    max_tokens: float = 256
    cached: float = 0.6
    context_limit: float = float("inf")
    prefill_per_token: float = 0.0003
    time_per_output_token: float = 0.005
    queue: float = 0.01
    network: float = 0.01
    gateway: float = 0.01
    retrieval: float = 0.04
    rerank: float = 0.0
    remainder: float = 0.005
    empty: float = 0.0
    retries: float = 0.0
    retry_cost: float = 0.4
    timeout: float = 0.4
    timeout_spread: float = 0.02
    errors: float = 0.0
    new_version_errors: float = 0.0
    model_fails: bool = True
    truncated: float | None = None
    warm_up: float = 0.0
    calls_open: float = 5
    pool_size: float = 64
    wait_per_queued: float = 0.08
    pool_reports: float = 0.0
    new_version: float = 0.0
    new_version_slower: float = 1.0
    plateau: float = float("inf")
    running: float = 3
    running_cap: float = 64
    waiting: float = 0.0
    waiting_share: float = 1.0
    kv_usage: float = 0.4
    kv_full: float = 0.0
    kv_capacity: float = 20_000
    stall: float = 0.0
    preemptions: float = 0.0
    cpu: float = 0.4
    throttled: float = 0.0
    lost: float = 0.0
    refused: float | None = None
    counted: float = 0.0
    skew: float = 0.0


def served(**means: float) -> Served:
    """A healthy window, but for these means."""
    return replace(Served(), **means)


def stretch(world: Served, start: int, blocks: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Requests and series of one window that starts at `start` (Unix ns, a multiple of a block)."""
    drift = np.repeat(rng.lognormal(0, DRIFT, blocks), 2)
    state = _state(world, start, 2 * blocks, rng)
    bucket = np.repeat(np.arange(2 * blocks), rng.poisson(world.per_block / 2, 2 * blocks))
    rows = _work(world, len(bucket), rng) | _flight(world, len(bucket), rng)
    rows["start"] = np.sort(start + bucket * BUCKET_NS + rng.integers(0, BUCKET_NS, len(bucket)))
    stalled = state[n.KV_PRESSURE.name][bucket]
    rows |= _ledger(world, rows, stalled, drift[bucket], (rows["start"] - start) / 1e9, rng)
    rows |= _timed(rows)
    kept, waited = _arriving(world, rows, rng), rows.pop("waited")
    rows |= _told(world, rows, np.random.default_rng(start // BUCKET_NS))
    state |= _measured(world, rows, bucket, 2 * blocks) | _pool(world, rows, waited, bucket, 2 * blocks)
    if world.counted:
        state[n.TRACED_SHARE.name] = _mean(kept.astype(float), bucket, 2 * blocks)
    return _frame(rows, start, kept), _frame(state)


def _state(world: Served, start: int, count: int, rng: np.random.Generator) -> Columns:
    """The engine and its host, bucket by bucket."""
    full = rng.random(count) < world.kv_full
    crowded = rng.random(count) < world.waiting_share
    waiting = np.where(crowded, rng.poisson(world.waiting, count) + (world.waiting > 0), 0) + full
    running = np.where(waiting > 0, world.running_cap, rng.poisson(world.running, count))
    usage = np.clip(rng.normal(world.kv_usage, 0.04, count), 0, 0.89)
    return {
        "start": start + np.arange(count) * BUCKET_NS,
        n.RUNNING.name: np.minimum(running, world.running_cap).astype(float),
        n.RUNNING_WHILE_WAITING.name: np.where(waiting > 0, np.minimum(running, world.running_cap), np.nan),
        n.WAITING.name: waiting.astype(float),
        n.PREEMPTIONS.name: np.where(full, world.preemptions, 0.0),
        n.KV_CACHE_USAGE.name: np.where(full, rng.uniform(0.95, 1.0, count), usage),
        n.KV_PRESSURE.name: full.astype(float),
        n.KV_CACHE_CAPACITY.name: np.full(count, world.kv_capacity),
        n.HOST_CPU.name: (cpu := np.clip(rng.normal(world.cpu, 0.05, count), 0, 1)),
        n.HOST_CPU_LEFT.name: 1 - cpu,
        n.CPU_THROTTLED.name: np.full(count, world.throttled),
        **({} if world.refused is None else {n.TELEMETRY_REFUSED.name: np.full(count, world.refused)}),
    }


def _work(world: Served, count: int, rng: np.random.Generator) -> Columns:
    """What the requests ask for, who serves them, and how they fare."""
    empty = rng.random(count) < world.empty
    tokens = np.ceil(_around(world.input_tokens, 0.4, count, rng) * np.where(empty, 0.4, 1.0))
    too_long = tokens > world.context_limit
    return {
        n.INPUT_TOKENS.name: tokens,
        n.OUTPUT_TOKENS.name: np.ceil(_around(world.output_tokens, 0.4, count, rng)) + 1,
        n.MAX_TOKENS.name: np.full(count, world.max_tokens),
        n.CACHED_SHARE.name: np.clip(world.cached * _around(1, 0.1, count, rng), 0, 1),
        n.ATTEMPTS.name: 1.0 + rng.poisson(world.retries, count),
        n.RETRIEVED.name: np.where(empty, 0.0, rng.integers(3, 6, count)),
        n.EMPTY_RETRIEVAL.name: empty.astype(float),
        n.ERROR.name: (failing := rng.random(count)),
        "too_long": too_long,
        "attribute.service.version": (version := np.where(rng.random(count) < world.new_version, "1.5.0", "1.4.0")),
        "attribute.tenant": rng.choice(["acme", "globex", "initech"], count),
    } | {n.ERROR.name: _failed(world, failing, version, too_long)}


def _failed(world: Served, draw: np.ndarray, version: np.ndarray, too_long: np.ndarray) -> np.ndarray:
    chance = world.errors + np.where(version == "1.5.0", world.new_version_errors, 0.0)
    return (too_long | (draw < chance)).astype(float)


def _flight(world: Served, count: int, rng: np.random.Generator) -> Columns:
    """How many calls are open at the clients, and how many of them the pool lets through to the server."""
    calls = rng.poisson(world.calls_open, count).astype(float)
    at_server = np.minimum(calls, world.pool_size)
    return {
        n.CALLS_IN_FLIGHT.name: calls,
        n.SERVER_IN_FLIGHT.name: at_server,
        n.CALLS_QUEUED.name: calls - at_server,
        n.IN_FLIGHT.name: calls + 1,
    }


def _ledger(
    world: Served,
    rows: Columns,
    stalled: np.ndarray,
    drift: np.ndarray,
    elapsed: np.ndarray,
    rng: np.random.Generator,
) -> Columns:
    """Seconds by part; what fails ends after a twentieth of the time."""
    around = lambda mean: _around(mean, 0.3, len(elapsed), rng)  # noqa: E731
    outbound = around(0.2 * world.network)
    waited = rows[n.CALLS_QUEUED.name] * around(world.wait_per_queued)
    outbound = outbound + waited
    slower = np.where(rows["attribute.service.version"] == "1.5.0", world.new_version_slower, 1.0)
    parts = {
        n.GATEWAY.name: around(world.gateway),
        n.RETRY.name: (rows[n.ATTEMPTS.name] - 1) * around(world.retry_cost),
        n.RETRIEVAL.name: around(world.retrieval),
        **({n.RERANK.name: around(world.rerank)} if world.rerank else {}),
        n.QUEUE.name: around(world.queue) + stalled * around(world.stall),
        n.PREFILL.name: rows[n.INPUT_TOKENS.name] * world.prefill_per_token * around(1) * slower,
        n.DECODE.name: (rows[n.OUTPUT_TOKENS.name] - 1) * world.time_per_output_token * around(1) * slower,
        n.NETWORK.name: outbound + around(0.8 * world.network),
        n.REMAINDER.name: around(world.remainder) + world.warm_up * np.exp(-elapsed / 15),
        n.OUTBOUND.name: outbound,
        "waited": waited,
    }
    scale = drift * np.where(rows[n.ERROR.name] > 0, FAILED_FAST, 1.0)
    return {name: part * scale for name, part in parts.items()}


def _timed(rows: Columns) -> Columns:
    """Latencies and costs per token that follow from the parts."""
    latency = np.sum([part for name, part in rows.items() if name.startswith("ledger.")], axis=0)
    server = rows[n.QUEUE.name] + rows[n.PREFILL.name] + rows[n.DECODE.name]
    return {
        "end": rows["start"] + (1e9 * latency).astype(np.int64),
        n.LATENCY.name: latency,
        n.SERVER_LATENCY.name: server,
        n.CLIENT_LATENCY.name: server + rows[n.NETWORK.name],
        n.HOST_SIDE.name: rows[n.NETWORK.name] + rows[n.GATEWAY.name] + rows[n.REMAINDER.name],
        n.PREFILL_PER_TOKEN.name: rows[n.PREFILL.name] / rows[n.INPUT_TOKENS.name],
        n.TIME_PER_OUTPUT_TOKEN.name: rows[n.DECODE.name] / (rows[n.OUTPUT_TOKENS.name] - 1),
    }


def _generated(world: Served, wanted: np.ndarray) -> np.ndarray:
    """Tokens a second; at the plateau, which wavers by itself, no more come out however many are asked for."""
    if world.plateau == float("inf"):
        return wanted
    return np.asarray(world.plateau * np.random.default_rng(7).lognormal(0, 0.03, len(wanted)))


def _measured(world: Served, rows: Columns, bucket: np.ndarray, count: int) -> Columns:
    """The metrics of each bucket: they count every request, also those whose trace is lost."""
    arrived = np.bincount(bucket, minlength=count).astype(float)
    seconds = np.bincount(bucket, rows[n.LATENCY.name], count)
    return {
        n.ARRIVAL_RATE.name: arrived / 5,
        n.OFFERED_LOAD.name: np.bincount(bucket, rows[n.ATTEMPTS.name], count) / 5,
        n.GOODPUT.name: np.bincount(bucket, 1 - rows[n.ERROR.name], count) / 5,
        n.PREFIX_QUERIES.name: np.bincount(bucket, rows[n.INPUT_TOKENS.name], count) / 5,
        n.GENERATION_THROUGHPUT.name: _generated(world, np.bincount(bucket, rows[n.OUTPUT_TOKENS.name], count) / 5),
        n.LATENCY.name: np.divide(seconds, arrived, out=np.full(count, np.nan), where=arrived > 0),
        f"n.{n.LATENCY.name}": arrived,
    }


def _mean(values: np.ndarray, bucket: np.ndarray, count: int) -> np.ndarray:
    """Mean of the rows of each bucket; unknown in an empty one."""
    many = np.bincount(bucket, minlength=count).astype(float)
    return np.asarray(np.divide(np.bincount(bucket, values, count), many, out=np.full(count, np.nan), where=many > 0))


def _told(world: Served, rows: Columns, rng: np.random.Generator) -> Columns:
    """What follows from a request or is said about it; its chance is its own, so that older worlds stay as they are."""
    count = len(rows["start"])
    given_up = world.timeout * rng.lognormal(0, world.timeout_spread, count)
    told = {
        n.GIVEN_UP.name: np.where(rows[n.ATTEMPTS.name] > 1, given_up, np.nan),
        n.COMPUTED_TOKENS.name: rows[n.INPUT_TOKENS.name] * (1 - rows[n.CACHED_SHARE.name]),
        n.ENGINE_HOST.name: rows[n.REMAINDER.name],
        n.MODEL_ERROR.name: rows[n.ERROR.name] if world.model_fails else np.zeros(count),
        n.CLOCK_SKEW.name: np.full(count, world.skew),
    }
    stopped = {} if world.truncated is None else {n.TRUNCATED.name: (rng.random(count) < world.truncated).astype(float)}
    return told | stopped


def _pool(world: Served, rows: Columns, waited: np.ndarray, bucket: np.ndarray, count: int) -> Columns:
    """What a pool reports of itself, where it does."""
    if not world.pool_reports:
        return {}
    in_use = np.minimum(rows[n.SERVER_IN_FLIGHT.name] + 1, world.pool_size) / world.pool_size
    return {
        n.POOL_WAIT.name: _mean(waited, bucket, count),
        n.POOL_SHARE.name: _mean(in_use, bucket, count),
    }


def _arriving(world: Served, rows: Columns, rng: np.random.Generator) -> np.ndarray:
    """Lost telemetry takes the fastest traces (as tail sampling does) and tears some of the rest."""
    latency = rows[n.LATENCY.name]
    rows[n.TELEMETRY_LOST.name] = (rng.random(len(latency)) < world.lost).astype(float)
    return np.asarray(latency >= np.quantile(latency, world.lost))


def _frame(columns: Columns, start: int = 0, kept: np.ndarray | None = None) -> pd.DataFrame:
    frame = pd.DataFrame({"host": HOST, "service": "chat", **columns})
    if kept is None:
        return frame.drop(columns="service")
    frame.insert(0, "trace_id", [f"{start:x}-{i:05d}" for i in range(len(frame))])
    return frame[kept]


def _around(mean: float, sigma: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Log-normal values with this mean."""
    return np.asarray(mean * rng.lognormal(-(sigma**2) / 2, sigma, count))
