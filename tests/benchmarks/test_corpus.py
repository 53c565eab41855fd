"""A corpus records what was said of simulated incidents: once each, with all that was true, crashes too."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import corpus
from benchmarks.lab.patterns import PATTERNS, Pattern

BOTH = "retrieval_slow_and_kv_cache_preemption"
GIVEN = ["given"]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two incidents: one with two causes, one with none."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    list(corpus.grown(path, [(fault, 1, "recorded") for fault in (BOTH, "healthy")], 1.0, GIVEN, jobs=1))
    return path


def test_two_causes_are_both_recorded(grown: Path) -> None:
    """Of two at once both would be right, and both were at work; of nothing wrong nothing was."""
    both, calm = sorted(corpus.load(grown), key=lambda one: one.fault != BOTH)
    assert ("retrieval_slow", "kv_cache_preemption") == both.right == both.truths
    assert (("none_of_these",), ()) == (calm.right, calm.truths)


def test_an_incident_is_simulated_once(grown: Path) -> None:
    """What the file holds is neither simulated nor written again."""
    before = grown.read_bytes()
    assert [] == list(corpus.grown(grown, [("healthy", 1, "recorded")], 1.0, GIVEN, jobs=1))
    assert before == grown.read_bytes()


def test_a_crash_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be diagnosed is recorded with its error, so that it counts as wrong."""

    def broken(folder: Path) -> list[Path]:
        raise OSError("no such disk")

    monkeypatch.setitem(PATTERNS, "broken", Pattern(broken))
    (one,) = corpus.seen(("healthy", 1, "recorded"), 1.0, ["broken"])
    assert ("OSError('no such disk')", {}) == (one.error, one.findings)
