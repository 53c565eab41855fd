"""What PyTorch says of GPU allocations that failed: for good, with figures, or until it gave cached memory back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pandas as pd

from correlator.join.series import BUCKET_NS, covered
from correlator.model import names as n
from correlator.model.evidence import Event, Window
from correlator.model.names import Events

UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = rf"(\d+(?:\.\d+)?) ?({'|'.join(UNITS)})"
ASKED = re.compile(rf"Tried to allocate {_SIZE}")
UNALLOCATED = re.compile(rf"{_SIZE} is reserved by PyTorch but unallocated")
RESERVED = re.compile(rf"{_SIZE} reserved in total by PyTorch")
ALLOCATED = re.compile(rf"{_SIZE} already allocated")
"""Until PyTorch 2.0 the message named what was reserved in total and what of it was allocated."""


def figures(text: str) -> dict[str, str]:
    """`asked_bytes` and `unallocated_bytes` (held by the allocator, in use by nobody), as far as the message says."""
    asked, unallocated = _bytes(ASKED, text), _bytes(UNALLOCATED, text)
    reserved, allocated = _bytes(RESERVED, text), _bytes(ALLOCATED, text)
    if unallocated is None and reserved is not None and allocated is not None:
        unallocated = max(reserved - allocated, 0)
    told = {"asked_bytes": asked, "unallocated_bytes": unallocated}
    return {name: str(value) for name, value in told.items() if value is not None}


def _bytes(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return round(float(match[1]) * UNITS[match[2]]) if match else None


def with_allocations(series: pd.DataFrame, events: Iterable[Event], logs: Iterable[Window]) -> pd.DataFrame:
    """The series with how often an allocation was repeated, while a log spoke (`logs` says from when to when).

    Without any such line nothing is known: only newer versions of PyTorch write it.
    """
    found = Counter(e.unix_nano // BUCKET_NS for e in events if e.name == Events.ALLOCATION_RETRIED)
    if not found or series.empty:
        return series
    rate = (series["start"] // BUCKET_NS).map(found).fillna(0.0) / (BUCKET_NS / 1e9)
    return series.assign(**{n.ALLOCATION_RETRIES.name: rate.where(covered(series, logs))})
