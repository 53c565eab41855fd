"""The latency ledger of each request: own time by part. A part nobody measured in a trace is unknown there, not 0."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.arrays import Columns, Floats, Grouped
from correlator.join.traced import Traced
from correlator.model import names as n
from correlator.model.evidence import BLOCK_NS

STEPS = {
    r.RETRIEVAL: n.RETRIEVAL.name,
    r.RERANK: n.RERANK.name,
    r.POOL_WAIT: n.POOL_WAIT.name,
    r.STORE_WAIT: n.STORE_WAIT.name,
    r.DEPENDENCY: n.DEPENDENCY.name,
}
"""Roles whose spans' own time is a part of the ledger by that name."""


def parts(requests: Traced) -> Columns:
    """Seconds of each part; those that are known add up to the request's latency.

    Where the engine's side was not seen, the call cannot be told apart: it is remainder, not network.
    """
    spent, engine, block = _spent(requests), _engine(requests), _block(requests)
    sure = {part: np.nan_to_num(seconds) for part, seconds in spent.items()}
    told, blind = sum(map(np.nan_to_num, engine.values())), ~requests.by.any(requests.serves)
    between = requests.by.sum(requests.floats("between"), requests.everything)
    whole = {
        n.GATEWAY.name: sure[n.GATEWAY.name],
        n.NETWORK.name: np.where(blind, np.nan, spent[n.NETWORK.name]),
        n.REMAINDER.name: sure[n.REMAINDER.name] - told + np.where(blind, sure[n.NETWORK.name], 0.0),
        n.RETRY.name: sure[n.RETRY.name] + between,
    }
    steps = {part: _zero_where_traced(spent[part], block) for part in STEPS.values()}
    return dict(sorted((whole | steps).items())) | engine


def _spent(requests: Traced) -> Columns:
    """Own time by the role of the span; without one, by whether the service is that which was asked."""
    own, retry = requests.floats("own") - requests.floats("between"), requests.marks("in_retry")
    service = pd.factorize(requests.spans["service"])[0]
    entry = service == service[requests.roots][requests.by.codes]
    plain = requests.being("role", r.OTHER)
    spans = {
        n.GATEWAY.name: plain & entry,
        n.NETWORK.name: requests.being("role", r.CLIENT),
        n.REMAINDER.name: requests.being("role", r.SERVER) | (plain & ~entry),
        **{part: requests.being("role", role) for role, part in STEPS.items()},
    }
    spent = {part: requests.by.sum(own, its & ~retry) for part, its in spans.items()}
    return spent | {n.RETRY.name: requests.by.sum(own, retry)}


def _engine(requests: Traced) -> Columns:
    """Queue, prefill and decode as the engine reported them, scaled where they exceed its own time."""
    serves = requests.serves & ~requests.marks("in_retry")
    told = {s.name: requests.by.sum(requests.floats(s.name), serves) for s in (n.QUEUE, n.PREFILL, n.DECODE)}
    own = requests.by.sum(requests.floats("own"), serves)
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.minimum(own / sum(map(np.nan_to_num, told.values())), 1.0)
    return {part: seconds * fit for part, seconds in told.items()}


def _block(requests: Traced) -> Grouped:
    """The 10 s in which the first span of each request began."""
    begun = np.full(len(requests.roots), np.iinfo(np.int64).max)
    np.minimum.at(begun, requests.by.codes, requests.ints("start"))
    blocks, codes = np.unique(begun // BLOCK_NS, return_inverse=True)
    return Grouped(codes, len(blocks))


def _zero_where_traced(part: Floats, block: Grouped) -> Floats:
    """A step that a request did not take costs it nothing, if others of its 10 s show that the step is traced."""
    known = ~np.isnan(part)
    return np.where(known | ~block.any(known)[block.codes], part, 0.0)
