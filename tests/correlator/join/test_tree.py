"""The critical path: every instant of a trace belongs to exactly one span."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.join.roles import CLIENT, SERVER
from correlator.join.tree import MAX_DEPTH, critical_path, with_tree

MS = 1_000_000
Row = tuple[str, str, int, int]
"""Span id, parent id, start and end in milliseconds."""


def table(rows: list[Row], roles: dict[str, str] | None = None, trace: str = "t") -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["span_id", "parent_id", "start", "end"])
    frame["duration"] = (frame["end"] - frame["start"]) * MS
    frame["start"] = frame["start"] * MS + 10**18
    frame["own_role"] = [(roles or {}).get(span_id, "") for span_id in frame["span_id"]]
    return frame.assign(trace_id=trace).drop(columns="end").astype({"start": "int64", "duration": "int64"})


def own(rows: list[Row], roles: dict[str, str] | None = None) -> dict[str, int]:
    """Milliseconds of the critical path spent in each span itself."""
    spans = critical_path(with_tree(table(rows, roles)))
    return {s: round(x * 1000) for s, x in zip(spans["span_id"], spans["own"], strict=True)}


@st.composite
def spans_of_a_trace(draw: st.DrawFn) -> tuple[list[Row], dict[str, str]]:
    """Any shape: overlapping, nested, empty, outside the parent, orphaned, in a circle, several roots."""
    count = draw(st.integers(1, 12))
    known = ["", "lost", *(f"s{i}" for i in range(count))]
    rows, roles = [], {}
    for i in range(count):
        start, length = draw(st.integers(-50, 150)), draw(st.one_of(st.just(0), st.integers(0, 120)))
        parent = "" if i == 0 else draw(st.sampled_from(known))
        rows.append((f"s{i}", parent, start, start + length))
        roles[f"s{i}"] = draw(st.sampled_from(["", "", CLIENT, SERVER]))
    return draw(st.permutations(rows)), roles


@given(spans_of_a_trace())
def test_own_times_add_up_to_the_root(trace: tuple[list[Row], dict[str, str]]) -> None:
    """No own time is negative, and those of a trace add up to its root's duration."""
    spans = critical_path(with_tree(table(*trace)))
    root = spans.loc[spans["root"].iloc[0]]
    assert spans["own"].min() >= 0
    assert spans["own"].sum() == pytest.approx(root["duration"] / 1e9, abs=1e-9)


@given(spans_of_a_trace())
def test_the_span_without_a_parent_is_the_root(trace: tuple[list[Row], dict[str, str]]) -> None:
    """A trace that has a span without a parent id is never rooted in an orphan, and always has a root."""
    spans = with_tree(table(*trace))
    assert spans["root"].nunique() == 1
    assert spans.loc[spans["root"].iloc[0], "parent_id"] == ""


@settings(max_examples=30)
@given(st.lists(spans_of_a_trace(), min_size=2, max_size=3))
def test_traces_do_not_touch_each_other(several: list[tuple[list[Row], dict[str, str]]]) -> None:
    """Own times of a trace are the same whatever other traces, with the same span ids, lie beside it."""
    frames = [table(*trace, trace=f"t{i}") for i, trace in enumerate(several)]
    alone = pd.concat([critical_path(with_tree(frame))["own"] for frame in frames], ignore_index=True)
    together = critical_path(with_tree(pd.concat(frames)))["own"]
    assert alone.tolist() == together.tolist()


def test_a_trace_without_spans_is_an_empty_table() -> None:
    """Nothing in, nothing out."""
    assert 0 == len(critical_path(with_tree(table([]))))


def test_children_one_after_the_other_all_count() -> None:
    """Of sequential children each keeps its time, and the gaps are the parent's."""
    assert {"r": 30, "a": 40, "b": 30} == own([("r", "", 0, 100), ("a", "r", 10, 50), ("b", "r", 60, 90)])


def test_of_parallel_children_the_one_waited_for_counts() -> None:
    """What the later-ending child overlaps of the other was hidden behind it."""
    assert {"r": 10, "a": 20, "b": 70} == own([("r", "", 0, 100), ("a", "r", 0, 50), ("b", "r", 20, 90)])


