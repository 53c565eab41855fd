"""What the two ends of a model call tell of its answer: whether it was cut or looped, and when the client had it."""

from __future__ import annotations

import re

import numpy as np

from correlator.join.arrays import Bools, Columns, Floats, asked_once, positive
from correlator.join.traced import Traced
from correlator.model import names as n

CUT = re.compile("length|max_tokens", re.IGNORECASE)


def truncated(requests: Traced, ends: Bools) -> Floats:
    """1 where an answer ended at its limit: it says so, or has as many tokens as were allowed, which clients relabel.

    Unknown where neither the reason nor both counts were told. `ends` are both sides of the calls.
    """
    tokens, room = requests.floats(n.OUTPUT_TOKENS.name), requests.floats(n.MAX_TOKENS.name)
    cut = asked_once(requests.spans["finish_reason"], lambda text: CUT.search(text) is not None)
    told = ~requests.being("finish_reason", "") | ~np.isnan(tokens + room)
    return requests.by.max((cut | (tokens >= positive(room))).astype(float), ends & told)


def degenerate(requests: Traced, ends: Bools) -> Floats:
    """1 where the engine ended an answer since it repeated itself.

    Unknown where no answer of all ended so: engines look for it only where they are asked to.
    """
    looped = asked_once(requests.spans["finish_reason"], lambda text: "repetition" in text.lower())
    told = ~requests.being("finish_reason", "") & bool((looped & ends).any())
    return requests.by.max(looped.astype(float), ends & told)


def first_tokens(requests: Traced, calls: Bools, serves: Bools) -> Columns:
    """How late the client had the engine's first token, and how fast the others then came."""
    waited = requests.floats(n.TIME_TO_FIRST_TOKEN.name)
    first = requests.floats("start") + waited * 1e9
    had, served = (requests.by.first(first, side) for side in (calls, serves))
    rest = requests.floats("duration") / 1e9 - waited
    others = positive(requests.floats(n.OUTPUT_TOKENS.name) - 1)
    return {
        n.FIRST_TOKEN_HELD.name: np.maximum((had - served) / 1e9, 0),
        n.CLIENT_PER_TOKEN.name: requests.by.mean(rest / others, calls),
    }
