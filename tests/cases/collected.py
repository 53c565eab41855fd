"""All reports that are written here as cases, found by module, and the share of them that holds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tests.cases.report import Answer, Report
from tests.cases.untested import UNTESTED

WITH_AGREE_2 = 101
"""Reports of the collection with agree ≥ 2: 43 of 3 and 58 of 2."""


def reports() -> list[Report]:
    """Every report of every section, in order."""
    sections = sorted(path.stem for path in Path(__file__).parent.glob("s[0-9][0-9]_*.py"))
    return [report for name in sections for report in import_module(f"tests.cases.{name}").CASES]


def number(report: Report) -> str:
    """The report's number in the collection; one that has two inputs is one report."""
    return report.id[:4]


def held(found: Sequence[Report]) -> dict[str, bool]:
    """By number: is it expected to hold, with all its inputs?"""
    return {number(r): all(not other.fails for other in found if number(other) == number(r)) for r in found}


def by_chance(answers: Sequence[Answer]) -> float:
    """The share that would hold if every report got the answers of the others in turn: what any answer is worth."""
    others = [a.holds_for(one.report) for one in answers for a in answers if number(a.report) != number(one.report)]
    return sum(others) / len(others)


def summary(found: Sequence[Report]) -> str:
    """How many reports there are, are tested, hold, and why the others do not."""
    told = held(found)
    holding = sum(told.values())
    lines = [
        f"{WITH_AGREE_2} reports with agree >= 2: {len(told)} tested, {holding} hold ({holding / len(told):.0%} of "
        f"the tested), {len(told) - holding} do not, {len(UNTESTED)} cannot be tested",
    ]
    lines += [f"  {r.id} does not hold: {r.fails}" for r in found if r.fails]
    return "\n".join(lines)
