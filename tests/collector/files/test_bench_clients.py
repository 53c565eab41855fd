"""Results of GenAI-Perf, AIPerf and LLMPerf: the same facts of a run as `vllm bench serve` gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.files._registry import readers
from tests.collector.files.log_reading import nano, source
from tests.collector.files.samples import Told, read_as


def figure(unit: str, **statistics: float) -> dict[str, Any]:
    return {"unit": unit, **statistics}


GENAI = {
    "request_throughput": figure("requests/sec", avg=2.5),
    "request_latency": figure("ms", avg=1500.0, p50=1400.0, p99=2500.0, std=12.5),
    "time_to_first_token": figure("ms", avg=120.0, p50=100.0, p99=250.0),
    "inter_token_latency": figure("ms", avg=20.0, p50=18.0, p99=41.8),
    "output_token_throughput": figure("tokens/sec", avg=320.0),
    "request_count": figure("count", avg=600.0),
    "input_config": {"model": ["m"]},
}
AIPERF = GENAI | {"start_time": "2026-11-30T03:30:00.5Z", "end_time": "2026-11-30T03:34:00Z"}
LLMPERF = {
    "model": "m", "num_concurrent_requests": 8, "results_num_completed_requests": 600, "timestamp": 1796009640,
    "results_ttft_s_mean": 0.12, "results_ttft_s_quantiles_p50": 0.1, "results_ttft_s_quantiles_p99": 0.25,
    "results_inter_token_latency_s_quantiles_p99": 0.0418, "results_end_to_end_latency_s_stddev": 0.0125,
    "results_mean_output_throughput_token_per_s": 320.0,
}  # fmt: skip
KNOWN = {"genai_perf": AIPERF, "llmperf": LLMPERF}
NEAR = "2026-11-30 03:32:00"


def run(reader: str, result: object, near: str | None = NEAR) -> Told:
    return read_as(reader, json.dumps(result), near=near)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("reader", sorted(KNOWN))
def test_a_result_goes_to_its_reader(reader: str, indent: int | None) -> None:
    """By the names of its figures, on one line or on many, and to no other reader."""
    text = json.dumps(KNOWN[reader], indent=indent)
    scores = {one.id: one.accepts(source(text)) for one in readers()}
    assert [reader] == [name for name, score in scores.items() if score]


@pytest.mark.parametrize("reader", sorted(KNOWN))
def test_figures_are_facts_in_seconds(reader: str) -> None:
    """Under the names that every benchmark client shares."""
    found = run(reader, KNOWN[reader])
    expected = {"client.ttft.mean_s": 0.12, "client.ttft.median_s": 0.1, "client.ttft.p99_s": 0.25,
                "client.e2el.std_s": 0.0125, "client.output_throughput": 320.0, "client.completed": 600}  # fmt: skip
    assert (expected, []) == ({name: found.facts[name] for name in expected}, found.problems)


def test_the_time_between_tokens_is_what_each_tool_means_by_it() -> None:
    """GenAI-Perf leaves the first token out, as the time per output token does; LLMPerf does not."""
    assert 0.0418 == run("genai_perf", AIPERF).facts["client.tpot.p99_s"]
    found = run("llmperf", LLMPERF).facts
    assert (0.0418, False) == (found["client.itl.p99_s"], "client.tpot.p99_s" in found)


@pytest.mark.parametrize(
    ("reader", "result", "began", "said"),
    [
        ("genai_perf", AIPERF, "03:30:00", 0),
        (
            "genai_perf",
            AIPERF | {"start_time": "2026-11-30T04:30:00", "end_time": "2026-11-30T04:34:00"},
            "03:30:00",
            1,
        ),
        ("genai_perf", GENAI, "03:32:00", 1),
        ("llmperf", LLMPERF, "03:34:00", 0),
        ("llmperf", {**LLMPERF, "timestamp": 12}, "03:32:00", 1),
    ],
    ids=["a zone", "none", "no time", "unix", "no unix time"],
)
def test_when_the_run_was(reader: str, result: dict[str, Any], began: str, said: int) -> None:
    """As the tool tells; a local time is put beside the other files, a missing one with them, and both are said."""
    found = run(reader, result)
    assert nano(f"2026-11-30 {began}") == found.logs[0].time_unix_nano // 10**9 * 10**9
    assert ["bad_time"] * said == [problem.kind for problem in found.problems]


def test_a_figure_of_an_unknown_unit_is_left_out_and_named() -> None:
    """The others are used."""
    found = run("genai_perf", AIPERF | {"time_to_first_token": figure("ticks", avg=3.0)})
    assert (["unsupported"], False) == ([one.kind for one in found.problems], "client.ttft.mean_s" in found.facts)
    assert 1.5 == found.facts["client.e2el.mean_s"]


@pytest.mark.parametrize("reader", sorted(KNOWN))
@pytest.mark.parametrize("text", ["[]", "{}", "3", '[{"a": 1}]', "{broken", '{"request_latency": 3, "timestamp": "x"}'])
def test_what_is_no_result_is_named(reader: str, text: str) -> None:
    """Nothing is told of it, and nothing is raised."""
    found = read_as(reader, text)
    assert [] == found.logs
    assert all(problem.line == 1 for problem in found.problems)
    assert text == "[]" or found.problems
