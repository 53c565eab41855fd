"""The HTML report is one page that loads nothing, runs nothing and reads well without its pictures."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.model.evidence import Interval
from correlator.model.findings import Bar, Diagnosis, Illustration, LedgerLine, Outcome, Waterfall
from exporters import report
from tests.exporters import sample
from tests.exporters.hostile import filled

VOID = {"meta", "path", "img", "br", "link", "input"}
ATTACKS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"onload="alert(1)',
    "' onmouseover='alert(1)",
    "</style><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "--><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "</code></pre><iframe>",
    "\x00\x1b[31m\u202e<b>",
]
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


class Page(HTMLParser):
    """Elements, attributes, text and whether every element was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    @property
    def shape(self) -> Counter[tuple[str, tuple[str, ...]]]:
        return Counter((tag, tuple(attributes)) for tag, attributes in self.elements)

    def tagged(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]


def page(diagnosis: Diagnosis) -> Page:
    return Page(report.render(diagnosis))


@pytest.mark.parametrize("diagnosis", [sample.incident(), sample.healthy(), sample.empty()])
def test_the_page_is_whole_and_alone(diagnosis: Diagnosis) -> None:
    """Every element is closed, nothing is loaded or run, and the page is small."""
    text = report.render(diagnosis)
    found = Page(text)
    assert [] == found.open
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in found.elements}
    assert not {"src", "href", "onload", "onclick"} & {name for _, each in found.elements for name in each}
    assert [] == re.findall(r"https?://|url\(|@import", text)
    assert len(text) < 6_000_000


def test_the_page_forbids_scripts_and_requests() -> None:
    """A content security policy stands before anything else could run."""
    policies = [m["content"] for m in page(sample.incident()).tagged("meta") if "http-equiv" in m]
    assert ["default-src 'none'; style-src 'unsafe-inline'"] == policies


@pytest.mark.parametrize("text", ATTACKS)
def test_hostile_text_adds_no_element(text: str) -> None:
    """Whatever every string says, elements and attributes are those of a harmless page, and it is shown."""
    found = page(filled(text))
    assert page(filled("word")).shape == found.shape
    visible = text.replace("\x00", "").replace("\x1b", "").replace("\u202e", "")
    assert visible in found.text


def test_the_same_diagnosis_gives_the_same_page() -> None:
    """No clock and no chance goes into the page."""
    assert report.render(sample.incident()) == report.render(sample.incident())


def test_every_chart_has_words() -> None:
    """Each picture has a text alternative, each table a caption, each section its heading."""
    found = page(sample.incident())
    pictures = [each for _, each in found.elements if each.get("role") == "img"]
    assert len(pictures) >= 3
    assert [] == [each for each in pictures if not each.get("aria-label", "").strip()]
    assert len(found.tagged("table")) == len(found.tagged("caption"))
    headings = {each["id"] for each in found.tagged("h2")}
    assert headings == {each["aria-labelledby"] for each in found.tagged("section")}
    assert len(headings) == len(found.tagged("h2"))


def test_the_charts_are_there() -> None:
    """Symptom over time with both windows, ledger, effects and example traces are drawn."""
    text = report.render(sample.incident())
    for part in ('<div class="shade baseline"', '<div class="shade incident"', '<path d="M', "row stack",
                 'class="whisker"', "row fall"):  # fmt: skip
        assert part in text, part


def test_charts_follow_the_numbers() -> None:
    """The incident bar of the ledger fills the track and the baseline's is shorter in proportion."""
    text = report.render(replace(sample.incident(), ledger=(LedgerLine("queue", 1.0, 4.0, 1.0),)))
    bars = re.findall(r'class="seg c7" style="left:(.*?)%;width:(.*?)%" title', text)
    assert [("0.00", "25.00"), ("0.00", "100.00")] == bars


def test_ratios_lie_on_a_logarithmic_axis() -> None:
    """A half and a double lie equally far from no change."""
    results = tuple(
        sample.prediction(str(ratio), "", Outcome.HELD, "", Interval(ratio, ratio, ratio)) for ratio in (0.5, 1, 2)
    )
    found = replace(sample.incident(), findings=(replace(sample.root(), predictions=results),))
    assert ["0.00", "50.00", "100.00"] == re.findall(r'class="dot" style="left:(.*?)%', report.render(found))


def test_missing_stretches_are_not_drawn_over() -> None:
    """A gap in the timeline breaks the line."""
    points = tuple((sample.T0 + i * sample.S, 1.0) for i in range(30) if not 10 <= i < 20)
    text = report.render(replace(sample.incident(), illustration=Illustration(points)))
    (path,) = re.findall(r'<path d="(.*?)"', text)
    assert 2 == path.count("M")


def test_everything_is_bounded() -> None:
    """Long timelines, traces and lists are thinned, cut and counted."""
    bars = tuple(Bar(f"span {i}", "s", "decode", 1, i, 1.0) for i in range(5000))
    points = tuple((sample.T0 + i * sample.S, float(i % 9)) for i in range(50_000))
    many = tuple(sample.refuted(f"cause_{i}", "It grew.", "It did not.", None) for i in range(400))
    drawn = Illustration(points, "s", tuple(Waterfall(str(i), "incident", "t", bars) for i in range(50)))
    found = replace(sample.incident(), illustration=drawn, findings=many)
    text = report.render(found)
    assert "100 of 5000 spans" in text
    assert "And 360 more: cause_40" in text
    assert len(text) < 500_000


def test_errors_in_traces_are_named() -> None:
    """A failed span says so in words, not by its colour alone."""
    trace = Waterfall("t", "incident", "A failure", (Bar("call", "svc", "decode", 0, 0.0, 1.0, error=True),))
    drawn = replace(sample.incident(), illustration=Illustration(waterfalls=(trace,)))
    assert "call (error)" in page(drawn).text


def test_nothing_found_says_what_it_rests_on() -> None:
    """Without a symptom the page says so, on what grounds, and promises no health."""
    text = page(sample.healthy()).text
    assert "Nothing got worse beyond noise between the two windows." in text
    assert "What was not watched is not ruled out." in text
    assert "healthy" not in text.lower()


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(ANY_FLOAT, min_size=6, max_size=6),
    unit=st.sampled_from(["ratio", "s", "1", "{token}", ""]),
)
def test_any_numbers_are_drawn_inside_the_page(numbers: list[float], unit: str) -> None:
    """Not finite, huge, tiny, negative: the page is made, and no mark lies outside its track."""
    a, b, c, d, e, f = numbers
    result = sample.prediction("p", "", Outcome.HELD, "", Interval(a, b, c, unit))
    found = replace(
        sample.incident(),
        findings=(replace(sample.root(), predictions=(result,), share=Interval(d, e, f), probability=a),),
        ledger=(LedgerLine("queue", a, b, c), LedgerLine("decode", d, e, None)),
        illustration=Illustration(
            ((sample.T0, a), (sample.T0 + 1, b), (sample.T0 + 2, c), (sample.T0 + sample.S, d)),
            unit,
            (Waterfall("t", "incident", "t", (Bar("x", "s", "queue", 0, e, f), Bar("y", "s", "queue", 1, a, b))),),
        ),
    )
    text = report.render(found)
    marks = [float(m) for m in re.findall(r'style="left:(.*?)%', text)]
    marks += [float(m) + float(w) for m, w in re.findall(r'style="left:(.*?)%;width:(.*?)%', text)]
    assert [] == [mark for mark in marks if not -0.01 <= mark <= 100.01]
