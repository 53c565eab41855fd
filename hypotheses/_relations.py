"""Predictions that tie a cause to the symptom: dose and response, and the share accounted for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.model.effects import TAIL, difference, rank_correlation, ratio, share_of_change
from correlator.model.evidence import BASELINE, INCIDENT, Evidence, Interval
from correlator.model.findings import Outcome, Reading
from correlator.model.names import (
    GENERATION_THROUGHPUT,
    LATENCY,
    TIME_PER_OUTPUT_TOKEN,
    Group,
    Signal,
    part_name,
)
from correlator.model.worth import LATENCY_RATIO
from hypotheses._contract import Test
from hypotheses._decide import spared, spelled
from hypotheses._frames import frame_with, incident_with, too_few_blocks, untestable
from hypotheses._predict import shown_by
from hypotheses._tokens import batch_accounts, decoding_accounts

CORRELATION = 0.1
"""Cohen's smallest correlation worth naming."""
STRONG = 0.5
"""Cohen's smallest strong correlation."""
MIN_ROWS = 10
SYMPTOM = "the symptom"


def rises_with(effect: Signal, cause: Signal, in_incident: bool = False) -> Test:
    """More of the cause, more of the effect: rank correlation over rows, its error from blocks.

    `in_incident`: over the incident's rows only, for a cause that has no value before it.
    """

    def read(evidence: Evidence) -> Reading:
        frame = (incident_with if in_incident else frame_with)(evidence, effect, cause)
        if isinstance(frame, Reading):
            return frame
        rows = frame.rows[(frame.rows["period"] == INCIDENT) if in_incident else (frame.rows["period"] != "")]
        found = rank_correlation(rows, effect.name, cause.name)
        if found is None:
            return _constant(rows, effect, cause)
        interval = found.interval
        held = interval.value >= CORRELATION and found.p_above <= TAIL
        outcome = Outcome.HELD if held else Outcome.FAILED if interval.high < CORRELATION else Outcome.INCONCLUSIVE
        text = f"rank correlation of {effect.name} with {cause.name} {spelled(interval)}"
        return shown_by(Reading(outcome, text, interval, found.p_above, found.blocks), rows, cause)

    return Test(f"{effect.name} rises with {cause.name}", read, (effect, cause))


def levels_off(effect: Signal, cause: Signal) -> Test:
    """During the incident more of the cause brings no more of the effect: it is at its plateau."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, effect, cause)
        if isinstance(frame, Reading):
            return frame
        found = rank_correlation(frame.rows[frame.rows["period"] == INCIDENT], effect.name, cause.name)
        if found is None:
            return too_few_blocks()
        interval = found.interval
        flat = interval.value < CORRELATION and interval.high < STRONG
        outcome = Outcome.HELD if flat else Outcome.FAILED if interval.low > CORRELATION else Outcome.INCONCLUSIVE
        text = f"rank correlation of {effect.name} with {cause.name} within the incident {spelled(interval)}"
        return Reading(outcome, text, interval, None, found.blocks)

    return Test(f"{effect.name} no longer rises with {cause.name} in the incident", read, (effect, cause))


def _constant(rows: pd.DataFrame, effect: Signal, cause: Signal) -> Reading:
    values = rows[cause.name].dropna()
    if len(values) >= MIN_ROWS and values.nunique() < 2:
        return Reading(
            Outcome.FAILED,
            f"{cause.name} was {values.iloc[0]:.3g} throughout: {effect.name} cannot follow it",
        )
    return too_few_blocks()


def accounts_for(*parts: Signal, at_least: float = 0.2) -> Test:
    """These parts together make up at least this share of what the symptom added.

    A symptom that is not a time (errors, throughput) is accounted for through the latency it came with,
    unless the single part is itself a share of requests, like the symptom. Where no latency was measured, tokens
    speak for themselves (`_tokens.py`).
    """
    spelled_parts = " + ".join(part_name(p) for p in parts)

    def read(evidence: Evidence) -> Reading:
        if evidence.symptom is None:
            reason = "no symptom beyond noise to account for"
            return frame if isinstance(frame := frame_with(evidence, LATENCY), Reading) else untestable((), reason)
        if LATENCY.name not in evidence.compared[0] | evidence.compared[1]:
            if evidence.symptom.signal == TIME_PER_OUTPUT_TOKEN:
                return decoding_accounts(parts)
            if evidence.symptom.signal == GENERATION_THROUGHPUT:
                return batch_accounts(evidence, parts, at_least)
        whole = evidence.symptom.signal if parts[0].unit == evidence.symptom.signal.unit else LATENCY
        frame = frame_with(evidence, whole, *parts)
        if isinstance(frame, Reading):
            return frame
        rows = _tail(frame.rows, whole) if evidence.symptom.statistic == "p95" else frame.rows
        return _share(rows, parts, whole, at_least, spelled_parts)

    statement = f"{spelled_parts} accounts for at least {at_least:.0%} of {SYMPTOM}"
    return Test(statement, read, (LATENCY, *parts), measures_share=True)


def _share(
    rows: pd.DataFrame, parts: tuple[Signal, ...], whole: Signal, at_least: float, spelled_parts: str
) -> Reading:
    together = np.sum([rows[p.name].to_numpy(dtype=float) for p in parts], axis=0)
    found = share_of_change(rows, together, rows[whole.name].to_numpy(dtype=float))
    if found is None:
        grew = difference(rows, whole.name)
        if grew is None:
            return too_few_blocks()
        if np.isnan(together).any() and grew.p_above <= TAIL:
            missing = tuple(p.name for p in parts)
            return untestable(missing, f"{spelled_parts} was not measured where {whole.name} grew")
        return Reading(Outcome.FAILED, f"{whole.name} did not grow, so {spelled_parts} accounts for nothing of it")
    interval = found.interval
    held = interval.value >= at_least and found.p_above <= TAIL
    outcome = Outcome.HELD if held else Outcome.FAILED if interval.high < at_least else Outcome.INCONCLUSIVE
    share = f"{interval.value:.0%} ({interval.low:.0%} to {interval.high:.0%})"
    text = f"{spelled_parts} makes up {share} of the change of {whole.name}"
    return shown_by(Reading(outcome, text, interval, found.p_above, found.blocks), rows, together)


def _tail(rows: pd.DataFrame, whole: Signal) -> pd.DataFrame:
    """The slowest tenth of each window: a tail can move while the mean does not."""
    edges = rows.groupby("period")[whole.name].transform(lambda v: v.quantile(0.9))
    return rows[rows[whole.name] >= edges]


def outgrew(signal: Signal, other: Signal) -> Test:
    """The signal grew by a larger factor than the other one: their intervals lie apart."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal, other)
        if isinstance(frame, Reading):
            return frame
        first, second = (frame.ratio(s) for s in (signal, other))
        if first is None or second is None:
            return too_few_blocks()
        one, two = first.interval, second.interval
        held, failed = one.low > max(two.high, 1.0), one.high < two.low
        outcome = Outcome.HELD if held else Outcome.FAILED if failed else Outcome.INCONCLUSIVE
        text = f"{signal.name} {spelled(one)}, {other.name} {spelled(two)}"
        return Reading(outcome, text, one, None, first.blocks)

    return Test(f"{signal.name} grew by a larger factor than {other.name}", read, (signal, other))


