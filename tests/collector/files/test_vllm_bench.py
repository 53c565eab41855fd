"""Results of a benchmark client, read as facts of the run."""

from __future__ import annotations

import json

import pytest

from collector.files import Options
from correlator.model.records import Signal
from tests.collector.files.gpu_texts import BENCH, T0
from tests.collector.files.support import merged, read_bytes

RUN = json.loads(BENCH)
NEAR = Options(near_unix_nano=T0)


def facts(text: str, options: Options = NEAR) -> tuple[list[tuple[int, dict[str, float]]], list[str]]:
    """Time and figures of each run, and the problems."""
    batches, problems = read_bytes(text.encode(), options=options)
    records = [
        (r.time_unix_nano, {a.key: a.value.double_value or float(a.value.int_value) for a in r.attributes})
        for one in merged(batches, Signal.LOGS).resource_logs
        for r in one.scope_logs[0].log_records
    ]
    return records, [str(p) for p in problems]


def test_a_result_is_a_fact_since_the_run_began() -> None:
    """Times are in seconds, and the run began its duration before the date that the client wrote at its end."""
    ((began, told),), problems = facts(BENCH)
    assert [] == problems
    assert T0 + 500_000_000 == began
    assert (2000, 0.0418) == (told["client.completed"], told["client.tpot.p99_s"])


def test_results_one_a_line_are_read() -> None:
    """A file of one result a line gives one run each; a broken line is named."""
    runs, problems = facts(f"{BENCH}\n{{broken\n{BENCH}\n")
    assert 2 == len(runs)
    assert any(":2:" in problem for problem in problems)


def test_the_clients_zone_is_found() -> None:
    """A date of another zone is moved beside the other files, and it is said."""
    ((began, _),), problems = facts(BENCH, Options(near_unix_nano=T0 - 3_600_000_000_000))
    assert T0 - 3_600_000_000_000 + 500_000_000 == began
    assert any("-1 h" in problem for problem in problems)


@pytest.mark.parametrize("change", [{"date": None}, {"date": "soon"}])
def test_a_result_without_a_date_is_put_beside_the_rest(change: dict[str, object]) -> None:
    """Without a readable date the other files tell when, and it is said."""
    ((began, _),), problems = facts(json.dumps({**RUN, **change}))
    assert T0 - 60_500_000_000 == began
    assert any("no date" in problem for problem in problems)


def test_figures_that_are_no_numbers_are_left_out() -> None:
    """NaN, as a run without answers has it, is not a figure."""
    ((_, told),), _ = facts(BENCH.replace("41.8", "NaN"))
    assert "client.tpot.p99_s" not in told
