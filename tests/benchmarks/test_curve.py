"""The learning curve scores each calibration on incidents that it never saw."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.corpus import NONE, Seen, Told
from benchmarks.curve import main

TRUE, FALSE = "retrieval_slow", "dependency_slow"
TOLD = {
    TRUE: Told("supported", 0.5, None, None, {"the_model_did_not_slow_down": "held"}),
    FALSE: Told("supported", 0.5, None, None, {"the_model_did_not_slow_down": "failed"}),
    NONE: Told("inconclusive", 0.0, None, None, {}),
}
ONE = Seen(TRUE, 0, "recorded", 1.0, "given", (TRUE,), True, TOLD)


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, learn: Sequence[Seen], test: Sequence[Seen]) -> None:
    """The command with these two corpora."""
    for name, seen in (("learn", learn), ("test", test)):
        (folder / name).write_text("".join(json.dumps(asdict(one)) + "\n" for one in seen), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["curve", str(folder / "learn"), str(folder / "test")])
    main()


def test_a_line_for_each_number_of_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judgement first; what more seeds teach lowers the loss."""
    run(tmp_path, monkeypatch, [replace(ONE, seed=seed) for seed in range(3)], [replace(ONE, seed=100)])
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: float(row[2]) for row in rows if row and row[0].isdigit()}
    assert ["0", "1", "2", "3"] == list(found)
    assert found["3"] < found["0"]


@pytest.mark.parametrize(
    ("test", "said"),
    [([ONE], "1 incidents are in both"), ([], "expected two corpora"), ([replace(ONE, findings={})], "expected two")],
)
def test_what_cannot_be_scored_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    test: Sequence[Seen],
    said: str,
) -> None:
    """Nothing is tested on what taught it, nor on nothing."""
    with pytest.raises(SystemExit) as ended:
        run(tmp_path, monkeypatch, [ONE], test)
    assert 2 == ended.value.code
    assert said in capsys.readouterr().err
