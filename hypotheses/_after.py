"""Predictions about the time before and after a happening: who still worked, and what failed then."""

from __future__ import annotations

import numpy as np

from correlator.model.effects import TAIL, share_of_change
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ERROR, Signal
from hypotheses._contract import Test
from hypotheses._frames import frame_with, untestable
from hypotheses._levels import MOSTLY

BEFORE_NS, AFTER_NS = 15_000_000_000, 60_000_000_000
"""A kubelet decides on three probes in a row, 5 s apart; a replacement needs a minute or more to be ready."""
WORKED = 0.5
"""Of the baseline's median: a server that does half of its usual work is busy or slow, not dead."""

OFTENER = 2.0
"""As many again as at other times: failures of a steady rate do not wait for a probe."""


def worked_until(signal: Signal, *events: str) -> Test:
    """In the 15 s before each of these events of the incident the signal was at least half of what it used to be."""

    def read(evidence: Evidence) -> Reading:
        times, rows = _times(evidence, events), evidence.numbers[1]
        if signal.name not in rows or rows[signal.name].dropna().empty:
            return untestable((signal.name,))
        if not len(times):
            return untestable((), f"no {' or '.join(events)} in the incident")
        usual = rows.loc[rows["period"] == BASELINE, signal.name].median()
        start, values = rows["start"].to_numpy(dtype=np.int64), rows[signal.name].to_numpy(dtype=float)
        near = [values[(start >= t - BEFORE_NS) & (start < t)] for t in times]
        means = [float(np.nanmean(v)) for v in near if len(v) and not np.isnan(v).all()]
        if not means or not usual > 0:
            return untestable((signal.name,), f"{signal.name} was not measured before these events")
        share = float(np.mean([mean >= WORKED * usual for mean in means]))
        outcome = Outcome.HELD if share > 0.5 else Outcome.FAILED if share < 0.25 else Outcome.INCONCLUSIVE
        return Reading(outcome, f"{signal.name} went on before {share:.0%} of {len(means)} of them")

    return Test(f"{signal.name} went on until {' or '.join(events)}", read, (signal,))


def errors_follow(*events: str) -> Test:
    """What the errors grew by began within a minute after these events, and hardly at other times of the incident."""

    def read(evidence: Evidence) -> Reading:
        frame, times = frame_with(evidence, ERROR), _times(evidence, events)
        if isinstance(frame, Reading):
            return frame
        if not len(times):
            return untestable((), f"no {' or '.join(events)} in the incident")
        failed, start = frame.rows[ERROR.name].to_numpy(dtype=float), frame.rows["start"].to_numpy(dtype=np.int64)
        after = np.any([(start >= t) & (start < t + AFTER_NS) for t in times], axis=0)
        found = share_of_change(frame.rows, np.where(after, failed, 0.0), failed)
        if found is None:
            return Reading(Outcome.FAILED, f"{ERROR.name} did not grow, so nothing of it followed")
        during = (frame.rows["period"] == INCIDENT).to_numpy()
        then, else_ = (_mean(failed[during & mask]) for mask in (after, ~after))
        held = found.interval.value >= MOSTLY and found.p_above <= TAIL and then > OFTENER * else_
        outcome = Outcome.HELD if held else Outcome.FAILED if found.interval.high < MOSTLY else Outcome.INCONCLUSIVE
        text = f"{found.interval.value:.0%} of the new failures within a minute after one; {then:.0%} failed then"
        return Reading(outcome, f"{text}, {else_:.0%} otherwise", found.interval, found.p_above, found.blocks)

    return Test(f"failures follow {' or '.join(events)}", read, (ERROR,), measures_share=True)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _times(evidence: Evidence, events: tuple[str, ...]) -> np.ndarray:
    return np.array([e.unix_nano for e in evidence.during(INCIDENT, frozenset(events))], dtype=np.int64)
