"""Loads requests into a store and reads back what arrived, as plain Python values."""

import numpy as np
import pandas as pd

from correlator.model.records import Batch, Signal
from tests.correlator.store import oracle

TABLES = {
    Signal.TRACES: ["otel_traces"],
    Signal.LOGS: ["otel_logs"],
    Signal.METRICS: [f"otel_metrics_{kind}" for kind in oracle.POINTS],
}


def emptied(store):
    for table in [table for tables in TABLES.values() for table in tables] + ["otel_traces_trace_id_ts"]:
        store.query(f"TRUNCATE TABLE {table}")
    return store


def stored(store, signal):
    """(table, row) for each record of a signal in the store."""
    return [
        (table, {name: plain(value) for name, value in row.items()})
        for table in TABLES[signal]
        for row in store.query(f"SELECT * FROM {table}").to_dict("records")
    ]


def plain(value):
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case pd.Timestamp() | np.datetime64():
            return int(pd.Timestamp(value).as_unit("ns").value)
        case np.ndarray():
            return [plain(item) for item in value]
        case np.generic():
            return value.item()
        case _:
            return value


def difference(expected, actual):
    """What is expected and not there, and what is there unexpectedly; NaN equals NaN."""
    missing, rest = [], list(actual)
    for row in expected:
        found = next((place for place, other in enumerate(rest) if alike(row, other)), None)
        if found is None:
            missing.append(row)
        else:
            del rest[found]
    return missing, rest


def alike(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float) and np.isnan(one):
        return np.isnan(other)
    return one == other


def check(store, signal, *payloads):
    """Load into the emptied store and compare with the oracle: nothing lost, nothing invented."""
    report = emptied(store).load(Batch(signal, payload) for payload in payloads)
    expected = [row for payload in payloads for row in oracle.rows(signal, payload)]
    assert () == report.problems
    assert len(expected) == sum(report.rows.values())
    assert ([], []) == difference(expected, stored(store, signal))
