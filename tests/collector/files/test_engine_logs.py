"""Logs of SGLang, TGI, llama.cpp and Ollama: figures under those systems' own names, requests, settings, happenings."""

import pytest

from tests.collector.files.log_reading import nano
from tests.collector.files.samples import LLAMACPP, OLLAMA, SGLANG, TGI, read_as, sample


def test_sglang_batches_are_its_own_metrics() -> None:
    """Running and queued requests, tokens used, throughput, and prompt tokens with those that were cached."""
    assert {
        "sglang:num_running_reqs": 7.0,
        "sglang:num_queue_reqs": 11.0,
        "sglang:token_usage": 0.97,
        "sglang:gen_throughput": 52.37,
        "sglang:prompt_tokens_total": 640,
        "sglang:cached_tokens_total": 128,
        "sglang:num_retracted_requests_total": 2,
    } == sample("sglang").figures()


def test_sglang_says_what_happened_and_how_it_was_set() -> None:
    """Start, readiness, retraction and lack of memory are named; settings are facts and keys stay secret."""
    found = sample("sglang")
    assert ["engine_start", "engine_ready", "preemption", "out_of_memory"] == found.happened()
    expected = {"engine.model": "Qwen/Qwen2.5-7B", "engine.max_num_seqs": 64, "engine.kv_cache_tokens": 442123}
    assert expected.items() <= found.facts.items()
    assert not [log for log in found.logs if "hunter2" in str(log)]


def test_sglang_counts_between_its_lines() -> None:
    """A second batch adds what came since the first."""
    line = "[2026-11-30 03:31:{} TP0] Prefill batch, #new-seq: 1, #new-token: {}, #cached-token: 0, token usage: 0.1\n"
    found = read_as("sglang_log", SGLANG.splitlines()[0] + "\n" + line.format(10, 5) + line.format(20, 7))
    assert [5, 7] == [value for name, value, _ in found.points if name == "sglang:prompt_tokens_total"]


def test_tgi_requests_are_spans_with_the_routers_timings() -> None:
    """Durations are read with their unit; tokens are inference time over time per token."""
    span, told = sample("tgi").span("generate_stream")
    assert nano("2026-11-30 03:31:01") + 654_321_000 == span.end_time_unix_nano
    assert 1_234_567_891 == span.end_time_unix_nano - span.start_time_unix_nano
    assert {
        "gen_ai.latency.time_in_queue": 0.1012,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.request.max_tokens": 200,
        "tgi.validation_time": 0.0004005,
    }.items() <= told.items()


def test_tgi_states_settings_and_refusals() -> None:
    """Arguments as Rust prints them, and a router that is overloaded."""
    found = sample("tgi")
    assert ["engine_start", "engine_ready", "overloaded"] == found.happened()
    assert {"engine.max_model_len": 4096, "engine.tensor_parallel_size": 2}.items() <= found.facts.items()
    assert "engine.quantization" not in found.facts


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30T03:30:20Z  INFO text_generation_router::server: router/src/server.rs:2310: Client disconnected",
        "2026-11-30T03:30:20Z  INFO text_generation_router: router/src/main.rs:9: Connected to the hub",
        "2026-11-30T03:30:20Z ERROR text_generation_router: router/src/main.rs:9: Not connected",
        "2026-11-30T03:30:20Z ERROR text_generation_router::server: router/src/server.rs:2310: Connected",
        '{"timestamp":"2026-11-30T03:30:20Z","level":"INFO","message":"disconnected","target":"text_generation_router"}',
    ],
)
def test_tgi_is_ready_only_where_it_says_so(line: str) -> None:
    """The whole message at level INFO, not a word within another."""
    assert "engine_ready" not in read_as("tgi_log", f"{line}\n").happened()


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30T03:30:20Z  INFO text_generation_router: router/src/main.rs:312: Connected",
        '{"timestamp":"2026-11-30T03:30:20Z","level":"INFO","message":"Connected","target":"text_generation_router"}',
    ],
)
def test_tgi_is_ready_in_each_of_its_forms(line: str) -> None:
    """An older router's module, and JSON."""
    assert ["engine_ready"] == read_as("tgi_log", f"{line}\n").happened()


