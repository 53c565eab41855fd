"""Numbers and times read as people write them, and never say more than is known."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.model.evidence import Interval, Window
from correlator.model.worth import ENDLESS
from exporters import _numbers as n
from tests.exporters import sample

NS = 1_000_000_000


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "s", "0 s"),
        (0.1 + 0.2 - 0.3, "s", "0 s"),
        (3.2e-5, "s", "32 µs"),
        (0.0123, "s", "12.3 ms"),
        (0.9997, "s", "1 s"),
        (61.25, "s", "61.2 s"),
        (12_345.6, "s", "12,346 s"),
        (-0.25, "s", "-250 ms"),
        (0.98, "1", "98%"),
        (0.0421, "1", "4.2%"),
        (1.7, "1", "1.70"),
        (2.1345, "ratio", "×2.13"),
        (1508.0, "{token}", "1,508 tokens"),
        (2.5, "{request}/s", "2.5 requests/s"),
        (3e15, "By", "3.00e+15 By"),
        (None, "s", "unknown"),
        (math.nan, "s", "unknown"),
        (math.inf, "ratio", "unknown"),
    ],
)
def test_a_quantity_has_three_digits_and_its_unit(value: float | None, unit: str, text: str) -> None:
    """Units are those of the signals; what is not finite is unknown."""
    assert text == n.quantity(value, unit)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0%"),
        (1e-17, "0%"),
        (1e-5, "under 0.1%"),
        (0.05, "5.0%"),
        (0.0996, "10%"),
        (0.994, "99%"),
        (0.9999, "over 99%"),
        (1.0, "100%"),
        (1.4, "140%"),
        (-0.05, "-5.0%"),
        (None, "unknown"),
    ],
)
def test_percent_is_never_falsely_sure(value: float | None, text: str) -> None:
    """Only what is 0 or 1 is shown as 0% or 100%."""
    assert text == n.percent(value)


def test_signs_are_shown_when_asked_for() -> None:
    """A change has its sign, no change has none."""
    changes = [n.quantity(change, "s", signed=True) for change in (0.2, -0.2, 0.0)]
    assert ["+200 ms", "-200 ms", "0 s"] == changes


def test_a_unitless_effect_is_no_percentage() -> None:
    """An effect without a unit may be a difference or a correlation, so it stays a plain number."""
    assert "0.42 (-0.1 to 0.9)" == n.interval(Interval(0.42, -0.1, 0.9, "1"))


def test_an_interval_says_where_it_has_no_end() -> None:
    """What events tell has no interval, and a ratio to next to nothing no upper end."""
    assert "×1.00" == n.interval(Interval(1.0, 1.0, 1.0))
    assert "×1,879 (476 and more)" == n.interval(Interval(1879.0, 476.0, ENDLESS))


def test_a_window_names_both_days_when_it_crosses_midnight() -> None:
    """The end has its date only when it differs."""
    start = sample.T0
    day = 86_400 * NS
    assert "2026-11-30 03:35:16 to 03:36:30 UTC (74 s)" == n.stretch(Window(start, start + 74 * NS))
    assert "to 2026-12-01 03:35:16 UTC" in n.stretch(Window(start, start + day))


@given(st.text())
def test_clean_text_is_one_visible_line(text: str) -> None:
    """Cleaned text has no line break, no control character, and is clean already the second time."""
    cleaned = n.clean(text)
    assert cleaned == n.clean(cleaned)
    assert cleaned == " ".join(cleaned.split())
    assert cleaned.isprintable()


def test_cut_text_says_so() -> None:
    """Text beyond the limit ends in an ellipsis and keeps within the limit."""
    assert "abcd…" == n.clean("abcdefgh", 5)
    assert "abcde" == n.clean("abcde", 5)
    assert "ab\n  c…" == n.block("ab\n  cdefgh", 6)


@given(st.floats(-1e300, 1e300))
def test_significant_is_close(value: float) -> None:
    """The text of a number is the number to half a percent."""
    assert value == pytest.approx(float(n.significant(value).replace(",", "")), rel=0.0051, abs=1e-300)
