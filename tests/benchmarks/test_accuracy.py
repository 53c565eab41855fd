"""The table of accuracy scores what it was asked for and no more, each world by itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks.accuracy import main
from benchmarks.corpus import NONE, Seen, Told

CAUSE = "retrieval_slow"
HELD = dict.fromkeys(("retrieval_grew", "accounts_for_it", "dose_response", "it_slowed_more_than_the_model"), "held")
FINDINGS = {CAUSE: Told("supported", 1.0, None, None, HELD), NONE: Told("inconclusive", 0.0, None, None, {})}
RIGHT = Seen(CAUSE, 100, "recorded", 1.0, "given", (CAUSE,), True, FINDINGS)
WRONG = replace(RIGHT, right=("kv_cache_preemption",))
CRASHED = replace(RIGHT, findings={}, error="ValueError('[/]')")


def tell(path: Path, answers: Iterable[Seen], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Let the command tell of a corpus that lacks nothing of what is asked for."""
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in answers), encoding="utf-8")
    asked = ["--faults", CAUSE, "--seeds", "100:101", "--patterns", "given", *arguments]
    monkeypatch.setattr(sys, "argv", ["accuracy", str(path), *asked])
    main()


def cells(line: str) -> list[str]:
    """What stands between the bars of a table."""
    return [cell.strip() for cell in line.strip("│").split("│")]


def rows(text: str, first: str) -> list[list[str]]:
    """The rows of tables that begin so."""
    return [cells(line) for line in text.splitlines() if line.startswith("│") and cells(line)[0] == first]


def test_only_what_was_asked_for_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other severities, patterns, seeds and faults in the corpus are left out."""
    other = [
        replace(WRONG, severity=0.5), replace(WRONG, pattern="found"), replace(WRONG, seed=7),
        replace(WRONG, fault="healthy"), replace(WRONG, world="faster"),
    ]  # fmt: skip
    tell(tmp_path / "corpus.jsonl", [RIGHT, *other], monkeypatch)
    (row,) = rows(capsys.readouterr().out, "given")
    assert ["given", "1", "1.00", "1.00"] == row[:4]


def test_each_world_has_its_own_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is right in one world does not make up for another."""
    both = [RIGHT, replace(WRONG, world="faster")]
    tell(tmp_path / "c", both, monkeypatch, "--worlds", "recorded,faster")
    out = capsys.readouterr().out
    assert ["World: recorded", "World: faster"] == [line for line in out.splitlines() if line.startswith("World")]
    assert ["1.00", "0.00"] == [row[2] for row in rows(out, "given")]


def test_a_crash_is_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no hit, its probability counts as sure and wrong, and its error is told as it is."""
    tell(tmp_path / "c", [CRASHED], monkeypatch)
    out = capsys.readouterr().out
    (fault,), (total,) = rows(out, CAUSE), rows(out, "given")
    assert "0.00" == fault[3]
    assert "ValueError('[/]')×1" in out
    assert ["1.000", "1.000"] == total[-2:]