def test_llamacpp_timings_make_a_request() -> None:
    """Prompt, decode and total of one task; tokens that were not evaluated came from the cache."""
    span, told = sample("1796009540.llamacpp").span("completion")
    assert 1_072_210_000 == span.end_time_unix_nano - span.start_time_unix_nano
    assert {
        "gen_ai.latency.time_in_model_prefill": 0.04031,
        "gen_ai.latency.time_in_model_decode": 1.0319,
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.cache_read.input_tokens": 26,
        "gen_ai.usage.output_tokens": 100,
    } == {key: value for key, value in told.items() if key.split(".")[-1].startswith(("time_in", "input", "output"))}


def test_llamacpp_times_count_back_from_the_end_of_the_file() -> None:
    """The last line is as old as the name of the file says; the rest lies before it."""
    span, _ = sample("1796009540.llamacpp").span("completion")
    assert 1796009540_000_000_000 - 927_790_000 == span.end_time_unix_nano


def test_llamacpp_without_any_time_gives_only_settings_and_says_so() -> None:
    """No clock is invented for requests that have none."""
    bare = "\n".join(line[15:] if line[:1] == "0" else line for line in LLAMACPP.splitlines())
    found = read_as("llamacpp_log", bare)
    assert ([], []) == (found.spans, found.points)
    assert ["bad_time"] == [problem.kind for problem in found.problems]


def test_a_llamacpp_tools_own_form_is_read() -> None:
    """`llama_perf_context_print` under a prefix with a time is a run."""
    form = "2026-11-30T03:30:00Z llama_perf_context_print: {} time = {:>10} ms / {}\n"
    text = form.format("prompt eval", "100.00", "50 tokens") + form.format("       eval", "900.00", "99 runs")
    found = read_as("llamacpp_log", text + form.format("      total", "1000.00", "149 tokens"))
    _, told = found.span("completion")
    assert (50, 99) == (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"])


def test_ollama_requests_take_the_zone_of_the_lines_around() -> None:
    """Gin writes local time without a zone."""
    span, told = sample("ollama").span("POST /api/chat")
    assert nano("2026-11-30 03:31:05") == span.end_time_unix_nano
    assert ("chat", 200) == (told["gen_ai.operation.name"], told["http.response.status_code"])
    failed, _ = sample("ollama").span("POST /v1/chat/completions")
    assert (2, 62_000_000_000) == (failed.status.code, failed.end_time_unix_nano - failed.start_time_unix_nano)


GIN = '[GIN] 2026/11/30 - 04:31:05 | 200 |  1.2s |       127.0.0.1 | POST     "/api/chat"\n'


def test_ollama_requests_before_the_first_zone_take_it_too() -> None:
    """A line further down names the zone of the whole file."""
    (span,) = read_as("ollama_log", f"{GIN}{OLLAMA.splitlines()[0]}\n").spans
    assert nano("2026-11-30 03:31:05") == span.end_time_unix_nano


def test_ollama_requests_whose_zone_nobody_names_are_said() -> None:
    """Read as UTC, with their number; a stamp of the container's before the line is a zone."""
    found = read_as("ollama_log", GIN * 3)
    assert nano("2026-11-30 04:31:05") == found.spans[0].end_time_unix_nano
    assert [("bad_time", 3)] == [(problem.kind, problem.count) for problem in found.problems]
    assert [] == read_as("ollama_log", f"2026-11-30T03:31:05Z {GIN}").problems
    assert [] == read_as("ollama_log", GIN + OLLAMA.replace("+01:00", "Z")).problems


def test_ollama_says_how_it_runs() -> None:
    """Layers on the GPU, context, slots, threads; loading and a prompt that was cut."""
    found = sample("ollama")
    assert ["engine_start", "engine_ready", "prompt_truncated"] == found.happened()
    assert {
        "engine.version": "0.5.4", "engine.gpu_layers": "20/33", "engine.max_model_len": 8192,
        "engine.max_num_seqs": 4, "engine.threads": 8,
    }.items() <= found.facts.items()  # fmt: skip


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("sglang_log", SGLANG.replace("2026-11-30", "2026-13-45")),
        ("tgi_log", TGI.replace("2026-11-30", "2026-13-45")),
        ("ollama_log", OLLAMA.replace("2026-11-30", "2026-13-45").replace("2026/11/30", "2026/13/45")),
    ],
)
def test_an_impossible_date_is_no_time(reader: str, text: str) -> None:
    """Lines with a day that no calendar has are counted, and give nothing."""
    found = read_as(reader, text)
    assert ([], [], []) == (found.spans, found.points, found.events)
    assert {"bad_time"} == {problem.kind for problem in found.problems}
