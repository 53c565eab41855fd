"""Predictions about configuration and versions: what changed, what did not, and whether the symptom began with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from correlator.model.evidence import BLOCK_NS, METRICS, Evidence, Fact
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Events
from hypotheses._contract import Test
from hypotheses._frames import frame_with, untestable
from hypotheses._happenings import LEAD_NS, before_onset
from hypotheses._relations import first_departure

ENGINE = "engine"
"""The resource of facts that an engine's log tells."""
STARTED = ("engine.version", "engine.model")
"""Facts that a whole start-up log states: with both, a flag that is absent is at its default."""


def changed(*facts: str, kind: str = "configuration") -> Test:
    """One of these facts had another value in the incident than in the baseline.

    A start-up log that names only what differs from the defaults counts: a flag absent at one start and
    present at the next has changed. A value that metrics were first seen to show after the onset has not.
    """

    def read(evidence: Evidence) -> Reading:
        before, after = in_force(evidence, facts)
        started = [set(side) == set(STARTED) for side in in_force(evidence, STARTED)]
        known = {f for f in facts if f in before and f in after}
        if started[0] and started[1]:
            logged = {f.name for f in evidence.facts if f.name in facts and f.resource != METRICS}
            known |= logged & {*before, *after}
        if not known:
            return untestable(facts, f"{kind} not seen in both windows ({', '.join(facts)})")
        different = sorted(f for f in known if before.get(f) != after.get(f))
        if not different:
            return Reading(Outcome.FAILED, f"unchanged: {', '.join(f'{f}={after[f]}' for f in sorted(known))}")
        return Reading(
            Outcome.HELD,
            "; ".join(f"{f}: {before.get(f, 'default')} → {after.get(f, 'default')}" for f in different),
        )

    return Test(f"{kind} changed ({', '.join(facts)})", read)


def in_force(evidence: Evidence, names: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """Values of facts in the baseline (before what led to the onset) and at the end of the incident."""
    if evidence.windows is None:
        return {}, {}
    wanted = [f for f in evidence.facts if f.name in names]
    windows = evidence.windows
    onset, end = before_onset(windows), windows.incident.end
    before, after = (_since(_begun(evidence, moment), wanted) for moment in (onset, end))
    return _at(reversed(before), windows.baseline.end) | _at(before, onset), _at(after, end)


def _at(facts: Iterable[Fact], moment: int) -> dict[str, str]:
    return {fact.name: fact.value for fact in facts if fact.unix_nano < moment}


def _since(begun: int, facts: list[Fact]) -> list[Fact]:
    return [f for f in facts if f.resource != ENGINE or f.unix_nano >= begun]


def _begun(evidence: Evidence, moment: int) -> int:
    """When the engine last started before the moment, 0 if it is not known to have. What its log told before that holds
    no longer: a flag that is not named again is at its default, or nobody knows."""
    return max(
        (e.unix_nano for e in evidence.events if e.name == Events.ENGINE_START and e.unix_nano < moment), default=0
    )


def not_lowered(fact: str) -> Test:
    """A limit is not lower in the incident than in the baseline.

    Between a default, which a start-up log leaves out, and a number nothing is said.
    """

    def read(evidence: Evidence) -> Reading:
        before, after = (_value_or_default(side, fact) for side in in_force(evidence, (fact, *STARTED)))
        if not before or not after:
            return untestable((fact,), f"{fact} not seen in both windows")
        values = number(before), number(after)
        if before == after or (values[0] is not None and values[1] is not None and values[1] >= values[0]):
            return Reading(Outcome.HELD, f"{fact}: {before} → {after}")
        outcome = Outcome.INCONCLUSIVE if None in values else Outcome.FAILED
        return Reading(outcome, f"{fact}: {before} → {after}")

    return Test(f"{fact} was not lowered", read)


def _value_or_default(side: Mapping[str, str], fact: str) -> str:
    return side.get(fact, "default" if set(STARTED) <= set(side) else "")


def number(text: str | None) -> float | None:
    """A fact's value as a number, None where it is none."""
    try:
        return None if text is None else float(text.replace(",", ""))
    except ValueError:
        return None


def began_with_change(*facts: str) -> Test:
    """The symptom left its baseline range when one of these facts changed: not before, and within a minute.

    The block is the finest that a departure can be dated; one that began two blocks before was there already.
    """

    def read(evidence: Evidence) -> Reading:
        if evidence.symptom is None or evidence.windows is None:
            return untestable((), "no symptom beyond noise that could have begun")
        frame = frame_with(evidence, evidence.symptom.signal)
        if isinstance(frame, Reading):
            return frame
        change, block = _last_change(evidence, facts), first_departure(frame.rows, evidence.symptom.signal)
        if change is None:
            return untestable(facts, f"no moment at which one of {', '.join(facts)} changed")
        if block is None:
            return Reading(Outcome.INCONCLUSIVE, "the symptom never clearly left its baseline range")
        lag = int(frame.rows.loc[frame.rows["block"] == block, "start"].min()) - change
        outcome = Outcome.HELD if -2 * BLOCK_NS <= lag <= LEAD_NS else Outcome.FAILED
        return Reading(outcome, f"the symptom began {lag / 1e9:+.0f} s from the change")

    return Test(f"the symptom began when one of {', '.join(facts)} changed", read)


def _last_change(evidence: Evidence, names: tuple[str, ...]) -> int | None:
    """The last moment up to the incident's end at which a value was seen that differs from the one before it."""
    seen: dict[str, str] = {}
    moment = None
    for fact in evidence.facts:
        if fact.name in names and evidence.windows and fact.unix_nano < evidence.windows.incident.end:
            moment = fact.unix_nano if seen.get(fact.name, fact.value) != fact.value else moment
            seen[fact.name] = fact.value
    return moment
