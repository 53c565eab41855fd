"""Which two stretches of time to compare, when nobody says.

First the moments at which something is known to have happened (a start, a new instance, a changed
configuration) are tried as the boundary; few tests, so small data suffices. Then stretches that stand out
(`search.py`) are tried: in what is asked of the service, and in what it suffers, of which more is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from correlator.join.engine_down import outages
from correlator.join.search import refined, stretches
from correlator.join.series import BUCKET_NS
from correlator.join.symptom import (
    CANDIDATES,
    LOSSES,
    find_symptom,
    least_severity,
    measured,
    of_service,
    of_telemetry,
    still_down,
)
from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BLOCK_NS, Evidence, Kind, Symptom, Window, Windows, with_windows
from correlator.model.names import (
    ARRIVAL_RATE,
    ENGINE_DOWN,
    HOST_CPU,
    INPUT_TOKENS,
    LATENCY,
    LEDGER,
    OUTPUT_TOKENS,
    Signal,
)
from correlator.model.worth import PICKED_RATIO

SEARCHED = 10
"""Independent pairs of windows that a search over all stretches amounts to (Bonferroni)."""
SUFFERED = tuple(dict.fromkeys([*(c.signal for c in CANDIDATES if not c.falls), *LEDGER]))
"""Symptoms, and where the time goes: a wait that begins stands out before the whole does."""
ASKED: tuple[Signal, ...] = (ARRIVAL_RATE, INPUT_TOKENS, OUTPUT_TOKENS, HOST_CPU)
"""What is asked of the service, and of its host. A stretch that stands out in these was not picked for its latency,
so the smallest change worth naming is enough there."""
MOMENTS = frozenset({"engine_start", "engine_dead", "instance_start", "deploy"})
OUTAGES = 20
"""Outages tried, the longest: of an engine that flaps for days each further one would cost as much and tell no more."""

Found = tuple[Windows, Symptom] | None


def with_found_windows(evidence: Evidence, kind: Kind | None = None) -> Evidence:
    """Evidence with windows and symptom; both None when there is no activity to compare.

    That an engine was down at the end, and that telemetry is lost, are looked for when nothing else got worse.
    """
    active = _activity(evidence)
    if len(active) < 2:
        ended = _at_the_end(evidence, active, kind)
        return _with(evidence, *ended) if ended else evidence
    pairs = [*_at_outages(evidence, active), *_at_boundaries(evidence, active)]
    best = _best(evidence, pairs, kind)
    halves = Windows(Window(int(active[0]), _middle(active)), Window(_middle(active), int(active[-1]) + 1))
    if best is None:
        best = _worse(
            _best(evidence, stretches(evidence, ASKED), kind),
            _best(evidence, [*stretches(evidence, SUFFERED), halves], kind, SEARCHED, PICKED_RATIO),
        )
    best = best or _at_the_end(evidence, active, kind) or _lost(evidence, pairs, halves, kind)
    if best is not None:
        return _with(evidence, *best)
    fallback = with_windows(evidence, pairs[0] if pairs else halves)
    return replace(fallback, symptom=find_symptom(fallback, kind)) if kind else fallback


def with_onset_near(evidence: Evidence, kind: Kind | None = None) -> Evidence:
    """Evidence in whose windows nothing got worse, with the onset moved to where a signal really changed, if from there
    on something did: whoever tells an onset a minute late puts a minute of the incident into the baseline."""
    if evidence.windows is None:
        return evidence
    asked, suffered = (
        [w for w in (refined(evidence, evidence.windows, s) for s in signals) if w != evidence.windows]
        for signals in (ASKED, SUFFERED)
    )
    best = _worse(_best(evidence, asked, kind), _best(evidence, suffered, kind, SEARCHED, PICKED_RATIO))
    return evidence if best is None else _with(evidence, *best)


def extent(evidence: Evidence) -> Window | None:
    """From the first activity to the last."""
    active = _activity(evidence)
    return Window(int(active[0]), int(active[-1]) + 1) if len(active) else None


def trimmed(windows: Windows, evidence: Evidence) -> Windows:
    """Windows without the idle stretches at their ends (a restart between them is in neither)."""
    active = _activity(evidence)

    def trim(window: Window) -> Window:
        inside = active[(active >= window.start) & (active < window.end)]
        return Window(int(inside[0]), int(inside[-1]) + 1) if len(inside) else window

    return Windows(trim(windows.baseline), trim(windows.incident), windows.given)


def _with(evidence: Evidence, windows: Windows, symptom: Symptom) -> Evidence:
    return replace(with_windows(evidence, windows), symptom=symptom)


def _activity(evidence: Evidence) -> np.ndarray:
    """Start times of requests, or of buckets in which requests were measured.

    Where an engine was down it was active too, or should have been; without requests whenever its log tells of it.
    """
    busy, down = _busy(evidence), outages(evidence.series)
    if not down:
        return busy
    state = evidence.series[ENGINE_DOWN.name]
    told = state > 0 if len(evidence.requests) else state.notna()
    return np.union1d(busy, evidence.series.loc[told, "start"].to_numpy(dtype=np.int64))


def _busy(evidence: Evidence) -> np.ndarray:
    """Of several measures the first is asked that speaks half as often as the others: an access log tells of a batch
    of streamed answers once, when it begins."""
    if len(evidence.requests):
        return np.sort(evidence.requests["start"].to_numpy(dtype=np.int64))
    series = evidence.series
    measured = [c for c in (f"n.{LATENCY.name}", "completion_rate", "generation_throughput") if c in series]
    if not measured:
        return np.sort(series["start"].to_numpy(dtype=np.int64)) if len(series) else np.array([], dtype=np.int64)
    active = series[measured].fillna(0) > 0
    told = active.sum()
    first = next(column for column in measured if told[column] >= told.max() / 2)
    busy = series[active[first]]
    return np.sort(busy["start"].to_numpy(dtype=np.int64))


def _at_boundaries(evidence: Evidence, active: np.ndarray) -> list[Windows]:
    """One pair per distinct way the known moments cut the activity in two."""
    moments = sorted({e.unix_nano for e in evidence.events if e.name in MOMENTS} | set(_changes(evidence)))
    cuts = _apart(sorted({int(np.searchsorted(active, m)) for m in moments}), active)
    found = []
    for i, cut in enumerate(cuts):
        before = active[(cuts[i - 1] if i else 0) : cut]
        after = active[cut : (cuts[i + 1] if i + 1 < len(cuts) else len(active))]
        if all(part[-1] - part[0] >= (MIN_BLOCKS - 1) * BLOCK_NS for part in (before, after)):
            found.append(
                Windows(Window(int(before[0]), int(before[-1]) + 1), Window(int(after[0]), int(after[-1]) + 1))
            )
    return found


def _at_outages(evidence: Evidence, active: np.ndarray) -> list[Windows]:
    """For each time an engine was down, long enough to be compared: that, and the activity since the time before."""
    down = outages(evidence.series)
    begun = [int(active[0]), *(outage.end for outage in down)]
    pairs = (Windows(Window(since, outage.start), outage) for since, outage in zip(begun, down, strict=False))
    long = [w for w in pairs if min(w.baseline.seconds, w.incident.seconds) * 1e9 > (MIN_BLOCKS - 1) * BLOCK_NS]
    return sorted(long, key=lambda windows: -windows.incident.seconds)[:OUTAGES]


def _at_the_end(evidence: Evidence, active: np.ndarray, kind: Kind | None) -> Found:
    """An engine that was down when its log ended, and what came before; a first start may have nothing before it."""
    down = outages(evidence.series)
    if not down:
        return None
    before = min(max([int(active[0]), *(outage.end for outage in down[:-1])]), down[-1].start - BUCKET_NS)
    rest = Window(down[-1].start, max(down[-1].end, int(active[-1]) + 1))
    windows = Windows(Window(before, rest.start), rest)
    symptom = still_down(with_windows(evidence, windows), kind)
    return (windows, symptom) if symptom else None


def _lost(evidence: Evidence, pairs: list[Windows], halves: Windows, kind: Kind | None) -> Found:
    """Looked for where anything was lost at all."""
    frames, signals = (evidence.requests, evidence.series), [candidate.signal for candidate in LOSSES]
    lost = any((frame[s.name] > 0).any() for s in signals for frame in frames if s.name in frame)
    if not lost or kind not in (None, Kind.TELEMETRY):
        return None
    found = stretches(evidence, signals)
    return _best(evidence, [*pairs, *found, halves], kind, SEARCHED, find=of_telemetry)


def _apart(cuts: list[int], active: np.ndarray) -> list[int]:
    """Cuts at least MIN_BLOCKS blocks of activity apart; of close ones, that at the longest idle stretch."""
    groups: list[list[int]] = []
    for cut in (c for c in cuts if 0 < c < len(active)):
        close = bool(groups) and active[cut] - active[groups[-1][-1]] < (MIN_BLOCKS - 1) * BLOCK_NS
        groups[-1].append(cut) if close else groups.append([cut])
    return [max(group, key=lambda c: active[c] - active[c - 1]) for group in groups]


def _changes(evidence: Evidence) -> Iterable[int]:
    seen: dict[tuple[str, str], str] = {}
    for fact in evidence.facts:
        key = (fact.name, fact.resource)
        if seen.get(key, fact.value) != fact.value:
            yield fact.unix_nano
        seen[key] = fact.value


def _best(
    evidence: Evidence,
    pairs: list[Windows],
    kind: Kind | None,
    tests: int = 1,
    ratio: float = 1.0,
    find: Callable[[Evidence, Kind | None, int], Symptom | None] = of_service,
) -> Found:
    """The pair whose symptom is the most severe even at the near end of its interval."""
    found, told = [], measured(evidence)
    for windows in dict.fromkeys(pairs):
        symptom = find(with_windows(told, windows), kind, max(tests, len(pairs)))
        if symptom is not None and (symptom.kind is not Kind.LATENCY or symptom.change.value >= ratio):
            found.append((windows, symptom))
    return _worse(*found)


def _worse(*found: Found) -> Found:
    """The one whose symptom is the most severe even at the near end of its interval; None of none."""
    return max((pair for pair in found if pair), key=lambda pair: least_severity(pair[1]), default=None)


def _middle(active: np.ndarray) -> int:
    return int(active[len(active) // 2])