def test_a_child_hidden_behind_its_sibling_counts_nothing() -> None:
    """A child that began and ended while another was still awaited is not on the critical path."""
    assert {"r": 20, "a": 0, "b": 80, "c": 0} == own(
        [("r", "", 0, 100), ("a", "r", 30, 60), ("b", "r", 10, 90), ("c", "a", 40, 50)]
    )


def test_a_child_that_outlives_its_parent_is_cut() -> None:
    """Work that goes on after the answer does not add to the answer's time."""
    assert {"r": 60, "late": 40} == own([("r", "", 0, 100), ("late", "r", 60, 500)])


def test_a_child_outside_its_parent_counts_nothing() -> None:
    """Fire-and-forget work after the parent's end, and work before its start, are not on its path."""
    assert {"r": 100, "a": 0, "b": 0} == own([("r", "", 0, 100), ("a", "r", 200, 300), ("b", "r", -80, -20)])


def test_nested_spans_hand_their_time_down() -> None:
    """Each level keeps only what its child does not cover."""
    assert {"r": 20, "a": 20, "b": 60} == own([("r", "", 0, 100), ("a", "r", 10, 90), ("b", "a", 20, 80)])


def test_an_orphan_takes_no_time_from_the_root() -> None:
    """A span whose parent was lost is marked, and the root's time stays with those that are linked."""
    spans = critical_path(with_tree(table([("r", "", 0, 100), ("x", "lost", 10, 60), ("y", "x", 20, 30)])))
    assert [False, True, False] == spans["orphan"].tolist()
    assert [0.1, 0.0, 0.0] == pytest.approx(spans["own"].tolist())


def test_a_circle_of_parents_ends() -> None:
    """Spans that are each other's parents keep no own time, and the rest of the trace is unharmed."""
    assert {"r": 100, "a": 0, "b": 0, "self": 0} == own(
        [("r", "", 0, 100), ("a", "b", 10, 20), ("b", "a", 10, 20), ("self", "self", 0, 50)]
    )


def test_very_deep_traces_are_cut_off() -> None:
    """Below the deepest level time stays with the last ancestor; nothing is lost."""
    rows = [("s0", "", 0, 1000), *((f"s{i}", f"s{i - 1}", i, 1000) for i in range(1, 3 * MAX_DEPTH))]
    times = own(rows)
    assert 1000 == sum(times.values())
    assert 1000 - (MAX_DEPTH - 1) == times[f"s{MAX_DEPTH - 1}"]


def test_the_longest_of_several_orphans_is_the_root() -> None:
    """Where the true root is missing the longest remaining span stands for the request."""
    assert {"a": 0, "b": 80} == own([("a", "lost", 0, 10), ("b", "lost", 0, 80)])


def test_a_serving_span_beside_its_call_is_put_under_it() -> None:
    """vLLM hangs its span beside the client's when the client passed on its caller's context."""
    rows = [("r", "", 0, 100), ("call", "r", 10, 90), ("engine", "r", 20, 80)]
    assert {"r": 20, "call": 20, "engine": 60} == own(rows, {"call": CLIENT, "engine": SERVER})


def test_a_serving_span_goes_to_the_latest_call_under_way() -> None:
    """Of two open calls the one that began last before the serving span is its parent."""
    rows = [("r", "", 0, 100), ("a", "r", 0, 90), ("b", "r", 30, 80), ("engine", "r", 40, 70)]
    spans = with_tree(table(rows, {"a": CLIENT, "b": CLIENT, "engine": SERVER}))
    assert "b" == spans["span_id"][spans["parent"][3]]


def test_a_served_request_that_calls_on_stays_the_root() -> None:
    """A serving span without a parent is not put under the call that it makes at the same instant."""
    assert {"proxy": 10, "call": 90} == own(
        [("proxy", "", 0, 100), ("call", "proxy", 0, 90)], {"proxy": SERVER, "call": CLIENT}
    )


def test_a_proxy_inside_a_trace_is_not_put_under_its_own_call() -> None:
    """A model proxy serves and calls at the same instant: it stays where it was, above its call."""
    rows = [("r", "", 0, 100), ("proxy", "r", 10, 90), ("call", "proxy", 10, 80)]
    assert {"r": 20, "proxy": 10, "call": 70} == own(rows, {"proxy": SERVER, "call": CLIENT})
