"""The terminal report reads well at any width, without colour, and cannot be taken over by telemetry."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from correlator.model.evidence import Coverage
from correlator.model.findings import Diagnosis, Stability
from exporters import terminal
from tests.exporters import sample
from tests.exporters.hostile import filled

GOLDEN = Path(__file__).parent / "golden"


def shown(diagnosis: Diagnosis, width: int = 80, encoding: str = "utf-8", **console: object) -> str:
    """What appears on a console of that width, without colour unless asked for."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    options = {"force_terminal": False, "color_system": None, **console}
    terminal.render(diagnosis, Console(file=out, width=width, _environ={}, **options))  # type: ignore[arg-type]
    out.flush()
    out.buffer.seek(0)
    return out.buffer.read().decode(encoding)


def flat(text: str) -> str:
    """The text with its line breaks undone."""
    return " ".join(text.split())


def lines(text: str) -> list[str]:
    """Lines without the blanks at their end."""
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(("name", "width"), [("incident", 80), ("incident", 120), ("healthy", 80)])
def test_the_page_is_the_golden_one(name: str, width: int) -> None:
    """The whole report, as it was read and found good."""
    golden = (GOLDEN / f"{name}_{width}.txt").read_text(encoding="utf-8")
    assert golden.splitlines() == lines(shown(getattr(sample, name)(), width))


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    """Everything but a command that must stay whole fits the width, hostile wide characters too."""
    for diagnosis in (sample.incident(), sample.healthy(), sample.empty(), filled("漢字 " * 9)):
        findings = tuple(replace(f, experiment=None) for f in diagnosis.findings)
        bare = replace(diagnosis, findings=findings, next_experiment=None)
        assert [] == [line for line in lines(shown(bare, width)) if cell_len(line) > width]


def test_a_command_that_does_not_fit_is_not_broken() -> None:
    """A command too long for the box stays on one line, so that it can be copied."""
    found = sample.incident()
    experiment = found.findings[0].experiment
    assert experiment is not None
    assert experiment.command in lines(shown(found, 60))


def test_colour_only_repeats_the_words() -> None:
    """With and without colour the same words are shown."""
    plain = shown(sample.incident())
    coloured = Console(
        file=io.StringIO(), width=80, force_terminal=True, color_system="standard", record=True, _environ={}
    )
    terminal.render(sample.incident(), coloured)
    assert lines(plain) == lines(coloured.export_text(styles=False))


def test_without_colour_nothing_is_escaped() -> None:
    """A dumb terminal and a file get no control sequences."""
    assert "\x1b" not in shown(sample.incident())


def test_the_symptom_is_told_with_its_numbers() -> None:
    """The first sentence has both values, the change, its interval and the time."""
    expected = (
        "Mean request latency at rag-gateway rose from 170 ms to 362 ms, ×2.13 (90% interval 1.84 to 2.47), "
        "since 2026-11-30 03:36:30 UTC."
    )
    assert expected in flat(shown(sample.incident()))


def test_every_refuted_cause_has_what_killed_it() -> None:
    """The failed necessary prediction is told with its numbers, one that need not hold is not."""
    text = flat(shown(sample.incident()))
    assert "Expected: The retrieval part of the ledger grew. Seen: Retrieval took 12 ms before" in text
    assert "[14 blocks, q = 0.008]" in text
    assert "A sign that is not necessary" not in text


def test_nothing_found_says_what_it_rests_on() -> None:
    """Without a symptom the report says so, on what grounds, and promises no health."""
    text = flat(shown(sample.healthy()))
    assert "Nothing got worse beyond noise between the two windows." in text
    assert "This rests on 4,021 spans, 31,877 points, 212 logs and 2 signals." in text
    assert "What was not watched is not ruled out." in text
    assert "healthy" not in text.lower()


@pytest.mark.parametrize("part", ["windows", "coverage"])
def test_nothing_to_compare_is_not_nothing_found(part: str) -> None:
    """Without windows or without signals the report says that it knows nothing."""
    known = sample.healthy()
    blind = replace(known, windows=None) if part == "windows" else replace(known, coverage=Coverage())
    text = flat(shown(blind))
    assert "Nothing could be compared" in text
    assert "No change beyond noise" not in text


def test_unwatched_sources_rule_nothing_out() -> None:
    """Signals without a source in both windows are not taken for watching."""
    found = sample.healthy()
    text = flat(shown(replace(found, coverage=replace(found.coverage, watched=frozenset()))))
    assert "No source was present in both windows, so nothing can be ruled out." in text


def test_forty_findings_stay_readable() -> None:
    """Twelve of a kind are told, the others named and counted, none lost."""
    many = [sample.refuted(f"cause_{i}", "It grew.", "It did not.", None) for i in range(40)]
    text = flat(shown(replace(sample.incident(), findings=tuple(many))))
    assert "Refuted (40)" in text
    assert "And 28 more: cause_12," in text
    assert 12 == text.count("Expected: It grew.")
    assert all(f"cause_{i}" in text for i in range(40))


def test_an_untested_stability_is_said() -> None:
    """Zero re-runs are not a stable answer."""
    assert "was not tested" in shown(replace(sample.incident(), stability=Stability()))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_poor_encoding_does_not_stop_the_report(encoding: str) -> None:
    """What the encoding lacks is replaced; times signs and frames become plain."""
    text = shown(filled("漢字 ± ok"), encoding=encoding)
    assert "?? " in text
    assert "x2.13" in text


def test_telemetry_cannot_command_the_terminal() -> None:
    """Control sequences, markup, and direction marks in telemetry are taken out or shown as text."""
    text = shown(filled("a\x1b]0;owned\x07[red]b[/red][/]\u202ec\r\n:smile:"))
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(text)
    assert "[red]b[/red][/]c :smile:" in text


@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=60), width=st.integers(20, 130))
def test_any_text_at_any_width_is_printed(text: str, width: int) -> None:
    """No text from telemetry makes the report fail."""
    assert "Symptom" in shown(filled(text), width)


def test_importing_it_loads_nothing_heavy() -> None:
    """A command that prints needs neither pandas nor a plotting library for it."""
    code = "import sys, exporters.terminal; print({'pandas', 'numpy', 'plotly', 'jinja2'} & set(sys.modules))"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert "set()" == ran.stdout.strip()
