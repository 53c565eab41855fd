"""One row a stretch of five seconds: the state of the system and what its requests averaged.

The frame describes the system as a whole: parallel series (replicas, engines, CPUs) are summed, averaged or
maximised as the alias file says. Means per request carry their number of requests in a column `n.<signal>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from correlator.join.engines import capacity, with_batch
from correlator.join.replicas import with_split
from correlator.join.speculation import with_speculation
from correlator.join.within import MARGIN_NS, Within, stretches
from correlator.model import names as n
from correlator.model.evidence import Fact, Window

BUCKET_NS = 5_000_000_000
"""Half a block: fine enough to see what happened together, coarse enough for usual scrape intervals."""
LONGEST = 200_000
"""Buckets (eleven days) between the first and the last request beyond which they are not one recording: somebody put
files of different years in a folder, or a clock was wrong."""
EVERYWHERE = "*"
ALIAS = ["signal", "rank", "bucket"]
"""What makes one value of one source name."""
MOSTLY = 0.8
LOSSES = ("telemetry_refused", "telemetry_unqueued", "telemetry_unsent", "telemetry_dropped")
"""Ways in which a Collector loses spans; each is counted by itself, so they add up."""
FULL = 0.9
"""KV usage from which the next request may not find its blocks: one of ten is a long prompt's worth."""


def to_series(
    points: pd.DataFrame, requests: pd.DataFrame, facts: Iterable[Fact], share: float, within: Within = None
) -> pd.DataFrame:
    """Canonical signals by bucket; a signal nobody measured has no column."""
    wide = with_batch(points, _running_while_waiting(points, _wide(points)), BUCKET_NS)
    wide = with_split(points, wide, BUCKET_NS)
    if len(requests):
        wide = wide.join(_arrivals(requests, share, within), how="outer")
        wide = wide.assign(**{n.TRACED_SHARE.name: wide[n.ARRIVAL_RATE.name] / _counted(points, wide.index)})
    if wide.empty:
        return pd.DataFrame(columns=["start", "host"])
    wide = _with_facts(_derived(wide), sorted(capacity(facts), key=lambda f: f.unix_nano))
    hosts = [h for h in requests["host"].unique() if h] if len(requests) else []
    wide = wide.assign(start=wide.index * BUCKET_NS, host=hosts[0] if len(hosts) == 1 else EVERYWHERE)
    return wide.reset_index(drop=True).dropna(axis="columns", how="all").sort_values("start", ignore_index=True)


