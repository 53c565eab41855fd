"""One row a request: canonical signals and the latency ledger, from the spans of its trace."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.arrays import Bools, Columns, Floats, numbers, positive
from correlator.join.attempts import mark_attempts
from correlator.join.calls import model_calls
from correlator.join.flight import flight
from correlator.join.outgoing import assigned
from correlator.join.parts import parts
from correlator.join.prefill_ahead import with_prefill_ahead
from correlator.join.spans import Spans
from correlator.join.structured import structured
from correlator.join.traced import Traced, traced
from correlator.join.tree import critical_path, with_tree
from correlator.model import names as n

COLUMNS = ["trace_id", "start", "host", n.LATENCY.name]
ROOT = ["trace_id", "start", "host", "duration", "service", "failed", "status"]
SAID = 2000
"""Characters kept of what a failed span says."""


def prepared(spans: Spans) -> pd.DataFrame:
    """The span table with tree, role, own time and attempts: what requests and waterfalls are made of."""
    table = with_tree(spans.table.assign(own_role=r.roles(spans.table)))
    table["role"] = assigned(table)
    return mark_attempts(critical_path(table))


def to_requests(table: pd.DataFrame, spans: Spans) -> pd.DataFrame:
    """Rows of traces that are requests, in order of time, with the columns of what was measured of any of them."""
    requests = traced(table)
    if not len(requests.roots):
        return pd.DataFrame(columns=[*COLUMNS, "end"])
    known = {name: column for name, column in _columns(requests, spans.share).items() if pd.notna(column).any()}
    rows = with_prefill_ahead(pd.DataFrame(known), spans.share)
    return rows.assign(**_scope(spans.scope, rows["trace_id"]))


def _columns(requests: Traced, share: float) -> Columns:
    root = requests.spans[ROOT].take(requests.roots).reset_index(drop=True)
    error = root["failed"].to_numpy(dtype=bool) | (numbers(root["status"]) >= 400)
    measured = model_calls(requests) | _retrieval(requests) | {n.TELEMETRY_LOST.name: _torn(requests)}
    measured |= parts(requests) | flight(requests, share) | {n.STRUCTURED.name: structured(requests)}
    return {
        "trace_id": root["trace_id"],
        "start": root["start"],
        "host": root["host"],
        n.LATENCY.name: root["duration"] / 1e9,
        "end": root["start"] + root["duration"],
        "service": root["service"],
        n.ERROR.name: error.astype(float),
        n.DEPENDENCY_ERROR.name: _with_dependency(error, requests),
        "error_text": _error_texts(requests),
        "error_type": requests.by.last_text(requests.spans["error_type"], requests.failed),
        **measured,
        **_derived(measured),
    }


def _error_texts(requests: Traced) -> pd.Series:
    """What the failed spans of each request say, "" where none failed."""
    failed = requests.spans.loc[requests.failed, ["message", "exception"]]
    said = (failed["message"] + " " + failed["exception"]).str.slice(0, SAID)
    texts: dict[int, str] = {}
    for request, text in zip(requests.by.codes[requests.failed].tolist(), said, strict=True):
        texts[request] = f"{texts[request]} {text}" if request in texts else text
    return pd.Series([texts.get(request, "") for request in range(len(requests.roots))], dtype="str")


def _with_dependency(error: Bools, requests: Traced) -> Floats:
    """1 where the request failed and a call of another service in it; unknown where no such call was ever traced."""
    called = requests.being("role", r.DEPENDENCY)
    if not called.any():
        return np.full(len(error), np.nan)
    return (error & requests.by.any(called & requests.failed)).astype(float)


def _torn(requests: Traced) -> Floats:
    """1 for a trace of which spans are missing: a parent nobody has, or the serving side of an answered call.

    A call that failed may have no serving span by right: engines write none for an aborted request. Where most
    traces have no serving side only parents tell, and a trace of one span tells nothing.
    """
    by = requests.by
    orphan, served = by.any(requests.marks("orphan")), by.any(requests.serves)
    answered = by.any(requests.calls & ~requests.failed)
    serving = bool(answered.any() and served.mean() > 0.5)
    known = orphan | serving | (by.size(requests.everything) > 1)
    torn = orphan | (serving & answered & ~served)
    return np.where(known, torn.astype(float), np.nan)


def _retrieval(requests: Traced) -> Columns:
    searches = requests.being("role", r.RETRIEVAL)
    count, score = (requests.by.max(requests.floats(s.name), searches) for s in (n.RETRIEVED, n.RETRIEVAL_SCORE))
    return {
        n.RETRIEVED.name: count,
        n.RETRIEVAL_SCORE.name: score,
        n.EMPTY_RETRIEVAL.name: np.where(np.isnan(count), np.nan, count == 0),
        n.RETRIEVAL_DISTANCE.name: _distance(score),
    }


def _distance(score: Floats) -> Floats:
    """One minus the best score where scores are cosines; other scales have no one to be far from."""
    cosines = np.abs(score) <= 1
    return 1 - score if (cosines | np.isnan(score)).all() else np.full(len(score), np.nan)


def _derived(of: Columns) -> Columns:
    """What follows from the columns that were measured."""
    after_first, tokens = positive(of[n.OUTPUT_TOKENS.name] - 1), positive(of[n.INPUT_TOKENS.name])
    cached = of[n.CACHED_INPUT_TOKENS.name]
    at_engine = of[n.QUEUE.name] + of[n.PREFILL.name] + of[n.DECODE.name]
    return {
        n.TIME_PER_OUTPUT_TOKEN.name: of[n.DECODE.name] / after_first,
        n.PREFILL_PER_TOKEN.name: of[n.PREFILL.name] / tokens,
        n.CACHED_SHARE.name: cached / tokens,
        n.COMPUTED_TOKENS.name: np.maximum(tokens - cached, 0),
        n.HOST_SIDE.name: of[n.NETWORK.name] + of[n.GATEWAY.name] + of[n.REMAINDER.name],
        n.ENGINE_HOST.name: np.maximum(of[n.SERVER_LATENCY.name] - at_engine, 0),
        n.CALLS_QUEUED.name: np.maximum(of[n.CALLS_IN_FLIGHT.name] - of[n.SERVER_IN_FLIGHT.name], 0),
    }


def _scope(scope: pd.DataFrame, traces: pd.Series) -> Columns:
    """The attributes of the traces: a column for each key, null where a trace has none of that key."""
    request, (key, keys) = pd.Index(traces).get_indexer(scope["trace_id"]), pd.factorize(scope["key"], sort=True)
    text, texts = pd.factorize(scope["value"])
    place, ours = np.full((len(keys), len(traces)), -1), request >= 0
    place[key[ours], request[ours]] = text[ours]
    return {f"attribute.{name}": texts.array.take(its, allow_fill=True) for name, its in zip(keys, place, strict=True)}
