"""Windows that a person asks for: which are refused, and what is said where they hold too little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from correlator.model.errors import InputError
from correlator.model.evidence import Window
from correlator.wiring import Request, windowed
from exporters._sentences import headline
from tests.correlator.join.synthetic import service, slower
from tests.correlator.join.telemetry import at
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


def told(onset_s: float) -> Request:
    """Six minutes, cut where somebody says that it began."""
    windows = Window(at(0), at(onset_s)), Window(at(onset_s), at(360))
    return Request(paths=(), baseline_window=windows[0], incident_window=windows[1])


@pytest.mark.parametrize("onset_s", [120, 180, 240], ids=["early", "right", "late"])
def test_an_onset_may_be_told_wrong_by_a_minute(onset_s: float) -> None:
    """A service that is twice as slow from its 180th second on: the moment is found within two blocks in 19 of 20."""
    seen = [windowed(service(360, seed, fault=slower(2.0, 180)), told(onset_s)).symptom for seed in range(20)]
    missed = [symptom for symptom in seen if symptom is None or abs(symptom.onset - at(180)) > 20e9]
    assert len(missed) <= 1


@pytest.mark.parametrize("memory", [0.0, 0.7], ids=["white", "lasting"])
def test_a_better_onset_is_not_found_in_noise(memory: float) -> None:
    """Of a hundred healthy services at least 95 are left in peace, wherever somebody cuts them."""
    accused = [s for s in range(100) if windowed(service(360, s, memory=memory), told(180 + 6 * (s % 11) - 30)).symptom]
    assert len(accused) <= 5, accused
