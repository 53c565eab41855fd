"""Predictions about the model's context length: what is refused does not fit, and what fits is answered."""

from __future__ import annotations

import pandas as pd

from correlator.model.effects import MIN_BLOCKS, difference
from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import CONTEXT_ERROR, CONTEXT_LIMIT, ERROR, INPUT_TOKENS, MAX_TOKENS, REQUESTED_TOKENS
from correlator.model.worth import ERROR_SHARE
from hypotheses._contract import Test
from hypotheses._decide import spelled
from hypotheses._facts import in_force, number
from hypotheses._frames import too_few_blocks, untestable
from hypotheses._levels import share_of_blocks

MAX_MODEL_LEN = "engine.max_model_len"


def refusals_exceed_context() -> Test:
    """What was refused for its length asks for more tokens than the model takes."""

    def read(evidence: Evidence) -> Reading:
        filled = _with_fill(evidence)
        if isinstance(filled, Reading):
            return filled
        rows = filled[(filled[CONTEXT_ERROR.name] > 0) & filled["fill"].notna() & (filled["period"] == INCIDENT)]
        blocks = rows["block"].nunique()
        if not blocks:
            return untestable((REQUESTED_TOKENS.name,), "no refusal says how many tokens it counted")
        over = share_of_blocks(rows, rows["fill"] > 1)
        text = f"{over:.0%} of {len(rows)} refused requests asked for more than the model takes"
        held = over > 0.95 and blocks >= MIN_BLOCKS
        outcome = Outcome.HELD if held else Outcome.FAILED if over < 0.5 else Outcome.INCONCLUSIVE
        return Reading(outcome, text, None, None, blocks)

    return Test("refused requests ask for more tokens than the model takes", read, (CONTEXT_ERROR, INPUT_TOKENS))


def fitting_requests_succeed() -> Test:
    """Requests not known to exceed the model's context fail no more often than before."""

    def read(evidence: Evidence) -> Reading:
        filled = _with_fill(evidence)
        if isinstance(filled, Reading):
            return filled
        refused = filled[CONTEXT_ERROR.name] > 0
        fitting = filled[~(filled["fill"] > 1) & ~(refused & filled["fill"].isna())]
        effect = difference(fitting, ERROR.name)
        if effect is None:
            return too_few_blocks()
        interval = effect.interval
        held, failed = interval.value < ERROR_SHARE and interval.high < 2 * ERROR_SHARE, interval.low > ERROR_SHARE
        outcome = Outcome.HELD if held else Outcome.FAILED if failed else Outcome.INCONCLUSIVE
        text = f"errors of requests not known to exceed it {spelled(interval)}"
        return Reading(outcome, text, interval, None, effect.blocks)

    return Test("requests under the model's limit do not fail", read, (CONTEXT_ERROR, INPUT_TOKENS, ERROR))


def _with_fill(evidence: Evidence) -> pd.DataFrame | Reading:
    """Requests with `fill`: prompt and room for the answer over the context length; a refusal's own counts first."""
    rows, empty = evidence.numbers[0], pd.Series(float("nan"), evidence.requests.index)
    missing = tuple(s.name for s in (CONTEXT_ERROR, ERROR) if s.name not in evidence.compared[0])
    if missing:
        return untestable(missing)
    column = {s: rows.get(s.name, empty) for s in (REQUESTED_TOKENS, CONTEXT_LIMIT, INPUT_TOKENS, MAX_TOKENS)}
    asked = column[REQUESTED_TOKENS].fillna(column[INPUT_TOKENS] + column[MAX_TOKENS].fillna(0))
    stated = number(in_force(evidence, (MAX_MODEL_LEN,))[1].get(MAX_MODEL_LEN))
    limit = column[CONTEXT_LIMIT].fillna(stated if stated is not None else column[CONTEXT_LIMIT].min())
    if limit.isna().all():
        return untestable((MAX_MODEL_LEN,), "the model's context length is not known")
    if asked.isna().all():
        return untestable((INPUT_TOKENS.name,))
    return rows.assign(fill=asked / limit)
