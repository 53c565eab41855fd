"""All reports that are written here as cases, found by module, and the shares of them that hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from tests.cases.report import Answer, Report
from tests.cases.untested import UNTESTED

WITH_AGREE_2 = 101
"""Reports of the collection with agree ≥ 2: 43 of 3 and 58 of 2."""
LIMIT = 0.85
"""The share of all reports with agree ≥ 2 that is to hold."""


def reports() -> list[Report]:
    """Every report of every section, in order."""
    sections = sorted(path.stem for path in Path(__file__).parent.glob("s[0-9][0-9]_*.py"))
    return [report for name in sections for report in import_module(f"tests.cases.{name}").CASES]


def number(report: Report) -> str:
    """The report's number in the collection; one that has two inputs is one report."""
    return report.id[:4]


def together(inputs: Iterable[tuple[Report, bool]]) -> dict[str, bool]:
    """By number: is it so for all inputs of the report?"""
    found: dict[str, bool] = {}
    for report, so in inputs:
        found[number(report)] = found.get(number(report), True) and so
    return found


def shares(held: Mapping[str, bool]) -> tuple[float, float]:
    """Of the reports that can be tested, and of all, where one that cannot be tested is not held."""
    return sum(held.values()) / len(held), sum(held.values()) / WITH_AGREE_2


def by_chance(answers: Sequence[Answer]) -> float:
    """The share that would hold if every report got the answers of the others in turn: what any answer is worth."""
    others = [a.holds_for(one.report) for one in answers for a in answers if number(a.report) != number(one.report)]
    return sum(others) / len(others)


def summary(answers: Sequence[Answer]) -> str:
    """What the answers are worth: how many reports hold, how firmly, and why the others do not."""
    return "\n".join((*_held(answers), *_causes(answers), *_missed(answers)))


def _held(answers: Sequence[Answer]) -> Iterator[str]:
    held = together((a.report, a.holds) for a in answers)
    of_tested, of_all = shares(held)
    yield f"{sum(held.values())} of {len(held)} reports that can be tested hold: {_judged(of_tested)}"
    yield (
        f"{sum(held.values())} of all {WITH_AGREE_2} with agree >= 2 hold: {_judged(of_all)}; "
        f"the {len(UNTESTED)} without a hypothesis or an input count as not held"
    )


def _judged(share: float) -> str:
    return f"{share:.0%}, {'reaches' if share >= LIMIT else 'misses'} the limit of {LIMIT:.0%}"


def _causes(answers: Sequence[Answer]) -> Iterator[str]:
    """How often the agreed cause is supported, and how often it is first by no more than its probability."""
    expected = [a for a in answers if a.report.cause]
    supported = together((a.report, a.report.cause in a.supported) for a in expected)
    first = together((a.report, not a.silent and a.place(a.report.cause) == 1) for a in expected)
    only = sum(first[name] and not supported[name] for name in supported)
    yield (
        f"agreed cause supported in {sum(supported.values())} of {len(supported)} reports that have one, "
        f"only first by rank in {only}"
    )


def _missed(answers: Sequence[Answer]) -> Iterator[str]:
    yield from (f"  {a.report.id} does not hold: {a.report.fails or 'unexpected'}" for a in answers if not a.holds)
    yield from (f"  {a.report.id} holds, unexpected: {a.report.fails}" for a in answers if a.holds and a.report.fails)
