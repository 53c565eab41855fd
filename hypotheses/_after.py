"""Predictions about the time before and after a happening: who still worked, and what failed then."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from correlator.model.effects import TAIL, share_of_change
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ERROR, Events, Signal
from hypotheses._contract import Test
from hypotheses._frames import frame_with, untestable
from hypotheses._levels import MOSTLY

BEFORE_NS, AFTER_NS = 15_000_000_000, 60_000_000_000
"""A kubelet decides on three probes in a row, 5 s apart; a replacement needs a minute or more to be ready."""
WORKED = 0.5
"""Of the baseline's median: a server that does half of its usual work is busy or slow, not dead."""

OFTENER = 2.0
"""As many again as at other times: failures of a steady rate do not wait for a probe."""
STARTED, READY = Events.ENGINE_START, Events.ENGINE_READY
LIFE = frozenset({STARTED, READY, Events.ENGINE_DEAD, Events.OUT_OF_MEMORY, Events.MODEL_LOAD_FAILURE,
                  Events.DRIVER_MISMATCH})  # fmt: skip
"""What a log tells of an engine: it starts, is ready, or died of something."""


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


def ended_while_starting(*events: str) -> Test:
    """Each of these events ended an engine that was still starting; held where another start took longer than that.

    Without such a start nothing tells one that needs its time from one that hangs.
    """

    def read(evidence: Evidence) -> Reading:
        times = _times(evidence, events)
        if not len(times):
            return untestable((), f"no {' or '.join(events)} in the incident")
        if "engine_log" not in evidence.coverage.watched:
            return untestable(("engine_log",), "no log would show whether the engine was ready")
        life = sorted((e.unix_nano, e.name) for e in evidence.events if e.name in LIFE)
        given = [time - began for time in times for began, name in [_before(life, time)] if name == STARTED]
        needed = [then - at for (at, name), (then, next_) in pairwise(life) if (name, next_) == (STARTED, READY)]
        text = f"the engine was still starting at {len(given)} of {len(times)}"
        if len(given) < len(times):
            return Reading(Outcome.FAILED, text)
        longer = max(needed, default=0) > min(given)
        return Reading(Outcome.HELD if longer else Outcome.INCONCLUSIVE, text)

    return Test(f"{' or '.join(events)} ended the engine while it started", read)


def _before(life: list[tuple[int, str]], time: int) -> tuple[int, str]:
    return next((told for told in reversed(life) if told[0] < time), (0, ""))


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0


def _times(evidence: Evidence, events: tuple[str, ...]) -> np.ndarray:
    return np.array([e.unix_nano for e in evidence.during(INCIDENT, frozenset(events))], dtype=np.int64)
