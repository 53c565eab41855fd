"""One row a request: canonical signals and the latency ledger, from the spans of its trace."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.join import roles as r
from correlator.join.answers import first_tokens, truncated
from correlator.join.attempts import mark_attempts
from correlator.join.outgoing import assigned, idle_before
from correlator.join.prefill_ahead import with_prefill_ahead
from correlator.join.spans import Spans
from correlator.join.structured import structured
from correlator.join.tree import critical_path, with_tree
from correlator.model import names as n
from correlator.model.evidence import BLOCK_NS

COLUMNS = ["trace_id", "start", "host", n.LATENCY.name]
STEPS = {
    r.RETRIEVAL: n.RETRIEVAL.name,
    r.RERANK: n.RERANK.name,
    r.POOL_WAIT: n.POOL_WAIT.name,
    r.STORE_WAIT: n.STORE_WAIT.name,
    r.DEPENDENCY: n.DEPENDENCY.name,
}
"""Roles whose spans' own time is a part of the ledger by that name."""
SKEW_S = 0.001
"""A server span may start this much before its client's: the resolution of two clocks kept by NTP on a LAN."""


def prepared(spans: Spans) -> pd.DataFrame:
    """The span table with tree, role, own time and attempts: what requests and waterfalls are made of."""
    table = with_tree(spans.table.assign(own_role=r.roles(spans.table)))
    table["role"] = assigned(table)
    return mark_attempts(critical_path(table))


def to_requests(table: pd.DataFrame, spans: Spans) -> pd.DataFrame:
    """Rows of traces that are requests: served by somebody, or calling a model.

    Inside, a trace is a number: grouping by ids of 32 characters would be most of the work.
    """
    ids = table["trace_id"].drop_duplicates().to_numpy(dtype=object)
    rows = _rows(table.assign(trace_id=table["trace"]), spans.share)
    if rows.empty:
        return pd.DataFrame(columns=[*COLUMNS, "end"])
    rows = rows.set_index(ids[rows.index])
    rows["trace_id"] = rows.index
    rows = with_prefill_ahead(rows, spans.share)
    return rows.join(_scope(spans.scope)).sort_values("start", ignore_index=True)


def _rows(table: pd.DataFrame, share: float) -> pd.DataFrame:
    kept = _where(table, table["root"] >= 0)
    roots = kept.loc[kept["root"].unique()] if len(kept) else kept
    speaks = kept["own_role"].isin([r.SERVER, r.CLIENT]).groupby(kept["trace_id"]).any()
    is_request = roots["kind"].isin(["Server", "Consumer"]) | roots["trace_id"].map(speaks).fillna(False).astype(bool)
    roots = roots[is_request].set_index("trace_id", drop=False)
    kept = _where(kept, kept["trace_id"].isin(roots.index))
    rows = roots[["trace_id", "start", "host"]].assign(**{n.LATENCY.name: roots["duration"] / 1e9})
    rows["end"] = roots["start"] + roots["duration"]
    rows["service"] = roots["service"]
    rows = rows.join(_outcome(roots, kept)).join(_model_calls(kept)).join(_retrieval(kept))
    rows = rows.join(_torn(kept)).join(_ledger(kept, roots)).join(_flight(kept, rows, share))
    return _derived(rows.join(structured(kept)))


def _where(table: pd.DataFrame, condition: pd.Series) -> pd.DataFrame:
    return table if condition.all() else table[condition]


