"""Is this machine's clock held by another one? Telemetry of several machines is joined by time."""

from __future__ import annotations

import ctypes

from correlator.doctor_checks import Check, State

TIMEX_BYTES = 256
"""More than `struct timex` of Linux takes; all zero it asks and sets nothing (adjtimex(2))."""
TIME_ERROR = 5


def clock() -> Check:
    """What the kernel says; `off` where it is not to be asked."""
    return told(_state())


def told(state: int | None) -> Check:
    """What a state of the kernel's clock, as adjtimex(2) returns it, means for us."""
    if state is None or state < 0:
        return Check("clock", State.OFF, "the system does not say whether its clock is synchronised")
    if state == TIME_ERROR:
        return Check("clock", State.WARN, "not synchronised: what other machines tell may be joined wrongly")
    return Check("clock", State.OK, "synchronised, as the kernel says")


def _state() -> int | None:
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    return None if adjtimex is None else int(adjtimex(ctypes.create_string_buffer(TIMEX_BYTES)))
