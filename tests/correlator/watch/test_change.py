"""What counts as a change, and whether it is still there."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from correlator.join.symptom import find_symptom
from correlator.model.evidence import Evidence, Kind, Window, Windows, with_windows
from correlator.watch.change import changes, still
from correlator.watch.sighting import Condition
from tests.correlator.join.synthetic import service, slower
from tests.correlator.join.telemetry import at
from tests.correlator.watch.world import several, silent

WINDOW, BEFORE = 120, 720


def compared(fault: Callable[[pd.DataFrame], pd.DataFrame] = lambda requests: requests, seed: int = 0) -> Evidence:
    """Twelve minutes against the two after them."""
    return marked(service(seconds=BEFORE + WINDOW, rate=5, seed=seed, memory=0.2, fault=fault))


def marked(evidence: Evidence) -> Evidence:
    windows = Windows(Window(at(0), at(BEFORE)), Window(at(BEFORE), at(BEFORE + WINDOW)))
    return with_windows(evidence, windows)


def test_a_clear_change_is_seen_with_its_numbers() -> None:
    """Three times slower: one sighting, its severity measured against the smallest worth naming."""
    seen = list(changes(compared(slower(3, BEFORE))))
    assert [(Kind.LATENCY, "rag", Condition.WORSE)] == [(s.kind, s.where, s.condition) for s in seen]
    assert seen[0].severity == pytest.approx(np.log(3) / np.log(1.3), rel=0.15)
    assert seen[0].title.startswith("rag: mean request_latency is ")


def test_a_change_that_could_be_small_is_not() -> None:
    """Beyond noise, but the near end of its interval is below the smallest effect: a symptom, and no incident."""
    slightly = compared(slower(1.27, BEFORE))
    assert find_symptom(slightly) is not None
    assert [] == list(changes(slightly))


@pytest.mark.parametrize(
    ("factor", "kind", "expected"),
    [
        (3.0, Kind.LATENCY, Condition.WORSE),
        (1.0, Kind.LATENCY, Condition.WELL),
        (3.0, Kind.ERRORS, Condition.WELL),
        (3.0, Kind.AVAILABILITY, Condition.WELL),
        (3.0, Kind.QUALITY, Condition.UNKNOWN),
    ],
)
def test_whether_it_is_still_worse(factor: float, kind: Kind, expected: Condition) -> None:
    """By its own kind; what was not measured is unknown."""
    assert expected is still(compared(slower(factor, BEFORE)), kind, "rag").condition


@pytest.mark.parametrize("where", ["rag", "nobody"])
def test_what_sends_nothing_is_unknown(where: str) -> None:
    """A service that fell silent, or was never there, is not well."""
    whole = service(seconds=BEFORE + WINDOW, rate=5)
    assert Condition.UNKNOWN is still(marked(silent(whole, BEFORE, BEFORE + WINDOW)), Kind.LATENCY, where).condition


def test_a_neighbours_trouble_is_not_ones_own() -> None:
    """Each service is compared by its own requests only."""
    sick, well = (service(seconds=BEFORE + WINDOW, rate=5, memory=0.2, fault=slower(f, BEFORE)) for f in (4, 1))
    both = marked(several(sick=sick, well=well))
    assert ["sick"] == [s.where for s in changes(both)]
    assert Condition.WELL is still(both, Kind.LATENCY, "well").condition
