"""One decision rule for all: where the interval of an effect lies against the smallest effect worth naming.

Held: the interval excludes "no effect" and the estimate reaches the smallest effect worth naming. Failed: the
interval excludes that smallest effect. Otherwise inconclusive. (Asking the whole interval to lie beyond the
smallest effect would, with seven blocks a window, hide incidents that doubled the latency.)
"""

from __future__ import annotations

from enum import StrEnum

from correlator.model.effects import TAIL, Effect
from correlator.model.evidence import Interval
from correlator.model.findings import Outcome, Reading
from correlator.model.worth import ENDLESS, SPARED_RATIO

UNCHANGED = "unchanged"


class Direction(StrEnum):
    """Which way a signal should have moved."""

    UP = "up"
    DOWN = "down"


def moved(effect: Effect, direction: Direction, smallest: float, what: str) -> Reading:
    """Judge a change against `smallest`, given in the effect's own unit (a ratio, or a difference)."""
    interval = effect.interval
    up = direction is Direction.UP
    edge = smallest if up or interval.unit != "ratio" else 1 / smallest
    edge = edge if up or interval.unit == "ratio" else -smallest
    p = effect.p_above if up else effect.p_below
    reached = interval.value >= edge if up else interval.value <= edge
    excluded = interval.high < edge if up else interval.low > edge
    outcome = Outcome.HELD if reached and p <= TAIL else Outcome.FAILED if excluded else Outcome.INCONCLUSIVE
    return Reading(outcome, f"{what} {spelled(interval)}", interval, p, effect.blocks)


def stayed(effect: Effect, within: float, what: str) -> Reading:
    """Judge that a ratio did not grow beyond `within`: held when its interval stays below."""
    interval = effect.interval
    outcome = (
        Outcome.HELD if interval.high < within else Outcome.FAILED if interval.low > within else Outcome.INCONCLUSIVE
    )
    return Reading(outcome, f"{what} {spelled(interval)}", interval, None, effect.blocks)


def spared(ratio: Interval) -> Outcome:
    """Judge whether a group was spared: held when its latency rose by next to nothing, failed when it rose."""
    if ratio.high < 2 * SPARED_RATIO - 1 and ratio.value < SPARED_RATIO:
        return Outcome.HELD
    return Outcome.FAILED if ratio.low > SPARED_RATIO else Outcome.INCONCLUSIVE


def spelled(interval: Interval) -> str:
    """An interval in words: `×2.1 (1.5 to 3.0)`, or with its unit; `unchanged` where nothing moved at all."""
    if interval.low == interval.high == (1.0 if interval.unit == "ratio" else 0.0):
        return UNCHANGED
    if interval.unit == "ratio":
        upper = f"{interval.low:.3g} and more" if interval.high >= ENDLESS else f"up to {interval.high:.3g}"
        both = f"{interval.low:.3g} to {interval.high:.3g}"
        ends = both if 1 / ENDLESS < interval.low and interval.high < ENDLESS else upper
        return f"×{interval.value:.3g} ({ends})"
    unit = "" if interval.unit in ("", "1") else f" {interval.unit}"
    return f"{interval.value:+.3g}{unit} ({interval.low:+.3g} to {interval.high:+.3g})"