def _outcome(roots: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    status = pd.to_numeric(roots["status"], errors="coerce")
    error = roots["failed"].astype(bool) | (status >= 400)
    failed = kept[kept["failed"].astype(bool)]
    text = (failed["message"] + " " + failed["exception"]).str.slice(0, 2000).groupby(failed["trace_id"]).agg(" ".join)
    types = failed["error_type"].groupby(failed["trace_id"]).max()
    out = pd.DataFrame({n.ERROR.name: error.astype(float), n.DEPENDENCY_ERROR.name: _with_dependency(error, kept)})
    return out.assign(error_text=text.reindex(out.index).fillna(""), error_type=types)


def _with_dependency(error: pd.Series, kept: pd.DataFrame) -> pd.Series | float:
    """1 where the request failed and a call of another service in it; unknown where no such call was ever traced."""
    called = kept[kept["role"] == r.DEPENDENCY]
    failed = called["failed"].astype(bool).groupby(called["trace_id"]).any()
    return (error & failed.reindex(error.index, fill_value=False)).astype(float) if len(called) else np.nan


def _torn(kept: pd.DataFrame) -> pd.DataFrame:
    """1 for a trace of which spans are missing: a parent nobody has, or the serving side of an answered call.

    A call that failed may have no serving span by right: engines write none for an aborted request. Where most
    traces have no serving side only parents tell, and a trace of one span tells nothing.
    """
    orphan = kept["orphan"].groupby(kept["trace_id"]).any()
    answered = kept["own_role"].eq(r.CLIENT) & ~kept["failed"].astype(bool)
    called = answered.groupby(kept["trace_id"]).any()
    served = kept["own_role"].eq(r.SERVER).groupby(kept["trace_id"]).any()
    serving = bool(called.any() and served.mean() > 0.5)
    known = orphan | serving | (kept.groupby("trace_id").size() > 1)
    torn = orphan | (serving & called & ~served)
    return pd.DataFrame({n.TELEMETRY_LOST.name: torn.astype(float).where(known)})


def _model_calls(kept: pd.DataFrame) -> pd.DataFrame:
    sums = [n.INPUT_TOKENS.name, n.OUTPUT_TOKENS.name, n.CACHED_INPUT_TOKENS.name]
    said = [n.MAX_TOKENS.name, n.TIME_TO_FIRST_TOKEN.name, "finish_reason", "model"]
    needed = kept[["trace_id", "parent", "start", "duration", "failed", *sums, *said]]
    calls = needed[(kept["own_role"] == r.CLIENT) & ~kept["retried"]]
    serves = needed[(kept["own_role"] == r.SERVER) & ~kept["retried"]]
    client = calls.groupby("trace_id")[[*sums, n.MAX_TOKENS.name]].sum(min_count=1)
    server = serves.groupby("trace_id")[[*sums, n.MAX_TOKENS.name]].sum(min_count=1)
    out = client.combine_first(server)
    out[n.CLIENT_LATENCY.name] = calls.groupby("trace_id")["duration"].sum() / 1e9
    out[n.SERVER_LATENCY.name] = serves.groupby("trace_id")["duration"].sum() / 1e9
    out[n.TIME_TO_FIRST_TOKEN.name] = serves.groupby("trace_id")[n.TIME_TO_FIRST_TOKEN.name].first()
    last = pd.concat([calls, serves]).groupby("trace_id")[["finish_reason", "model", "failed"]].max()
    out[n.TRUNCATED.name] = truncated(calls, serves).reindex(out.index)
    out = out.join(first_tokens(calls, serves))
    out["model"], out[n.MODEL_ERROR.name] = last["model"], last["failed"].astype(float)
    ahead = _ahead(kept, serves)
    out[n.OUTBOUND.name] = ahead.where(ahead > -SKEW_S).clip(lower=0).groupby(level=0).sum(min_count=1)
    out[n.CLOCK_SKEW.name] = (-ahead).clip(lower=0).groupby(level=0).max()
    out[n.GIVEN_UP.name] = kept["given_up"].groupby(kept["trace_id"]).max()
    return out.join(_attempts(kept), how="outer")


def _ahead(kept: pd.DataFrame, serves: pd.DataFrame) -> pd.Series:
    """Seconds by which the client's call began before the server's side of it; negative where the clocks disagree."""
    parents = kept.reindex(serves["parent"].to_numpy())
    wait = (serves["start"].to_numpy() - parents["start"].to_numpy(dtype=float)) / 1e9
    return pd.Series(wait, index=serves["trace_id"].to_numpy()).where((parents["own_role"] == r.CLIENT).to_numpy())


def _attempts(kept: pd.DataFrame) -> pd.DataFrame:
    """Tries per logical model call.

    Unknown for a trace with neither the serving side, nor a resend count, nor a repeated call: a client library
    retries inside its one span.
    """
    calls = kept[kept["own_role"].isin([r.CLIENT, r.SERVER])]
    sides = calls.groupby(["trace_id", "own_role"]).size().unstack(fill_value=0)
    tries = sides.max(axis=1)
    client = calls[calls["own_role"] == r.CLIENT]
    logical = (~client["retried"]).groupby(client["trace_id"]).sum().reindex(tries.index).fillna(1).clip(lower=1)
    resent = pd.to_numeric(kept["resend"], errors="coerce").groupby(kept["trace_id"]).max().reindex(tries.index)
    served = sides[r.SERVER] > 0 if r.SERVER in sides else pd.Series(False, tries.index)
    known = served | resent.notna() | (tries > logical)
    return pd.DataFrame({n.ATTEMPTS.name: np.maximum(tries / logical, resent.fillna(0) + 1).where(known)})


def _retrieval(kept: pd.DataFrame) -> pd.DataFrame:
    rows = kept[kept["role"] == r.RETRIEVAL].groupby("trace_id")
    out = rows[[n.RETRIEVED.name, n.RETRIEVAL_SCORE.name]].max()
    empty = out[n.RETRIEVED.name].eq(0).astype(float).where(out[n.RETRIEVED.name].notna())
    return out.assign(**{n.EMPTY_RETRIEVAL.name: empty, n.RETRIEVAL_DISTANCE.name: _distance(out)})


def _distance(retrieved: pd.DataFrame) -> pd.Series:
    """One minus the best score where scores are cosines; other scales have no one to be far from."""
    score = retrieved[n.RETRIEVAL_SCORE.name]
    return 1 - score if score.abs().max() <= 1 else pd.Series(np.nan, score.index)


def _ledger(kept: pd.DataFrame, roots: pd.DataFrame) -> pd.DataFrame:
    """Own time by part. A part nobody measured in a trace is missing there, not zero."""
    entry = kept["trace_id"].map(roots["service"])
    part = kept["role"].map(STEPS)
    part = part.where(kept["role"] != r.CLIENT, n.NETWORK.name).where(kept["role"] != r.SERVER, n.REMAINDER.name)
    part = part.mask(
        part.isna(),
        pd.Series(np.where(kept["service"] == entry, n.GATEWAY.name, n.REMAINDER.name), kept.index),
    )
    part = part.where(~kept["in_retry"], n.RETRY.name)
    spent = (kept["own"] - kept["between"]).groupby([kept["trace_id"], part]).sum()
    parts = spent.unstack()
    always = {n.GATEWAY.name, n.RETRY.name, n.NETWORK.name, n.REMAINDER.name}
    parts = parts.reindex(columns=sorted({*parts.columns, *always}))
    between = kept["between"].groupby(kept["trace_id"]).sum()
    parts[n.RETRY.name] = parts[n.RETRY.name].fillna(0.0) + between
    return _without_server(_split_server(parts, kept), kept)


def _split_server(parts: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Queue, prefill and decode as the engine reported them, scaled where they exceed its own time."""
    serves = kept[(kept["own_role"] == r.SERVER) & ~kept["in_retry"]]
    reported = [n.QUEUE.name, n.PREFILL.name, n.DECODE.name]
    sums = serves.groupby("trace_id")[reported].sum(min_count=1)
    own = serves.groupby("trace_id")["own"].sum()
    fit = (own / sums.sum(axis=1)).clip(upper=1.0)
    sums = sums.mul(fit, axis=0)
    parts = parts.join(sums)
    parts[n.REMAINDER.name] = parts[n.REMAINDER.name].fillna(0.0) - sums.sum(axis=1).reindex(parts.index).fillna(0.0)
    return parts


def _without_server(parts: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Where the engine's side was not seen, the call cannot be told apart: it is remainder, not network."""
    server = kept["own_role"].eq(r.SERVER).groupby(kept["trace_id"]).any().reindex(parts.index)
    blind = ~server & parts[n.NETWORK.name].notna()
    parts.loc[blind, n.REMAINDER.name] += parts.loc[blind, n.NETWORK.name]
    parts.loc[blind, n.NETWORK.name] = np.nan
    always = {c: parts[c].fillna(0.0) for c in (n.GATEWAY.name, n.RETRY.name, n.REMAINDER.name)}
    block = (kept.groupby("trace_id")["start"].min() // BLOCK_NS).reindex(parts.index)
    steps = [c for c in STEPS.values() if c in parts]
    return parts.assign(**always, **{c: _zero_where_traced(parts[c], block) for c in steps})


def _zero_where_traced(part: pd.Series, block: pd.Series) -> pd.Series:
    """A step that a request did not take costs it nothing, if others of its 10 s show that the step is traced."""
    traced = part.notna().groupby(block).transform("any")
    return part.mask(traced & part.isna(), 0.0)


def _flight(kept: pd.DataFrame, rows: pd.DataFrame, share: float) -> pd.DataFrame:
    """How many requests and calls were open when each began (scaled up when traces were sampled)."""
    calls = kept[kept["own_role"] == r.CLIENT]
    serves = kept[kept["own_role"] == r.SERVER]
    sent = calls.groupby("trace_id")["start"].last()
    out = pd.DataFrame({n.IN_FLIGHT.name: _open(rows["start"], rows["end"], rows["start"])}, index=rows.index)
    if len(calls):
        ends = calls["start"] + calls["duration"]
        out[n.IDLE_BEFORE.name] = idle_before(calls).reindex(rows.index) if share == 1 else np.nan
        out = out.join(pd.Series(_open(calls["start"], ends, sent), sent.index, name=n.CALLS_IN_FLIGHT.name))
    if len(calls) and len(serves):
        ends = serves["start"] + serves["duration"]
        out = out.join(pd.Series(_open(serves["start"], ends, sent), sent.index, name=n.SERVER_IN_FLIGHT.name))
    counts = [c for c in out if c != n.IDLE_BEFORE.name]
    return out.assign(**{c: out[c] / share for c in counts})


def _open(starts: pd.Series, ends: pd.Series, at: pd.Series) -> np.ndarray:
    begun = np.searchsorted(np.sort(starts.to_numpy(dtype=np.int64)), at.to_numpy(dtype=np.int64), side="left")
    ended = np.searchsorted(np.sort(ends.to_numpy(dtype=np.int64)), at.to_numpy(dtype=np.int64), side="right")
    return np.asarray(np.maximum(begun - ended, 0), dtype=float)


def _derived(rows: pd.DataFrame) -> pd.DataFrame:
    decode, prefill = (rows.get(s.name, pd.Series(np.nan, rows.index)) for s in (n.DECODE, n.PREFILL))
    after_first = (rows[n.OUTPUT_TOKENS.name] - 1).where(lambda t: t > 0)
    tokens = rows[n.INPUT_TOKENS.name].where(lambda t: t > 0)
    rows = rows.assign(
        **{
            n.TIME_PER_OUTPUT_TOKEN.name: decode / after_first,
            n.PREFILL_PER_TOKEN.name: prefill / tokens,
            n.CACHED_SHARE.name: rows[n.CACHED_INPUT_TOKENS.name] / tokens,
            n.COMPUTED_TOKENS.name: (tokens - rows[n.CACHED_INPUT_TOKENS.name]).clip(lower=0),
            n.HOST_SIDE.name: rows[[n.NETWORK.name, n.GATEWAY.name, n.REMAINDER.name]].sum(axis=1, min_count=3),
            n.ENGINE_HOST.name: _beside_the_model(rows),
        }
    )
    if n.SERVER_IN_FLIGHT.name in rows:
        rows[n.CALLS_QUEUED.name] = (rows[n.CALLS_IN_FLIGHT.name] - rows[n.SERVER_IN_FLIGHT.name]).clip(lower=0)
    return rows.dropna(axis="columns", how="all")


def _beside_the_model(rows: pd.DataFrame) -> pd.Series:
    """What the engine took beyond queue, prefill and decode; unknown where it did not report all three."""
    parts = rows.reindex(columns=[n.QUEUE.name, n.PREFILL.name, n.DECODE.name]).sum(axis=1, min_count=3)
    return (rows[n.SERVER_LATENCY.name] - parts).clip(lower=0)


def _scope(scope: pd.DataFrame) -> pd.DataFrame:
    wide = scope.pivot(index="trace_id", columns="key", values="value")
    return wide.rename(columns=lambda key: f"attribute.{key}")