def _wide(points: pd.DataFrame) -> pd.DataFrame:
    """A column for each signal by bucket; where an alias of better rank is silent the next one speaks."""
    if points.empty:
        return pd.DataFrame(index=pd.Index([], dtype=np.int64))
    rows = points.assign(bucket=points["start"] // BUCKET_NS)
    weighed = rows["weight"].notna().groupby([rows["signal"], rows["rank"]]).transform("any")
    told = pd.concat([_means(rows[weighed]), *_levels(rows[~weighed])]).sort_index()
    best = told.groupby(level=["signal", "bucket"]).first().unstack("signal")
    values, weights = best["value"], best["weight"].dropna(axis="columns", how="all")
    return values.join(weights.add_prefix("n."))


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means per request: of several, the mean over the requests behind them."""
    sums = rows.assign(value=rows["value"] * rows["weight"]).groupby(ALIAS)[["value", "weight"]].sum()
    return sums.assign(value=sums["value"] / sums["weight"])


def _levels(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """States and rates: first each series by itself, then parallel series as their signal says."""
    for across, same in rows.groupby("across"):
        within = same.groupby([*ALIAS, "series"])["value"].agg("max" if across == "max" else "mean")
        yield within.groupby(level=ALIAS).agg(across).to_frame().assign(weight=np.nan)


def _running_while_waiting(points: pd.DataFrame, wide: pd.DataFrame) -> pd.DataFrame:
    """The batch at the very moments (scrapes, log lines) at which requests waited: means of 5 s would blur a cap."""
    levels = points[points["signal"].isin([n.RUNNING.name, n.WAITING.name])]
    if levels["signal"].nunique() < 2:
        return wide
    best = levels.groupby(["start", "signal"])["rank"].transform("min")
    levels = levels[levels["rank"] == best]  # a scrape and a log line of the same moment tell of the same requests
    moments = levels.pivot_table(index="start", columns="signal", values="value", aggfunc="sum")
    crowded = moments[moments[n.WAITING.name] > 0]
    running = crowded[n.RUNNING.name].groupby(crowded.index // BUCKET_NS).mean()
    return wide.join(running.rename(n.RUNNING_WHILE_WAITING.name))


def _arrivals(requests: pd.DataFrame, share: float, within: Within) -> pd.DataFrame:
    """Arrivals, tries and answers per second, zero where there were none between the first request and the last."""
    begun, ended = requests["start"] // BUCKET_NS, requests["end"] // BUCKET_NS
    one = pd.Series(1.0, requests.index)
    events = {n.ARRIVAL_RATE.name: (begun, one)}
    if n.ATTEMPTS.name in requests:
        events[n.OFFERED_LOAD.name] = (begun, requests[n.ATTEMPTS.name].fillna(1.0))
    if n.ERROR.name in requests:
        events[n.GOODPUT.name] = (ended, one.where(~(requests[n.ERROR.name] > 0), 0.0))
    grid = _grid(begun, within)
    per_second = share * BUCKET_NS / 1e9
    return pd.DataFrame(
        {name: what.groupby(at).sum().reindex(grid, fill_value=0.0) / per_second for name, (at, what) in events.items()}
    )


def _grid(begun: pd.Series, within: Within) -> np.ndarray:
    """Buckets from the first request to the last, but for those that nobody read: no request there means nothing.

    Nor does it where the first and the last are further apart than `LONGEST`.
    """
    first, last = begun.min(), begun.max()
    if last - first > LONGEST:
        return np.unique(begun)
    if within is None:
        return np.arange(first, last + 1)
    parts = [
        np.arange(max(first, (w.start - MARGIN_NS) // BUCKET_NS), min(last, (w.end + MARGIN_NS) // BUCKET_NS) + 1)
        for w in stretches(within)
    ]
    return np.unique(np.concatenate(parts))


def covered(series: pd.DataFrame, logs: Iterable[Window]) -> np.ndarray:
    """Rows of the series during which one of the logs spoke."""
    start = series["start"].to_numpy(dtype=np.int64)
    spoke = np.zeros(len(start), dtype=bool)
    for log in logs:
        spoke |= (start + BUCKET_NS > log.start) & (start < log.end)
    return spoke


def _counted(points: pd.DataFrame, index: pd.Index) -> pd.Series:
    """Requests per second as a metric of their latency counted them."""
    counts = points[(points["signal"] == n.LATENCY.name) & points["weight"].notna()]
    rates = (counts["weight"] / counts["seconds"]).groupby([counts["start"] // BUCKET_NS, counts["series"]]).mean()
    counted = rates.groupby(level=0).sum()
    return counted.where(counted > 0).reindex(index)


def _derived(wide: pd.DataFrame) -> pd.DataFrame:
    wide = _latencies(wide)
    finished = _column(wide, "completion_rate")
    wide = wide.assign(
        **{
            n.CACHED_SHARE.name: _cached_share(wide),
            n.HOST_CPU.name: _cpu(wide),
            n.HOST_CPU_LEFT.name: 1 - _cpu(wide),
            n.CPU_THROTTLED.name: _column(wide, "cpu_throttled_periods") / _positive(wide, "cpu_periods"),
            n.ARRIVAL_RATE.name: _column(wide, n.ARRIVAL_RATE.name).combine_first(finished),
            n.KV_PRESSURE.name: _kv_pressure(wide),
            n.POOL_SHARE.name: _column(wide, n.POOL_USED.name) / _positive(wide, n.POOL_MAX.name),
            n.STORE_POOL_SHARE.name: _column(wide, n.STORE_POOL_USED.name) / _positive(wide, n.STORE_POOL_MAX.name),
            n.TELEMETRY_REFUSED.name: _refused(wide),
        }
    )
    for signal, rate in ((n.INPUT_TOKENS, n.PROMPT_THROUGHPUT), (n.OUTPUT_TOKENS, n.GENERATION_THROUGHPUT)):
        if signal.name not in wide and _complete(_column(wide, rate.name), finished):
            mean = _column(wide, rate.name) / _positive(wide, "completion_rate")
            wide = wide.assign(**{signal.name: mean, f"n.{signal.name}": finished})
    return with_speculation(_structured(_ledger(_degenerate_answers(_cut_answers(_errors(wide))))))


def _complete(tokens: pd.Series, finished: pd.Series) -> bool:
    """Nearly all tokens fall into stretches in which requests ended, so that one over the other is a mean per request.

    An access log tells a streamed answer when it begins: of a batch sent at once all seem to end in the first seconds.
    """
    return bool(tokens[finished > 0].sum() >= MOSTLY * tokens.sum())


def _column(wide: pd.DataFrame, name: str) -> pd.Series:
    return wide[name] if name in wide else pd.Series(np.nan, wide.index)


def _positive(wide: pd.DataFrame, name: str) -> pd.Series:
    """A divisor: unknown where it is zero."""
    column = _column(wide, name)
    return column.where(column > 0)


def _cached_share(wide: pd.DataFrame) -> pd.Series:
    """Cached over all prompt tokens; else a hit rate the engine printed (-1 means caching is off: unknown)."""
    share = (_column(wide, "cached_token_rate") / _positive(wide, n.PROMPT_THROUGHPUT.name)).clip(0, 1)
    printed = _column(wide, n.CACHED_SHARE.name)
    return share.combine_first(printed.where(printed >= 0))


def _refused(wide: pd.DataFrame) -> pd.Series:
    """What was lost on its way to us or turned away by us, whichever is the larger share."""
    turned_away = _column(wide, "intake_refused").fillna(0)
    asked = _column(wide, "intake_accepted") + turned_away
    return pd.concat([_lost(wide), turned_away / asked.where(asked > 0)], axis="columns").max(axis="columns")


def _lost(wide: pd.DataFrame) -> pd.Series:
    """Spans refused, dropped or not sent, of all that arrived; unknown without the Collector's own metrics."""
    ways = [name for name in LOSSES if name in wide]
    if not ways or "telemetry_accepted" not in wide:
        return pd.Series(np.nan, wide.index)
    arrived = wide["telemetry_accepted"] + _column(wide, "telemetry_refused").fillna(0)
    return (wide[ways].sum(axis=1, min_count=1) / arrived.where(arrived > 0)).clip(upper=1)


def _cpu(wide: pd.DataFrame) -> pd.Series:
    idle = _column(wide, "host_cpu_idle").combine_first(_column(wide, "host_cpu_idle_rate"))
    return (1 - idle).clip(0, 1)


def _kv_pressure(wide: pd.DataFrame) -> pd.Series:
    """1 in a bucket with evictions, or with requests waiting while the pool is full.

    Unknown without KV usage, and altogether where neither waiting nor evictions were measured.
    """
    usage, evictions = _column(wide, n.KV_CACHE_USAGE.name), _column(wide, n.PREEMPTIONS.name)
    waiting = _column(wide, n.WAITING.name).combine_first(_column(wide, n.SWAPPED.name))
    crowded = (waiting > 0) | (_column(wide, n.SWAPPED.name) > 0)
    pressed = ((evictions > 0) | ((usage >= FULL) & crowded)).astype(float)
    return pressed.where(usage.notna() & (waiting.notna() | evictions.notna()))


def _latencies(wide: pd.DataFrame) -> pd.DataFrame:
    """Request latency from the outermost place that measured it."""
    for inner in (n.CLIENT_LATENCY.name, n.SERVER_LATENCY.name):
        if n.LATENCY.name not in wide and inner in wide:
            wide = wide.assign(**{n.LATENCY.name: wide[inner], f"n.{n.LATENCY.name}": wide.get(f"n.{inner}")})
    return wide


def _errors(wide: pd.DataFrame) -> pd.DataFrame:
    if "failure_rate" not in wide or "completion_rate" not in wide:
        return wide
    failed = wide["failure_rate"]
    total = wide["completion_rate"].fillna(0) + failed
    return wide.assign(**{n.ERROR.name: failed / total.where(total > 0), f"n.{n.ERROR.name}": total})


def _cut_answers(wide: pd.DataFrame) -> pd.DataFrame:
    """Of the answers that ended, the share that ended at its length limit."""
    if "length_stop_rate" not in wide or "completion_rate" not in wide:
        return wide
    share = wide["length_stop_rate"].fillna(0) / _positive(wide, "completion_rate")
    return wide.assign(**{n.TRUNCATED.name: share.clip(upper=1), f"n.{n.TRUNCATED.name}": wide["completion_rate"]})


def _degenerate_answers(wide: pd.DataFrame) -> pd.DataFrame:
    """Of the answers that ended, the share that looped or came of NaN; unknown where none ever did: engines look for
    either only where they are told to."""
    found = _column(wide, "degenerate_stop_rate").fillna(0) + _column(wide, "corrupted_rate").fillna(0)
    if not (found > 0).any() or "completion_rate" not in wide:
        return wide
    share = (found / _positive(wide, "completion_rate")).clip(upper=1)
    return wide.assign(**{n.DEGENERATE.name: share, f"n.{n.DEGENERATE.name}": wide["completion_rate"]})


def _structured(wide: pd.DataFrame) -> pd.DataFrame:
    """Share of the requests whose parameters the engine logged that demand a schema."""
    if n.RECEIVED_RATE.name not in wide:
        return wide
    share = _column(wide, n.STRUCTURED_RATE.name).fillna(0) / _positive(wide, n.RECEIVED_RATE.name)
    return wide.assign(**{n.STRUCTURED.name: share, f"n.{n.STRUCTURED.name}": wide[n.RECEIVED_RATE.name]})


def _ledger(wide: pd.DataFrame) -> pd.DataFrame:
    """Ledger parts that follow from latencies measured at different places."""
    out = {}
    has = set(wide.columns)
    engine = [s.name for s in (n.QUEUE, n.PREFILL, n.DECODE) if s.name in has]
    if {n.CLIENT_LATENCY.name, n.SERVER_LATENCY.name} <= has:
        out[n.NETWORK.name] = (wide[n.CLIENT_LATENCY.name] - wide[n.SERVER_LATENCY.name]).clip(lower=0)
    known = [wide[c] for c in (*engine, n.RETRIEVAL.name, n.POOL_WAIT.name, n.STORE_WAIT.name) if c in has]
    if n.LATENCY.name in has and (known or out):
        parts = sum([*known, *out.values()])
        out[n.REMAINDER.name] = (wide[n.LATENCY.name] - parts).clip(lower=0)
    if {n.INPUT_TOKENS.name, n.PREFILL.name} <= has:
        out[n.PREFILL_PER_TOKEN.name] = wide[n.PREFILL.name] / wide[n.INPUT_TOKENS.name].where(lambda t: t > 0)
    if n.NETWORK.name in out and len(engine) == 3:
        unattributed = (wide[n.SERVER_LATENCY.name] - sum(wide[c] for c in engine)).clip(lower=0)
        out[n.HOST_SIDE.name] = out[n.NETWORK.name] + unattributed
    weight = wide.get(f"n.{n.SERVER_LATENCY.name}", wide.get(f"n.{n.LATENCY.name}"))
    return wide.assign(**out, **({f"n.{k}": weight for k in out} if weight is not None else {}))


def _with_facts(wide: pd.DataFrame, facts: list[Fact]) -> pd.DataFrame:
    """Signals that a configuration value settles: pool capacity; no cache hits while caching is off."""
    capacity_now = step(facts, "engine.kv_cache_tokens", wide.index)
    if capacity_now is not None:
        wide = wide.assign(**{n.KV_CACHE_CAPACITY.name: pd.to_numeric(capacity_now, errors="coerce")})
    caching = step(facts, "engine.enable_prefix_caching", wide.index)
    if caching is not None:
        off = caching.str.lower() == "false"
        current = wide.get(n.CACHED_SHARE.name, pd.Series(np.nan, wide.index))
        wide = wide.assign(**{n.CACHED_SHARE.name: current.mask(off & current.isna(), 0.0)})
    return wide


def step(facts: list[Fact], name: str, index: pd.Index) -> pd.Series | None:
    """The value in force in each bucket; unknown before the first one was seen."""
    known = [f for f in facts if f.name == name]
    if not known:
        return None
    at = pd.Series([f.value for f in known], index=[f.unix_nano // BUCKET_NS for f in known])
    at = at[~at.index.duplicated(keep="last")]
    return at.reindex(at.index.union(index)).ffill().reindex(index)
