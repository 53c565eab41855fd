"""What accounts for slow tokens where no request's latency was measured, only tokens, batch and queue.

Tokens per second are the batch over the time per output token: X = R / T. So a fall of X is a smaller batch (requests
were kept waiting), a longer T (each token took longer), or some of both, and their logarithms add up.
"""

from __future__ import annotations

from math import log

from correlator.model.effects import ratio
from correlator.model.evidence import Evidence, Interval
from correlator.model.findings import Outcome, Reading
from correlator.model.names import (
    DECODE,
    GENERATION_THROUGHPUT,
    PREFILL,
    QUEUE,
    RUNNING,
    TIME_PER_OUTPUT_TOKEN,
    Signal,
    part_name,
)
from hypotheses._frames import frame_with, too_few_blocks

BATCH, TOKEN = frozenset({QUEUE}), frozenset({DECODE, PREFILL})
"""Waiting outside the batch makes it smaller; what happens inside makes a token longer (prefill of others is between
two tokens of a request, too)."""


def decoding_accounts(parts: tuple[Signal, ...]) -> Reading:
    """Time between tokens is spent in decoding, whatever the cause; waiting before the first is no part of it."""
    named = " + ".join(part_name(p) for p in parts)
    if DECODE in parts:
        return Reading(Outcome.HELD, f"time per output token is time in decode, one of {named}")
    return Reading(Outcome.FAILED, f"time per output token is spent in decode, not in {named}")


def batch_accounts(evidence: Evidence, parts: tuple[Signal, ...], at_least: float) -> Reading:
    """The share of the fall of tokens per second that the batch (queue) or the time per token (decode) makes up."""
    frame = frame_with(evidence, GENERATION_THROUGHPUT, RUNNING, TIME_PER_OUTPUT_TOKEN)
    if isinstance(frame, Reading):
        return frame
    rows = frame.rows
    fell, batch = (ratio(rows, s.name, "mean", frame.weight(s)) for s in (GENERATION_THROUGHPUT, RUNNING))
    if fell is None or batch is None:
        return too_few_blocks()
    if not BATCH & set(parts) and not TOKEN & set(parts):
        return Reading(
            Outcome.FAILED, f"tokens per second fell {_by(fell.interval)}: batch and time per token make it up"
        )
    of_batch = _share(batch.interval, fell.interval)
    share = _sum(of_batch, parts)
    held = share.value >= at_least and share.low > 0
    outcome = Outcome.HELD if held else Outcome.FAILED if share.high < at_least else Outcome.INCONCLUSIVE
    text = f"tokens per second {_by(fell.interval)}, batch {_by(batch.interval)}: {share.value:.0%} of the fall"
    return Reading(outcome, text, share, None, fell.blocks)


def _share(batch: Interval, fell: Interval) -> Interval:
    """Of the batch: log over log. The fall's own error moves both alike, so only the batch's is carried."""
    whole = log(max(fell.value, 1e-9))
    if whole >= 0:
        return Interval(0.0, 0.0, 0.0, "1")
    ends = sorted(log(max(x, 1e-9)) / whole for x in (batch.low, batch.high))
    return Interval(log(max(batch.value, 1e-9)) / whole, ends[0], ends[1], "1")


def _sum(of_batch: Interval, parts: tuple[Signal, ...]) -> Interval:
    """What the parts make up, between nothing and all of it: a batch can shrink while tokens get faster."""
    if BATCH & set(parts) and TOKEN & set(parts):
        return Interval(1.0, 1.0, 1.0, "1")
    bounded = [min(max(x, 0.0), 1.0) for x in (of_batch.value, of_batch.low, of_batch.high)]
    if BATCH & set(parts):
        return Interval(bounded[0], bounded[1], bounded[2], "1")
    return Interval(1 - bounded[0], 1 - bounded[2], 1 - bounded[1], "1")


def _by(interval: Interval) -> str:
    return f"×{interval.value:.2g}"
