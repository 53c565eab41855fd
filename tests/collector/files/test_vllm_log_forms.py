"""vLLM's log in every form people have it, and the year of its stamps."""

import json
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.files import vllm_log
from tests.collector.files.log_reading import nano, read_log
from tests.collector.files.vllm_lines import GAUGES, LINE, OK, gauges


@pytest.mark.parametrize(
    "form",
    [
        "{}",
        "\x1b[36m(APIServer pid=31417)\x1b[0;0m {}",
        "[1;36m(APIServer pid=31417)[0;0m {}",
        "(EngineCore_DP0 pid=12) {}",
        "vllm-1  | {}",
        "2026-11-30T03:38:47.000Z stdout F {}",
        "2026-11-30T03:38:47Z {}",
        "Nov 30 03:38:47 host vllm[123]: {}",
        "[pod/vllm-7d9f/vllm] {}",
        "> {}",
        "    {}\r",
        "Capturing CUDA graphs: 100%|##| 35/35 [00:20<00:00, 1.7it/s]{}",
    ],
)
def test_what_stands_before_a_line_does_not_matter(form: str) -> None:
    """Colours, process names, container and journal prefixes, quotes: the figures are the same."""
    seen = read_log(vllm_log, form.format(LINE) + "\n")
    assert {p.name: p.value for p in seen.points} == GAUGES
    assert {nano("2026-11-30 03:38:47")} == {p.unix_nano for p in seen.points}


def test_lines_inside_docker_json_are_read() -> None:
    """Docker's json-file driver wraps each line in an object with its own time."""
    wrapped = {"log": f"{LINE}\n", "stream": "stdout", "time": "2024-11-30T03:38:47Z"}
    seen = read_log(vllm_log, json.dumps(wrapped, separators=(",", ":")))
    assert {p.name: p.value for p in seen.points} == GAUGES
    assert {nano("2024-11-30 03:38:47")} == {p.unix_nano for p in seen.points}


@given(width=st.integers(50, 200), quote=st.sampled_from(["", "> ", "    ", "  > "]), hard=st.booleans())
def test_a_wrapped_line_reads_like_a_whole_one(width: int, quote: str, hard: bool) -> None:
    """Broken by a terminal at any column or by a mail at spaces, quoted or indented: the same figures."""
    pieces = [LINE[at : at + width] for at in range(0, len(LINE), width)] if hard else textwrap.wrap(LINE, width)
    text = "\n".join(["```", *(quote + piece for piece in pieces), "```", ""])
    assert GAUGES == gauges(text)


def test_a_wrapped_request_still_counts() -> None:
    """An access line broken by a narrow terminal is one request."""
    seen = read_log(vllm_log, f"{LINE}\n{OK[:50]}\n{OK[50:]}\n{LINE.replace(':47', ':57')}\n")
    assert [1] == seen.values("vllm.log.requests_completed")


@given(start=st.integers(0, len(LINE) - 1), end=st.integers(1, len(LINE)))
def test_a_log_cut_at_both_ends_keeps_its_whole_lines(start: int, end: int) -> None:
    """Half a line at either end never spoils the others and never gives a wrong figure."""
    whole = LINE.replace("03:38:47", "03:38:50")
    seen = read_log(vllm_log, f"{LINE[start:]}\n{whole}\n{LINE[:end]}")
    at_whole = {p.name: p.value for p in seen.points if p.unix_nano == nano("2026-11-30 03:38:50")}
    assert GAUGES.items() <= at_whole.items()
    assert all(GAUGES[p.name] == p.value for p in seen.points)


def test_lines_without_any_time_are_named_not_guessed() -> None:
    """Requests before the first stamp cannot be dated: a problem with line and count says so."""
    (problem,) = read_log(vllm_log, f"{OK}\n{OK}\n{LINE}\n").problems
    assert ("bad_time", 1, 2) == (problem.kind, problem.line, problem.count)


def test_the_year_is_the_one_nearest_the_other_files() -> None:
    """With other files at hand, their time decides, across New Year too."""
    seen = read_log(vllm_log, LINE.replace("11-30", "12-31"), near="2023-01-02 00:00:00")
    assert {nano("2022-12-31 03:38:47")} == {p.unix_nano for p in seen.points}


def test_alone_the_year_is_the_latest_that_is_not_in_the_future() -> None:
    """A log by itself is from the past, but a local clock may be ahead of UTC by hours."""
    ahead = read_log(vllm_log, LINE, now=nano("2026-11-29 23:00:00")).points[0]
    old = read_log(vllm_log, LINE, now=nano("2026-11-28 00:00:00")).points[0]
    leap = read_log(vllm_log, LINE.replace("11-30", "02-29")).points[0]
    expected = [nano(f"{day} 03:38:47") for day in ("2026-11-30", "2025-11-30", "2024-02-29")]
    assert expected == [ahead.unix_nano, old.unix_nano, leap.unix_nano]


def test_a_log_runs_over_new_year() -> None:
    """After 31 December comes 1 January of the next year, and a straggler falls back."""
    lines = [LINE.replace("11-30", day) for day in ("12-31", "01-01", "12-31", "01-02")]
    seen = read_log(vllm_log, "\n".join(lines), now=nano("2026-06-01 00:00:00"))
    days = [p.unix_nano for p in seen.points if p.name == "vllm.log.kv_cache_usage"]
    expected = ["2025-12-31", "2026-01-01", "2025-12-31", "2026-01-02"]
    assert [nano(f"{day} 03:38:47") for day in expected] == days


def test_a_full_stamp_anywhere_gives_the_year() -> None:
    """Once a prefix has told the year, lines without prefix take it."""
    prefixed = f"2021-11-30T03:38:00Z {OK}"
    seen = read_log(vllm_log, f"{prefixed}\n{LINE}\n")
    assert nano("2021-11-30 03:38:47") == seen.points[0].unix_nano


@pytest.mark.parametrize("stamp", ["13-45 03:38:47", "11-30 99:99:99", "02-30 00:00:00"])
def test_an_impossible_stamp_is_no_time(stamp: str) -> None:
    """A stamp that no calendar knows gives no point and no crash."""
    seen = read_log(vllm_log, LINE.replace("11-30 03:38:47", stamp))
    assert ([], "bad_time") == (seen.points, seen.problems[0].kind)
