"""Recorded pairs of runs on an H100: the cause first and nobody else accused, silence where nothing differs."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.h100 import OWN, SHARED, Answer, answer, pairs

SHARED_PAIRS = (
    "cap-1.3b-128-16",
    "knee-1.3b-256-768",
    "kv-13b-96-256",
    "share-1.3b-96-x4",
)
"""One of each cause; all of them are `python -m benchmarks.h100`."""


@cache
def own(name: str) -> Answer:
    """A pair of the repository."""
    return answer(OWN / f"{name}.tar.xz")


def test_the_pairs_are_found() -> None:
    """Two pairs are in the repository, so that no rule below passes on nothing."""
    assert ["none-1.3b-768.tar.xz", "share-1.3b-96-x2-replica.tar.xz"] == [path.name for path in pairs(OWN)]


def test_another_engine_on_the_gpu_is_found() -> None:
    """One engine's own telemetry, with the GPU's memory beside it, is enough to see that it has company."""
    found = own("share-1.3b-96-x2-replica")
    assert ("gpu_cotenant", ()) == (found.first, found.wrong)
    assert "gpu_cotenant" in found.supported


def test_two_like_runs_are_silent() -> None:
    """Between runs of one configuration on different days nothing is found."""
    found = own("none-1.3b-768")
    assert ("", ()) == (found.symptom, found.supported)


@pytest.mark.parametrize("name", SHARED_PAIRS)
def test_each_cause_is_found(name: str) -> None:
    """The cause of a pair is first, and no cause that its truth excludes is supported."""
    path = SHARED / f"{name}.tar.xz"
    if not path.is_file():
        pytest.skip("the shared pairs are not at hand (../shared/data/h100-pairs)")
    assert answer(path).right
