"""Columns summed up by group: as pandas would, with a place for every group."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.join.arrays import Grouped, asked_once, numbers, positive

GROUPS = 4
NAN = np.nan
rows_of_groups = st.lists(
    st.tuples(st.integers(0, GROUPS - 1), st.booleans(), st.one_of(st.just(NAN), st.integers(-9, 9).map(float)))
)


@pytest.mark.parametrize("what", ["sum", "mean", "max", "first"])
@given(rows_of_groups)
def test_values_are_summed_up_as_pandas_does(what: str, rows: list[tuple[int, bool, float]]) -> None:
    """Of the marked rows those that are known count; a group without one is unknown."""
    table = pd.DataFrame(rows, columns=["group", "marked", "value"]).astype(
        {"group": int, "marked": bool, "value": float}
    )
    by = Grouped(table["group"].to_numpy(), GROUPS)
    marked = table[table["marked"]].groupby("group")["value"]
    expected = (marked.sum(min_count=1) if what == "sum" else marked.agg(what)).reindex(range(GROUPS))
    found = getattr(by, what)(table["value"].to_numpy(), table["marked"].to_numpy())
    np.testing.assert_allclose(expected.to_numpy(dtype=float), found)


def test_marked_rows_are_found_and_counted() -> None:
    """A group that no row is marked of has none, and no last one."""
    by, marked = Grouped(np.array([0, 2, 0, 2]), 3), np.array([True, True, True, False])
    assert [2, 0, 1] == by.size(marked).tolist()
    assert [True, False, True] == by.any(marked).tolist()
    assert [2, -1, 1] == by.last_row(marked).tolist()


def test_the_text_that_is_last_in_the_alphabet_is_told() -> None:
    """An empty text comes before all others; a group without a marked row has none."""
    by, texts = Grouped(np.array([0, 0, 1, 2, 3]), 4), pd.Series(["a", "b", "", "c", ""], dtype="str")
    found = by.last_text(texts, np.array([True, True, True, False, True]))
    assert ["b", "", None, ""] == found.astype(object).where(found.notna(), None).tolist()


def test_texts_that_are_no_numbers_are_unknown() -> None:
    """Neither an empty text nor a word is a number."""
    np.testing.assert_array_equal([2.0, NAN, NAN, 0.5], numbers(pd.Series(["2", "", "many", "0.5"], dtype="str")))


def test_nothing_is_divided_by_what_is_not_above_zero() -> None:
    """Zero, less than zero and unknown are no divisors."""
    np.testing.assert_array_equal([NAN, NAN, NAN, 2.0], positive(np.array([0.0, -1.0, NAN, 2.0])))


def test_equal_texts_are_asked_once() -> None:
    """Each row has the answer of its text, and a text is looked at once however often it occurs."""
    seen: list[str] = []
    found = asked_once(pd.Series(["a", "b", "a"], dtype="str"), lambda text: bool(seen.append(text)) or text == "a")
    assert ([True, False, True], ["a", "b"]) == (found.tolist(), seen)
