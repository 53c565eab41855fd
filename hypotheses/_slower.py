"""Tokens that take longer, also where nobody measured how long one takes: a batch of R requests that brings X tokens a
second gives each of them one every R / X seconds, so X that falls while R does not is slower tokens."""

from __future__ import annotations

import pandas as pd

from correlator.model.effects import TAIL, rank_correlation
from correlator.model.evidence import Evidence, Kind
from correlator.model.findings import Outcome, Reading
from correlator.model.names import GENERATION_THROUGHPUT, RUNNING, TIME_PER_OUTPUT_TOKEN, Signal
from hypotheses._combine import by_kind, together
from hypotheses._contract import Test
from hypotheses._decide import Direction, spelled
from hypotheses._frames import frame_with, too_few_blocks
from hypotheses._predict import not_fallen, shifted
from hypotheses._relations import CORRELATION, accounts_for, rises_with

HELD_BATCH = 1.1
"""A batch that fell by less leaves the fall of tokens to the time each takes."""


def tokens_slower(at_least: float) -> Test:
    """Each token took longer by this ratio; where that was not measured, fewer came by it from as large a batch."""
    return _or_else(shifted(TIME_PER_OUTPUT_TOKEN, Direction.UP, at_least), _fewer_tokens(at_least))


def slower_with(cause: Signal) -> Test:
    """The more of the cause, the longer a token takes; where that was not measured, batch over tokens per second."""
    return _or_else(rises_with(TIME_PER_OUTPUT_TOKEN, cause), _batch_over_tokens(cause))


def engine_accounts(*parts: Signal) -> Test:
    """A fifth of the symptom lies in these parts; fewer tokens a second from as large a batch lie in their slowness."""
    usual = accounts_for(*parts, at_least=0.2)
    return by_kind(usual, {Kind.THROUGHPUT: _or_else(usual, _fewer_tokens(HELD_BATCH))})


def _or_else(measured: Test, implied: Test) -> Test:
    """What was measured counts; without it, what implies the same. That this does not hold then means nothing: a load
    that waits for nobody brings as many tokens from a larger batch."""

    def read(evidence: Evidence) -> Reading:
        reading = measured.read(evidence)
        if reading.outcome is not Outcome.UNTESTABLE:
            return reading
        other = implied.read(evidence)
        return other if other.outcome is Outcome.HELD else reading

    return Test(measured.statement, read, measured.signals, measured.measures_share)


def _fewer_tokens(at_least: float) -> Test:
    return together(shifted(GENERATION_THROUGHPUT, Direction.DOWN, at_least), not_fallen(RUNNING, within=HELD_BATCH))


def _batch_over_tokens(cause: Signal) -> Test:
    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, GENERATION_THROUGHPUT, RUNNING, cause)
        if isinstance(frame, Reading):
            return frame
        found = rank_correlation(_by_block(frame.rows, cause), "per_token", cause.name)
        if found is None:
            return too_few_blocks()
        held = found.interval.value >= CORRELATION and found.p_above <= TAIL
        text = f"rank correlation of batch over tokens per second with {cause.name} {spelled(found.interval)}"
        outcome = Outcome.HELD if held else Outcome.INCONCLUSIVE
        return Reading(outcome, text, found.interval, found.p_above, found.blocks)

    return Test(f"batch over tokens per second rises with {cause.name}", read)


def _by_block(rows: pd.DataFrame, cause: Signal) -> pd.DataFrame:
    """Means by block: a log tells of requests and of batches at different moments of it."""
    compared = rows[rows["period"] != ""]
    blocks = compared.assign(block=compared["block"].astype(str)).groupby("block")
    means = blocks[[RUNNING.name, GENERATION_THROUGHPUT.name, cause.name]].mean().reset_index()
    tokens = means[GENERATION_THROUGHPUT.name]
    return means.assign(per_token=means[RUNNING.name] / tokens.where(tokens > 0))
