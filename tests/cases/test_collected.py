"""What makes an answer hold, and shares that come from answers: a report that nobody answered is none that holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from correlator.model.findings import Diagnosis, Finding, Verdict
from tests.cases.collected import WITH_AGREE_2, shares, summary, together
from tests.cases.report import Answer, Report
from tests.exporters.sample import incident

SUPPORTED, REFUTED, INCONCLUSIVE, UNTESTABLE = (
    Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.UNTESTABLE,
)  # fmt: skip
REPORT = Report(id="C001", agree=2, cause="a", suspects=("b",), files=dict)
CLEARS = replace(REPORT, cause="")
DECISIVE = replace(REPORT, decisive=True)


def told(*verdicts: Verdict, symptom: bool = True) -> Diagnosis:
    """An answer on the causes a, b, c, … in this order, each less probable than the one before."""
    findings = tuple(Finding("abcdef"[i], "", verdict, 0.5**i) for i, verdict in enumerate(verdicts))
    sample = incident()
    return replace(sample, findings=findings, symptom=sample.symptom if symptom else None)


@pytest.mark.parametrize(
    ("report", "answer"),
    [
        pytest.param(REPORT, told(UNTESTABLE, REFUTED), id="first"),
        pytest.param(replace(REPORT, cause="c"), told(UNTESTABLE, REFUTED, UNTESTABLE), id="third"),
        pytest.param(DECISIVE, told(SUPPORTED, UNTESTABLE), id="first and supported"),
        pytest.param(DECISIVE, told(UNTESTABLE, REFUTED), id="first where all evidence is wanted"),
        pytest.param(CLEARS, told(UNTESTABLE, REFUTED), id="suspect refuted"),
        pytest.param(CLEARS, told(UNTESTABLE, INCONCLUSIVE), id="suspect undecided"),
    ],
)
def test_it_holds(report: Report, answer: Diagnosis) -> None:
    """The cause is near the top, first where that is asked, supported or not; a suspect was tested."""
    assert Answer(report, answer).holds


@pytest.mark.parametrize(
    ("report", "answer"),
    [
        pytest.param(REPORT, told(UNTESTABLE, SUPPORTED), id="suspect accused"),
        pytest.param(CLEARS, told(UNTESTABLE, SUPPORTED), id="suspect accused where it is to be cleared"),
        pytest.param(CLEARS, told(REFUTED, UNTESTABLE), id="suspect untestable"),
        pytest.param(replace(REPORT, cause="d"), told(*[UNTESTABLE] * 4, REFUTED), id="fourth"),
        pytest.param(REPORT, told(REFUTED, *[UNTESTABLE] * 4), id="refuted"),
        pytest.param(replace(DECISIVE, cause="c"), told(UNTESTABLE, REFUTED, SUPPORTED), id="supported but not first"),
        pytest.param(REPORT, told(UNTESTABLE, UNTESTABLE), id="all untestable"),
        pytest.param(REPORT, told(SUPPORTED, REFUTED, symptom=False), id="no symptom"),
        pytest.param(CLEARS, told(UNTESTABLE, REFUTED, symptom=False), id="suspect refuted without a symptom"),
        pytest.param(REPORT, told(), id="no cause at all"),
    ],
)
def test_it_does_not_hold(report: Report, answer: Diagnosis) -> None:
    """A suspect is accused or passed over in silence, the cause is too far down, or nothing is said at all."""
    assert not Answer(report, answer).holds


def test_a_report_with_two_inputs_is_one() -> None:
    """It holds only with both of them."""
    second = replace(REPORT, id="C001b")
    assert {"C001": False} == together([(REPORT, True), (second, False)])
    assert {"C001": False} == together([(REPORT, False), (second, True)])
    assert {"C001": True} == together([(REPORT, True), (second, True)])


def test_what_is_not_tested_does_not_hold() -> None:
    """The second share is of all reports, tested or not."""
    assert (0.75, 3 / WITH_AGREE_2) == shares({"C001": True, "C002": True, "C005": True, "C007": False})


def test_the_summary_is_of_the_answers() -> None:
    """Not of what a report is expected to do: whatever is unexpected is told, and a limit that is missed too."""
    one, two, three = (replace(REPORT, id=f"C00{i}", fails="it is hard" if i == 2 else "") for i in (1, 2, 3))
    answers = [
        Answer(one, told(SUPPORTED, REFUTED)),
        Answer(two, told(UNTESTABLE, REFUTED)),
        Answer(three, told(REFUTED, *[UNTESTABLE] * 4)),
        Answer(replace(CLEARS, id="C004"), told(UNTESTABLE, REFUTED)),
    ]
    lines = summary(answers).splitlines()
    assert "3 of 4 reports that can be tested hold: 75%, misses the limit of 85%" == lines[0]
    assert lines[1].startswith(f"3 of all {WITH_AGREE_2} with agree >= 2 hold: 3%, misses the limit of 85%; ")
    assert "agreed cause supported in 1 of 3 reports that have one, only first by rank in 1" == lines[2]
    assert ["  C003 does not hold: unexpected", "  C002 holds, unexpected: it is hard"] == lines[3:]


def test_a_limit_that_is_reached_is_told() -> None:
    """Of the tested alone, here."""
    assert "100%, reaches the limit" in summary([Answer(REPORT, told(SUPPORTED, REFUTED))]).splitlines()[0]
