"""What evaluators found of answers, as `gen_ai.evaluation.result` events or spans of OpenTelemetry tell it."""

from __future__ import annotations

import re

import pandas as pd

from correlator.join.within import Within, during
from correlator.model import names as n
from correlator.store import Store

RESULT = "gen_ai.evaluation.result"
LIMIT = 50_000
"""Results read; what lies beyond is not looked at."""
HIGH_IS_BAD = re.compile(r"hallucin|toxi|violen|hate|harm|bias|error|perplex|risk|distance", re.IGNORECASE)
"""Evaluators that give more the worse an answer is."""


def evaluations(store: Store, spans: pd.DataFrame, within: Within) -> pd.DataFrame:
    """Results with a score, those of events and those of spans: trace, name of the evaluator, score."""
    told = store.query(
        f"""SELECT TraceId AS trace_id, LogAttributes['gen_ai.evaluation.name'] AS name,
                   toFloat64OrNull(LogAttributes['gen_ai.evaluation.score.value']) AS score
            FROM otel_logs WHERE (EventName = '{RESULT}' OR LogAttributes['event.name'] = '{RESULT}')
                AND TraceId != '' AND {during("Timestamp", within)}
            ORDER BY Timestamp, trace_id, name LIMIT {LIMIT}"""
    )
    columns = {"trace_id": "trace_id", "evaluation": "name", n.ANSWER_SCORE.name: "score"}
    seen = spans.reindex(columns=[*columns]).rename(columns=columns)
    return pd.concat([told, seen.dropna(subset="score")]).dropna(subset="score")


def with_evaluations(requests: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Requests with the mean score of their answers by the evaluator that spoke most often, and what they lack to 1.

    Only of marks from 0 to 1: what another scale's best mark is nobody says.
    """
    good = results[~results["name"].str.contains(HIGH_IS_BAD)]
    if requests.empty or good.empty:
        return requests
    counts = good["name"].value_counts()
    best = min(counts.index[counts == counts.max()])
    marks = good[good["name"] == best]
    if not marks["score"].between(0, 1).all():
        return requests
    score = requests["trace_id"].map(marks.groupby("trace_id")["score"].mean())
    return requests.assign(**{n.ANSWER_SCORE.name: score, n.ANSWER_SHORTFALL.name: 1 - score})