def spares(group: Group) -> Test:
    """Requests of the incident that lie in the group were no slower than the baseline's of that group."""
    signal = group.signal

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, LATENCY, signal)
        if isinstance(frame, Reading):
            return frame
        edge = frame.rows.loc[frame.rows["period"] == BASELINE, signal.name].quantile(group.quantile)
        rows = frame.rows[frame.rows[signal.name] <= edge]
        if (rows["period"] == INCIDENT).sum() < MIN_ROWS:
            return Reading(Outcome.UNTESTABLE, f"hardly any request of the incident has {signal.name} ≤ {edge:.3g}")
        effect = ratio(rows, LATENCY.name, "mean", frame.weight(LATENCY))
        if effect is None:
            return too_few_blocks()
        interval = effect.interval
        text = f"latency of requests with {signal.name} ≤ {edge:.3g} {spelled(interval)}"
        return Reading(spared(interval), text, interval, None, effect.blocks)

    return Test(
        f"requests with {signal.name} below the baseline's p{group.quantile * 100:.0f} were spared",
        read,
        (LATENCY, signal),
    )


def precedes(cause: Signal, effect: Signal) -> Test:
    """The cause left its baseline range no later than the effect did (to within one block)."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, cause, effect)
        if isinstance(frame, Reading):
            return frame
        left, followed = (first_departure(frame.rows, s) for s in (cause, effect))
        if left is None or followed is None:
            return Reading(Outcome.INCONCLUSIVE, "one of the two never clearly left its baseline range")
        order = list(dict.fromkeys(frame.rows.sort_values("start")["block"]))
        lead = order.index(followed) - order.index(left)
        outcome = Outcome.HELD if lead >= 0 else Outcome.FAILED if lead < -1 else Outcome.INCONCLUSIVE
        return Reading(outcome, f"{cause.name} departed {lead} blocks before {effect.name}")

    return Test(f"{cause.name} moved no later than {effect.name}", read, (cause, effect))


def first_departure(rows: pd.DataFrame, signal: Signal) -> str | None:
    """The first block of the incident whose mean lies above every block of the baseline."""
    means = rows.groupby(["period", "block"])[signal.name].mean().dropna()
    if BASELINE not in means.index.get_level_values(0):
        return None
    top = means.loc[BASELINE].max()
    in_incident = rows[rows["period"] == INCIDENT].sort_values("start")
    for block in dict.fromkeys(in_incident["block"]):
        if (INCIDENT, block) in means.index and means.loc[(INCIDENT, block)] > top:
            return str(block)
    return None


def fades(signal: Signal) -> Test:
    """The incident's second half is back near the baseline while its first half was not."""

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        rows, middle = frame.rows, _middle(frame.rows)
        late = rows[(rows["period"] == BASELINE) | (rows["start"] >= middle)]
        early = rows[(rows["period"] == BASELINE) | (rows["start"] < middle)]
        first, second = (ratio(part, signal.name, "mean", frame.weight(signal)) for part in (early, late))
        if first is None or second is None:
            return too_few_blocks()
        outcome = _faded(first.interval, second.interval)
        halves = f"first half {spelled(first.interval)}, second half {spelled(second.interval)}"
        text = f"{signal.name} against the baseline: {halves}"
        return Reading(outcome, text, second.interval, None, second.blocks)

    return Test(f"{signal.name} is back near its baseline in the incident's second half", read, (signal,))


def _faded(early: Interval, late: Interval) -> Outcome:
    """Held: at least half of the excess is gone and what is left would be no symptom (1.3)."""
    halved = late.value - 1 <= (early.value - 1) / 2
    if halved:
        return Outcome.HELD if early.low > 1 and late.value < LATENCY_RATIO else Outcome.INCONCLUSIVE
    return Outcome.FAILED if late.low > 1 else Outcome.INCONCLUSIVE


def _middle(rows: pd.DataFrame) -> float:
    incident = rows.loc[rows["period"] == INCIDENT, "start"]
    return float((incident.min() + incident.max()) / 2)
