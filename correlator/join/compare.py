"""Two bundles (before/after, A/B) put side by side: the first is the baseline, the second the incident."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from correlator.join.windows import extent
from correlator.model.errors import InputError
from correlator.model.evidence import Coverage, Evidence, Window, Windows, with_windows

APART_NS = 60_000_000_000
"""Distance put between two bundles recorded at the same time, so that their windows do not overlap."""


def side_by_side(before: Evidence, after: Evidence) -> Evidence:
    """One evidence with the first bundle as baseline and the second as incident.

    Bundles whose times overlap, or whose order is reversed, are moved apart: only differences inside a bundle
    carry meaning. Raises InputError when one of them holds no activity.
    """
    first, second = extent(before), extent(after)
    if first is None or second is None:
        raise InputError("a bundle holds no requests and no measurements to compare")
    if second.start < first.end:
        shift = first.end - second.start + APART_NS
        after, second = _moved(after, shift), Window(second.start + shift, second.end + shift)
    joined = Evidence(
        requests=_one_after_the_other(before.requests, after.requests),
        series=_one_after_the_other(before.series, after.series),
        services=pd.concat([before.services, after.services], ignore_index=True),
        events=(*before.events, *after.events),
        facts=(*before.facts, *after.facts),
        coverage=_together(before.coverage, after.coverage),
    )
    return with_windows(joined, Windows(first, second, given=True))


def _one_after_the_other(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Rows of both, to be told anew which block they are in: bundles of one time have blocks of the same names."""
    return pd.concat([before, after], ignore_index=True).drop(columns="block", errors="ignore")


def _moved(evidence: Evidence, shift: int) -> Evidence:
    requests, series, services = evidence.requests.copy(), evidence.series.copy(), evidence.services.copy()
    for frame in (requests, series, services):
        for column in {"start", "end"} & set(frame.columns):
            frame[column] = frame[column] + shift
    return replace(
        evidence,
        requests=requests,
        series=series,
        services=services,
        events=tuple(replace(e, unix_nano=e.unix_nano + shift) for e in evidence.events),
        facts=tuple(replace(f, unix_nano=f.unix_nano + shift) for f in evidence.facts),
    )


def _together(before: Coverage, after: Coverage) -> Coverage:
    def summed(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
        return dict(Counter(a) + Counter(b))

    return replace(
        after,
        records=summed(before.records, after.records),
        signals={name: after.signals[name] for name in after.signals if name in before.signals},
        watched=before.watched & after.watched,
        extents={},
        problems=summed(before.problems, after.problems),
        messages=(*before.messages, *after.messages),
        orphan_share=max(before.orphan_share, after.orphan_share),
    )
