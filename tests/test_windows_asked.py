"""Windows that a person asks for: which are refused, and what is said where they hold too little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from correlator.model.errors import InputError
from correlator.model.evidence import Window
from correlator.wiring import Request, windowed
from exporters._sentences import headline
from tests.exporters import sample
from tests.recorded import joined, true_windows

CAPTURE = "s12_healthy"


TRUE = true_windows(CAPTURE)
LATER = Window(TRUE.baseline.start + 10**10, TRUE.baseline.end + 10**10)


@pytest.mark.parametrize(
    ("baseline", "incident"),
    [(TRUE.baseline, TRUE.baseline), (TRUE.baseline, LATER), (TRUE.incident, TRUE.baseline)],
    ids=["identical", "overlapping", "swapped"],
)
def test_windows_must_follow_one_another(baseline: Window, incident: Window) -> None:
    """An incident that begins before its baseline ends compares a time with itself."""
    with pytest.raises(InputError, match="must begin where the baseline window ends"):
        windowed(joined(CAPTURE), Request(paths=(), baseline_window=baseline, incident_window=incident))


def test_a_moment_is_too_little_to_tell() -> None:
    """Two windows of a second give no interval: that nothing was seen is not said to be health."""
    healthy = sample.healthy()
    assert healthy.windows is not None
    start = healthy.windows.incident.start
    moment = replace(healthy.windows, incident=Window(start, start + 10**9))
    assert headline(replace(healthy, windows=moment)).startswith("Too little time to tell")
    assert headline(healthy).startswith("Nothing got worse")
