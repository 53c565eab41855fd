"""What is left of a capture is the same wherever and whenever it is thinned out."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.lab.patterns import LOST, PATTERNS

REQUESTS = 400


def left(folder: Path, seed: int = 1, name: str = "retrieval_slow") -> list[str]:
    """The export requests that arrived of a capture with a line each."""
    folder.mkdir()
    (folder / "truth.json").write_text(json.dumps({"seed": seed, "name": name}), encoding="utf-8")
    (folder / "traces.jsonl").write_text("".join(f"{i}\n" for i in range(REQUESTS)), encoding="utf-8")
    (path,) = PATTERNS["lossy"].paths(folder)
    return path.read_text(encoding="utf-8").splitlines()


def test_what_is_lost_does_not_depend_on_the_folder(tmp_path: Path) -> None:
    """The same incident loses the same requests, whatever its folder is called."""
    assert left(tmp_path / "a") == left(tmp_path / "a longer name")


def test_what_is_lost_differs_between_incidents(tmp_path: Path) -> None:
    """Another seed or another fault loses others, and about as many."""
    each = [left(tmp_path / "a"), left(tmp_path / "b", seed=2), left(tmp_path / "c", name="rerank_slow")]
    assert 3 == len(set(map(tuple, each)))
    assert [] == [len(lines) for lines in each if not 0.5 * LOST < 1 - len(lines) / REQUESTS < 2 * LOST]
