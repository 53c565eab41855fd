"""Worlds for `prompt_truncation`."""

from dataclasses import replace

import numpy as np
import pandas as pd

from correlator.join.prompt_limits import with_prompt_limits
from correlator.model.evidence import INCIDENT, Evidence
from correlator.model.findings import Verdict
from correlator.model.names import ANSWER_SHORTFALL, INPUT_TOKENS, PROMPT_AT_LIMIT, Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, seen, served, unseen, window
from tests.hypotheses.failing import around, measured

TOLD = tuple(event(Events.PROMPT_TRUNCATED, after) for after in range(2, 110, 3))
LIMIT = 300


def cut(evidence: Evidence, limit: float = LIMIT, worse: float = 0.4, others: float = 0.0) -> Evidence:
    """Prompts of the incident that are cut to a limit, and by how much their answers and the others are worse."""
    rows, rng = evidence.requests, np.random.default_rng(12)
    during, tokens = rows["period"] == INCIDENT, rows[INPUT_TOKENS.name]
    longer = during & (tokens > limit)
    lack = 0.2 * rng.lognormal(0, 0.2, len(rows)) + worse * longer + others * during
    columns = {INPUT_TOKENS.name: tokens.mask(longer, limit), ANSWER_SHORTFALL.name: lack}
    return seen(replace(evidence, requests=with_prompt_limits(pd.DataFrame(rows.assign(**columns)))))


CUT = cut(window(served(), then=served()))

CASES = {
    "long_prompts_are_cut_and_their_answers_worse": Case(CUT, Verdict.SUPPORTED),
    "the_engine_tells_of_it": Case(cut(window(served(), then=served(), events=TOLD), others=0.06), Verdict.SUPPORTED),
    "all_answers_are_worse_alike": Case(
        cut(window(served(per_block=40), then=served(per_block=40)), worse=0.0, others=0.3),
        Verdict.REFUTED,
        by="worse_for_those",
    ),
    "no_prompt_is_cut": Case(
        cut(window(served(), then=served()), limit=1e6, others=0.3),
        Verdict.REFUTED,
        by="more_prompts_have_one_greatest_length",
    ),
    "searches_come_back_empty": Case(
        cut(window(served(), then=served(empty=0.5)), worse=0.0), Verdict.REFUTED, by="answers_are_worse"
    ),
    "everything_is_slow": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="explains_the_symptom"),
    "prompts_were_not_counted": Case(
        unseen(CUT, INPUT_TOKENS, PROMPT_AT_LIMIT), Verdict.UNTESTABLE, missing=PROMPT_AT_LIMIT
    ),
    "nobody_marks_the_answers": Case(unseen(CUT, ANSWER_SHORTFALL), Verdict.UNTESTABLE, missing=ANSWER_SHORTFALL),
    "others_are_a_little_worse_and_no_log_was_kept": Case(
        cut(window(served(), then=served(), watched=ALL_SOURCES - {"engine_log"}), others=0.06),
        Verdict.UNTESTABLE,
        missing="engine_log",
    ),
    "the_engine_is_silent": Case(
        measured(window(served(), then=served()), {ANSWER_SHORTFALL: around(0.2, 0.2)}),
        Verdict.UNTESTABLE,
        missing=PROMPT_AT_LIMIT,
    ),
}
