"""What the calls of the model tell of a request, seen from both ends: tokens, times, tries."""

from __future__ import annotations

import numpy as np

from correlator.join.answers import degenerate, first_tokens, truncated
from correlator.join.arrays import Bools, Columns, Floats, numbers
from correlator.join.traced import Traced
from correlator.model import names as n

COUNTED = (n.INPUT_TOKENS, n.OUTPUT_TOKENS, n.CACHED_INPUT_TOKENS, n.MAX_TOKENS)
SKEW_S = 0.001
"""A server span may start this much before its client's: the resolution of two clocks kept by NTP on a LAN."""


def model_calls(requests: Traced) -> Columns:
    """Columns of the calls that were not tried again, and how often the others were; the client's counts come first."""
    by, last = requests.by, ~requests.marks("retried")
    calls, serves = requests.calls & last, requests.serves & last
    ahead, duration = _ahead(requests), requests.floats("duration") / 1e9
    return {
        **{signal.name: _counted(requests.floats(signal.name), requests, calls, serves) for signal in COUNTED},
        n.CLIENT_LATENCY.name: by.sum(duration, calls),
        n.SERVER_LATENCY.name: by.sum(duration, serves),
        n.TIME_TO_FIRST_TOKEN.name: by.first(requests.floats(n.TIME_TO_FIRST_TOKEN.name), serves),
        n.TRUNCATED.name: truncated(requests, calls | serves),
        n.DEGENERATE.name: degenerate(requests, calls | serves),
        **first_tokens(requests, calls, serves),
        "model": by.last_text(requests.spans["model"], calls | serves),
        n.MODEL_ERROR.name: by.max(requests.failed.astype(float), calls | serves),
        n.OUTBOUND.name: by.sum(np.maximum(ahead, 0), serves & (ahead > -SKEW_S)),
        n.CLOCK_SKEW.name: by.max(np.maximum(-ahead, 0), serves),
        n.GIVEN_UP.name: by.max(requests.floats("given_up"), requests.everything),
        n.ATTEMPTS.name: _attempts(requests, calls),
    }


def _counted(values: Floats, requests: Traced, calls: Bools, serves: Bools) -> Floats:
    client, server = (requests.by.sum(values, side) for side in (calls, serves))
    return np.where(np.isnan(client), server, client)


def _ahead(requests: Traced) -> Floats:
    """Seconds by which the client's call began before the server's side of it; negative where the clocks disagree."""
    start, parent = requests.floats("start"), requests.ints("parent")
    called = (parent >= 0) & requests.calls[parent]
    return np.where(called, (start - start[parent]) / 1e9, np.nan)


def _attempts(requests: Traced, last: Bools) -> Floats:
    """Tries per logical model call, of which `last` are the last tries.

    Unknown for a trace with neither the serving side, nor a resend count, nor a repeated call: a client library
    retries inside its one span.
    """
    by = requests.by
    served = by.size(requests.serves)
    tries, logical = np.maximum(by.size(requests.calls), served), np.maximum(by.size(last), 1)
    resent = by.max(numbers(requests.spans["resend"]), requests.everything)
    known = (served > 0) | ~np.isnan(resent) | (tries > logical)
    return np.where(known & (tries > 0), np.fmax(tries / logical, resent + 1), np.nan)
