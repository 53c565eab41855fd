"""Asking: parameters in, frames out."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.store import StoreError


def test_wrong_sql(store):
    """The engine's message comes with the error, and the store goes on."""
    with pytest.raises(StoreError, match="no_such_column"):
        store.query("SELECT no_such_column FROM otel_traces")
    assert [1] == store.query("SELECT 1 AS x")["x"].tolist()


@settings(max_examples=50)
@given(text=st.text())
def test_text_parameters(store, text):
    """Any text comes back as it went in, alone, in a list and in a map."""
    sql = "SELECT {t:String} AS t, {l:Array(String)} AS l, {m:Map(String, String)} AS m"
    row = store.query(sql, t=text, l=[text, ""], m={text: text}).iloc[0]
    assert (text, [text, ""], {text: text}) == (row.t, row.l.tolist(), row.m)


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("Int64", -7, -7),
        ("Float64", 1e-300, 1e-300),
        ("Bool", True, True),
        ("Nullable(String)", None, None),
        ("Array(Nullable(Int64))", [1, None], [1, None]),
        ("Array(Array(String))", [["a'b"], []], [["a'b"], []]),
        ("DateTime64(9)", datetime(2026, 11, 30, 3, 35, 5, 333, tzinfo=UTC), "2026-11-30 03:35:05.000333000"),
        ("DateTime64(9)", datetime(2026, 11, 30, 3, 35), "2026-11-30 03:35:00.000000000"),
        (
            "DateTime64(9)",
            datetime(2026, 11, 30, 4, 35, tzinfo=timezone(timedelta(hours=1))),
            "2026-11-30 03:35:00.000000000",
        ),
    ],
)
def test_other_parameters(store, type_, value, expected):
    """Numbers, nothing, lists and datetimes are bound by their meaning; datetimes in UTC."""
    column = "toString({value:" + type_ + "})" if isinstance(expected, str) else "{value:" + type_ + "}"
    answer = store.query(f"SELECT toJSONString([{column}]) AS json", value=value)["json"][0]
    assert [expected] == json.loads(answer)


def test_empty_answers_have_columns(store):
    """No rows is a frame with its columns; a statement that answers nothing is an empty frame."""
    frame = store.query("SELECT TraceId, Timestamp FROM otel_traces WHERE 0")
    assert (["TraceId", "Timestamp"], 0) == (list(frame.columns), len(frame))
    assert 0 == len(store.query("SYSTEM FLUSH LOGS"))


def test_arrays_of_maps(store):
    """Arrays of maps of many lengths are answered (an engine's own conversion hangs on them)."""
    frame = store.query("SELECT arrayMap(i -> map('k', i), range(number)) AS x FROM numbers(50) ORDER BY number")
    assert [[{"k": i} for i in range(n)] for n in range(50)] == [list(x) for x in frame["x"]]


def test_times_keep_their_nanoseconds(store):
    """Times are naive UTC with nanoseconds."""
    frame = store.query("SELECT fromUnixTimestamp64Nano({t:Int64}) AS t", t=1_796_009_705_333_000_001)
    assert pd.Timestamp(1_796_009_705_333_000_001) == frame["t"][0]
    assert frame["t"].dt.tz is None
