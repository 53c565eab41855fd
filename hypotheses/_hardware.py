"""Predictions about faults that a GPU's driver reports."""

from __future__ import annotations

from correlator.model.evidence import Event, Evidence, Windows
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Events
from hypotheses._contract import Test
from hypotheses._frames import untestable
from hypotheses._happenings import before_onset

HARDWARE = frozenset(
    {46, 48, 54, 61, 62, 64, 74, 79, 94, 95, 110, 119, 120, 121, 136, 140, 143, *range(144, 151), 155, 156, 157, 158,
     161, 167, 168, 171, 172, 173}
)  # fmt: skip
"""Xid codes that NVIDIA's catalogue lays to memory, bus, link, power or firmware. 13, 31 and 43 are a program's own
errors, 45 and 154 follow another one, 63 and 92 tell of errors that were dealt with."""
ALWAYS = frozenset({Events.GPU_LOST, Events.GPU_RESET_REQUIRED, Events.GPU_ECC_ERROR})


def hardware_fault(seen_by: frozenset[str], within_s: float | None = None) -> Test:
    """A hardware fault of a GPU was reported from shortly before the onset on; `within_s`: near the onset itself."""
    where = "in the incident or just before it" if within_s is None else f"within {within_s:g} s of the onset"

    def read(evidence: Evidence) -> Reading:
        if evidence.windows is None:
            return untestable((), "nothing to compare: no two windows with activity")
        low, high = _stretch(evidence.windows, within_s)
        found = [e for e in evidence.events if low <= e.unix_nano < high and is_hardware(e)]
        if found:
            return Reading(Outcome.HELD, "; ".join(dict.fromkeys(map(_told, found[:3]))))
        if not seen_by & evidence.coverage.watched:
            return untestable(tuple(sorted(seen_by)), "no source that would show a GPU's faults")
        return Reading(Outcome.FAILED, f"no hardware fault of a GPU was reported {where}")

    return Test(f"a hardware fault of a GPU was reported {where}", read)


def is_hardware(event: Event) -> bool:
    """Is it the GPU's fault, and not that of the program that ran on it?"""
    if event.name in ALWAYS:
        return True
    code = event.attributes.get("xid", "")
    return event.name == Events.XID and code.isdigit() and int(code) in HARDWARE


def _stretch(windows: Windows, within_s: float | None) -> tuple[int, int]:
    if within_s is None:
        return before_onset(windows), windows.incident.end
    reach = int(within_s * 1e9)
    return windows.incident.start - reach, windows.incident.start + reach


def _told(event: Event) -> str:
    code = event.attributes.get("xid")
    where = f" on {event.resource}" if event.resource else ""
    return f"{event.name}{f' {code}' if code else ''}{where}"
