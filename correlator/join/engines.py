"""What the engines' own figures imply: how large each one's batch is, how long a token takes, how much the pool holds.

A batch of R requests that produces X tokens a second gives each of them a token every R / X seconds. That is no
estimate but what the mean time per output token is, as long as R is read often enough.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from correlator.model import names as n
from correlator.model.evidence import Fact

OFTEN = 2
"""Readings of the running batch in a stretch of 5 s from which their mean stands for it. Of one snapshot (a line of a
log every ten seconds) the error was as large as the effects on the recordings."""


def with_batch(points: pd.DataFrame, wide: pd.DataFrame, bucket_ns: int) -> pd.DataFrame:
    """Number of engines, batch of one engine, and time per output token where nobody measured it.

    Batch and time are weighed by tokens: the batch that a token was made in, not what an engine that drains has left.
    """
    running = points[points["signal"] == n.RUNNING.name]
    if running.empty:
        return wide
    running = running[running["rank"] == running["rank"].min()]
    by_bucket = running.groupby(running["start"] // bucket_ns)
    engines = by_bucket["series"].nunique().reindex(wide.index)
    wide = wide.assign(**{n.ENGINES.name: engines, n.BATCH_SIZE.name: wide[n.RUNNING.name] / engines})
    if n.GENERATION_THROUGHPUT.name in wide:
        wide = wide.assign(**{f"n.{n.BATCH_SIZE.name}": wide[n.GENERATION_THROUGHPUT.name]})
    if n.TIME_PER_OUTPUT_TOKEN.name in wide or n.GENERATION_THROUGHPUT.name not in wide:
        return wide
    often = by_bucket["start"].nunique().reindex(wide.index) >= OFTEN
    tokens = wide[n.GENERATION_THROUGHPUT.name].where(lambda rate: often & (rate > 0))
    per_token = (wide[n.RUNNING.name] / tokens).where(lambda s: s > 0)
    weight = tokens.where(per_token.notna())
    if weight.notna().sum() == 0:
        return wide
    return wide.assign(**{n.TIME_PER_OUTPUT_TOKEN.name: per_token, f"n.{n.TIME_PER_OUTPUT_TOKEN.name}": weight})


def capacity(facts: Iterable[Fact]) -> list[Fact]:
    """Tokens that the KV pool holds, from its blocks, for engines that do not tell tokens."""
    facts = list(facts)
    if any(fact.name == "engine.kv_cache_tokens" for fact in facts):
        return facts
    sizes = {fact.resource: fact.value for fact in facts if fact.name == "engine.block_size"}
    usual = next(iter(sizes.values()), "")
    blocks = [fact for fact in facts if fact.name == "engine.num_gpu_blocks"]
    tokens = [(fact, _product(fact.value, sizes.get(fact.resource, usual))) for fact in blocks]
    return [*facts, *(Fact("engine.kv_cache_tokens", f"{t}", f.unix_nano, f.resource) for f, t in tokens if t)]


def _product(blocks: str, size: str) -> int | None:
    try:
        return int(blocks) * int(size)
    except ValueError:
        return None
