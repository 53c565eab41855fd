"""What the collectors tell of the stretches that are compared: when none was there, and what was refused on the way.

A collector beats every ten seconds (`collector/pulse.py`). Where beats are missing nobody knows what was sent, so a
count of zero there is no zero. Stores that others fill have no beats: then nothing is known of losses.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from correlator.join.series import BUCKET_NS
from correlator.join.within import Within, stretches
from correlator.model import names as n
from correlator.model import pulse
from correlator.model.evidence import Window
from correlator.model.moments import rfc3339
from correlator.store import Store

SILENT_NS = int(pulse.SILENT_S * 1e9)
LATE_NS = 15_000_000_000
"""A beat of this age is in the tables, unless loading lags: then what came meanwhile is not there either."""
EARLIER_NS = 86_400_000_000_000
"""So far back a beat is looked for that shows a collector which then fell silent."""
TOLD = 10
"""Sentences of a kind."""
ANY = ""
"""All collectors taken together."""
COUNTED = (n.ARRIVAL_RATE.name, n.OFFERED_LOAD.name, n.GOODPUT.name, n.TRACED_SHARE.name)
NEVER = 2**63 - 1
"""The end of what follows the last beat."""


@dataclass(frozen=True, slots=True)
class Intake:
    """`known`: beats cover all that is compared. `outages`: stretches of it without a collector. `problems`: records
    that were lost (`rejected`), about how many were refused for a time (`refused`), and outages (`collector_down`).
    """

    known: bool = False
    outages: tuple[Window, ...] = ()
    problems: Mapping[str, int] = field(default_factory=dict)
    messages: tuple[str, ...] = ()


OF_FILES = Intake(known=True)
"""What was read from files: the readers know what was lost."""


def read_intake(store: Store, within: Within, now: int | None = None) -> Intake:
    """For stretches of a running service, as it is known at `now` (Unix ns; None: at this moment)."""
    if within is None:
        return OF_FILES
    latest = (time.time_ns() if now is None else now) - LATE_NS
    windows = [Window(w.start, min(w.end, latest)) for w in stretches(within) if w.start < latest]
    gaps = _gaps(store, windows) if windows else pd.DataFrame()
    if gaps.empty:
        return Intake()
    outages = merged(outage for window in windows for outage in _outages(gaps, window))
    began = int(gaps["first"].min())
    known = not outages and all(began <= window.start + SILENT_NS for window in windows)
    problems, messages = _losses(store, windows)
    down = {"collector_down": len(outages)} if outages else {}
    return Intake(known, outages, problems | down, (*map(_told, outages[:TOLD]), *messages))


def without_counts(series: pd.DataFrame, outages: Iterable[Window]) -> pd.DataFrame:
    """The series with how much came in unknown, not zero, in the buckets of an outage."""
    blind = pd.Series(False, series.index)
    for outage in outages:
        blind |= (series["start"] < outage.end) & (series["start"] + BUCKET_NS > outage.start)
    return series.assign(**{name: series[name].mask(blind) for name in COUNTED if name in series})


def _told(outage: Window) -> str:
    return f"the collector was down from {rfc3339(outage.start)} to {rfc3339(outage.end)}: what was sent is not known"


def merged(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The same stretches, those that overlap as one."""
    out: list[Window] = []
    for window in sorted(windows, key=lambda w: w.start):
        if out and window.start <= out[-1].end:
            out[-1] = Window(out[-1].start, max(out[-1].end, window.end))
        else:
            out.append(window)
    return tuple(out)


def _outages(gaps: pd.DataFrame, window: Window) -> Iterator[Window]:
    """Stretches of the window without any collector, and those in which one of several was gone and came back."""
    for gap in gaps.itertuples():
        low, high = max(int(gap.start), window.start), min(int(gap.end), window.end)
        counts = gap.instance == ANY or gap.end < NEVER
        if counts and high > low and high - int(gap.start) > SILENT_NS:
            yield Window(low, high)


def _gaps(store: Store, windows: Sequence[Window]) -> pd.DataFrame:
    """Pauses between beats that are too long, and what follows the last beat, of each collector and of ANY."""
    low, high = min(w.start for w in windows) - EARLIER_NS, max(w.end for w in windows) + SILENT_NS
    return store.query(_GAPS, low=low, high=high)


def _losses(store: Store, windows: Sequence[Window]) -> tuple[dict[str, int], list[str]]:
    """Refused requests as about so many records: by the mean of those that were taken."""
    totals: Counter[tuple[str, str, str, str]] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    for window in windows:
        for row in store.query(_LOSSES, low=window.start, high=window.end).itertuples():
            totals[row.name, row.signal, row.reason, row.final] += int(row.total)
            taken[row.name, row.signal] += int(row.total)
    problems: Counter[str] = Counter()
    messages = []
    for (name, signal, reason, final), count in sorted(totals.items()):
        if count and name not in (pulse.ACCEPTED, pulse.RECORDS):
            mean = taken[pulse.RECORDS, signal] / max(1, taken[pulse.ACCEPTED, signal])
            each = 1.0 if name == pulse.REJECTED else max(1.0, mean)
            problems["refused" if final == "false" else "rejected"] += round(count * each)
            messages.append(_said(name, signal, reason, final, count))
    return dict(problems), messages[:TOLD]


def _said(name: str, signal: str, reason: str, final: str, count: int) -> str:
    if name == pulse.REJECTED:
        return f"{signal}: {count} records were rejected by the collector"
    if name == pulse.QUARANTINED:
        return f"{signal}: {count} requests could not be loaded and are in quarantine"
    again = "; their senders may have sent them again" if final == "false" else ""
    return f"{signal}: {count} requests were refused by the collector ({reason}){again}"


_DURING = """TimeUnix >= fromUnixTimestamp64Nano({low:Int64}, 'UTC')
  AND TimeUnix < fromUnixTimestamp64Nano({high:Int64}, 'UTC')"""
_GAPS = f"""
WITH beats AS (
  SELECT ResourceAttributes['service.instance.id'] AS instance, toUnixTimestamp64Nano(TimeUnix) AS at
  FROM otel_metrics_gauge
  WHERE ServiceName = '{pulse.COLLECTOR}' AND MetricName = '{pulse.HEARTBEAT}' AND {_DURING}
), sorted AS (
  SELECT instance, arraySort(groupArray(at)) AS times FROM beats GROUP BY instance
  UNION ALL SELECT '{ANY}', arraySort(groupArray(at)) FROM beats HAVING count() > 0
)
SELECT instance, times[1] AS first, gap.1 AS start, gap.2 AS end FROM sorted
ARRAY JOIN arrayFilter(gap -> gap.2 - gap.1 > {SILENT_NS},
    arrayZip(times, arrayPushBack(arrayPopFront(times), toInt64({NEVER})))) AS gap
"""
_NAMES = ", ".join(
    f"'{name}'" for name in (pulse.ACCEPTED, pulse.RECORDS, pulse.REFUSED, pulse.REJECTED, pulse.QUARANTINED)
)
_LOSSES = f"""
SELECT toString(MetricName) AS name, Attributes['signal'] AS signal, Attributes['reason'] AS reason,
       Attributes['final'] AS final, toInt64(sum(Value)) AS total
FROM otel_metrics_sum
WHERE ServiceName IN ('{pulse.COLLECTOR}', '{pulse.CORRELATOR}') AND MetricName IN ({_NAMES})
  AND {_DURING}
GROUP BY name, signal, reason, final
"""
