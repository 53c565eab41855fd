"""Faults that GPU metrics show by a change, beside those that were told as they happened: each counts once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from correlator.join.gpu_samples import LAST_XID, Samples
from correlator.model import names as n
from correlator.model.evidence import Event

LATE_NS = 90_000_000_000
"""So much later at most DCGM's last Xid shows one that NVML or the kernel told at once: dcgm-exporter reads every 30 s
unless told otherwise, Prometheus scrapes every 60 s."""
EARLY_NS = 2_000_000_000
"""Clocks of two sources on a machine, and the reading of the one before the line of the other."""


def faults(told: Samples) -> Iterator[Event]:
    """A last Xid that changed, and errors that could not be corrected: what stays as it was happened before."""
    for device, tracks in told.items():
        times, codes = tracks.get(LAST_XID, (np.array([]), np.array([])))
        for i in np.flatnonzero((np.diff(codes) != 0) & (codes[1:] != 0)):
            yield Event(n.Events.XID, int(times[i + 1]), device, "", {"xid": f"{codes[i + 1]:.0f}"})
        times, rates = tracks.get(n.GPU_ECC_UNCORRECTED.name, (np.array([]), np.array([])))
        for i in np.flatnonzero(rates > 0):
            yield Event(n.Events.GPU_ECC_ERROR, int(times[i]), device)


def without_echoes(shown: Iterable[Event], told: Iterable[Event]) -> Iterator[Event]:
    """Faults that metrics show, but for Xids that are among the `told` already. One that was told has one echo."""
    left = [event for event in told if event.name == n.Events.XID]
    for event in shown:
        heard = next((other for other in left if _is_echo(event, other)), None)
        if heard is None:
            yield event
        else:
            left.remove(heard)


def _is_echo(shown: Event, told: Event) -> bool:
    if shown.name != n.Events.XID or shown.attributes["xid"] != told.attributes.get("xid"):
        return False
    device = told.attributes.get("hw.id", shown.resource)
    return device == shown.resource and -EARLY_NS <= shown.unix_nano - told.unix_nano <= LATE_NS
