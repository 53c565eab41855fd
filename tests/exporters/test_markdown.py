"""The Markdown report holds the same content, and text from telemetry does nothing in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from correlator.model.findings import Diagnosis
from exporters import markdown
from tests.exporters import sample
from tests.exporters.hostile import filled

GOLDEN = Path(__file__).parent / "golden" / "incident.md"
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def structure(text: str) -> list[str]:
    """The kinds of the elements on the page, in order, text left out."""
    tokens = [inner for token in PARSER.parse(text) for inner in (token, *(token.children or ()))]
    return [token.type for token in tokens if token.type != "text_special"]


def words(text: str) -> str:
    """The text that a reader sees, code included."""
    tokens = [inner for token in PARSER.parse(text) for inner in (token.children or (token,))]
    return " ".join(token.content for token in tokens if token.type in {"text", "code_inline", "fence"})


def test_the_page_is_the_golden_one() -> None:
    """The whole document, as it was read and found good."""
    assert GOLDEN.read_text(encoding="utf-8") == markdown.render(sample.incident())


@pytest.mark.parametrize("diagnosis", [sample.incident(), sample.healthy()])
def test_every_finding_is_there(diagnosis: Diagnosis) -> None:
    """Each hypothesis is named, whatever its verdict; *none of these* has its own line."""
    text = words(markdown.render(diagnosis))
    names = {finding.hypothesis for finding in diagnosis.findings} - {"none_of_these"}
    assert set() == {name for name in names if name not in text}
    assert "None of these" in text


def test_nothing_found_says_what_it_rests_on() -> None:
    """Without a symptom the document says so, on what grounds, and promises no health."""
    text = words(markdown.render(sample.healthy()))
    assert "Nothing got worse beyond noise between the two windows." in text
    assert "What was not watched is not ruled out." in text
    assert "healthy" not in text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "`a` ``b``",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1)) ![b](http://x/y)",
        "*a* __b__ ~~c~~ ~~~",
        "# a",
        "- a",
        "+ a",
        "12. a",
        "3) a",
        "1) a",
        "123456789. a",
        "--- \n===\n```\n",
        "    a",
        "\\",
        "a\\",
        "&lt;b&gt; &#64;",
        "<!-- ",
        "```",
        "> a",
        "| - |",
        "[x]: http://a 'b'",
        "$x$",
    ],
)
def test_text_cannot_change_the_page(text: str) -> None:
    """Hostile text gives the same elements as a harmless word."""
    assert structure(markdown.render(filled("word"))) == structure(markdown.render(filled(text)))


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab1 `|*_[]()<>#!~\\-+=.&;\n\t:/@\"'$x", min_size=1, max_size=14).filter(str.strip))
def test_escaped_text_is_one_plain_text(text: str) -> None:
    """Alone in a list item, any escaped text is that text again and no other element."""
    parsed = structure(f"- {markdown.escape(text)}\n")
    around = ("bullet_list", "list_item", "paragraph")
    outer = [kind for kind in parsed if not kind.startswith(around)]
    assert {"inline", "text"} >= set(outer)
    told = "".join(t.content for t in PARSER.parseInline(markdown.escape(text))[0].children or ())
    assert " ".join(text.split()) == told.replace("\u2060", "")


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="a` |\\<*", min_size=1, max_size=10).filter(lambda text: text.strip()))
def test_code_in_a_table_holds_any_text(text: str) -> None:
    """A code span in a table cell is one code span and leaves the other cell alone."""
    parsed = PARSER.parse(f"| a | b |\n|---|---|\n| {markdown.code(text)} | z |\n")
    cells = [t for t in parsed if t.type == "inline"][2:]
    assert [["code_inline"], ["text"]] == [[c.type for c in cell.children or ()] for cell in cells]
    assert " ".join(text.split()) == (cells[0].children or [])[0].content


def test_nobody_is_mentioned_and_nothing_linked() -> None:
    """A name with an at sign or an address pages nobody and links nowhere."""
    assert "@everyone" not in markdown.escape("hi @everyone")
    assert "http://" not in markdown.escape("see http://evil.example")
    assert "WWW.evil" not in markdown.escape("see WWW.evil.example")


def test_a_command_with_backticks_stays_in_its_block() -> None:
    """The fence is longer than any run of backticks inside."""
    assert ["````sh", "echo ```", "````"] == markdown.fenced("echo ```")


def test_many_findings_are_counted() -> None:
    """Forty are told, the others named."""
    many = tuple(sample.refuted(f"cause_{i}", "It grew.", "It did not.", None) for i in range(45))
    text = markdown.render(replace(sample.incident(), findings=many))
    assert 40 == text.count("expected: It grew.")
    assert "and 5 more: `cause_40`" in text
