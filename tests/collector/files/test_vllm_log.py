"""vLLM's log: its figures, its requests, whose file it is, and that everything is bounded."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.files import read, vllm_log
from correlator.model.records import Batch
from tests.collector.files.log_reading import attributes, nano, read_log, source
from tests.collector.files.vllm_lines import (
    BAD,
    CAPTURES,
    GAUGES,
    HEAD,
    LINE,
    OK,
    STATS,
    TRACE,
    capture,
    gauges,
)


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.iterdir() if path.is_dir()))
def test_every_recorded_stats_line_and_request_is_found(name: str) -> None:
    """Counted independently by plain text search, no stats line and no request of a recording is lost."""
    text = capture(name)
    seen = read_log(vllm_log, text)
    assert text.count("Avg prompt throughput") == len(seen.values("vllm.log.prompt_throughput"))
    assert text.count("Prefix cache hit rate") == len(seen.values("vllm.log.prefix_cache_hit_rate"))
    posts = text.count('"POST /v1/chat/completions HTTP/1.1" 200')
    assert posts == sum(seen.values("vllm.log.requests_completed"))
    assert [] == seen.problems


def test_a_recorded_restart_with_a_smaller_pool_is_told_in_order() -> None:
    """Two starts, each ready and each stopped on purpose, and the settings of both with their values."""
    seen = read_log(vllm_log, capture("s03_kv_preemption"))
    life = ["tollens.engine_start", "tollens.engine_ready", "tollens.engine_shutdown"]
    assert life * 2 == seen.events()
    tokens = [attributes(log).get("engine.kv_cache_tokens") for log in seen.logs]
    assert [65_536, 2_176] == [value for value in tokens if value]
    blocks = [attributes(log).get("engine.num_gpu_blocks") for log in seen.logs]
    assert [512, 512, 17, 17] == [value for value in blocks if value]


def test_settings_are_typed_and_only_what_was_said() -> None:
    """Start-up lines give typed facts; what no line says is absent."""
    facts = read_log(vllm_log, capture("s17_prefix_off")).facts()
    expected = {
        "engine.name": "vllm",
        "engine.version": "0.32.0",
        "engine.model": "./model",
        "engine.served_model_name": "tiny-llama",
        "engine.dtype": "float32",
        "engine.quantization": "none",
        "engine.speculative_config": "none",
        "engine.max_model_len": 2048,
        "engine.enable_prefix_caching": False,
        "engine.chunked_prefill": True,
        "engine.enforce_eager": True,
        "engine.tensor_parallel_size": 1,
        "engine.kv_cache_tokens": 1_048_576,
        "engine.tokenizer": "./model",
        "engine.checkpoint_filesystem": "ext4",
        "engine.checkpoint_gib": 0.01,
        "engine.weights_load_s": 0.01,
    }
    assert expected == facts


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 2.0 tokens/s, "
            "Running: 105 reqs, Swapped: 2 reqs, Pending: 1637 reqs, "
            "GPU KV cache usage: 98.3%, CPU KV cache usage: 70.4%.",
            {
                "prompt_throughput": 1.5,
                "generation_throughput": 2.0,
                "running_requests": 105.0,
                "swapped_requests": 2.0,
                "waiting_requests": 1637.0,
                "kv_cache_usage": 0.983,
                "cpu_kv_cache_usage": 0.704,
            },
        ),
        ("Prefix cache hit rate: GPU: 12.25%, CPU: 3.00%", {"prefix_cache_hit_rate": 0.1225}),
        (
            "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, "
            "Waiting: 0 reqs, TPU KV cache usage: 0.5%",
            {
                "prompt_throughput": 0.0,
                "generation_throughput": 0.0,
                "running_requests": 0.0,
                "waiting_requests": 0.0,
                "kv_cache_usage": 0.005,
            },
        ),
        (
            "4 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s, "
            "Avg generation throughput: 2.0 tokens/s, Running: 1 reqs, Waiting: 2 reqs, Deferred: 9 reqs, "
            "GPU KV cache usage: 5.0%, External prefix cache hit rate: 77.0%, MM cache hit rate: 66.0%",
            {
                "prompt_throughput": 1.0,
                "generation_throughput": 2.0,
                "running_requests": 1.0,
                "waiting_requests": 2.0,
                "kv_cache_usage": 0.05,
            },
        ),
        (
            "SpecDecoding metrics: Mean acceptance length: 2.31, Accepted throughput: 5.0 tokens/s, "
            "Avg Draft acceptance rate: 65.5%",
            {"spec_decode_acceptance": 0.655, "spec_decode_accepted_length": 2.31},
        ),
        (
            "Speculative metrics: Draft acceptance rate: 0.512, System efficiency: 0.400",
            {"spec_decode_acceptance": 0.512},
        ),
    ],
)
def test_each_form_of_the_periodic_lines_gives_its_own_figures(line: str, expected: dict[str, float]) -> None:
    """V0 and V1, any device word, optional parts: shares are 0..1 and nothing is taken from a namesake."""
    found = gauges(HEAD + line)
    assert {f"vllm.log.{name}": value for name, value in expected.items()} == found


def test_figures_carry_engine_and_time() -> None:
    """A point has the time of its line and the engine as Prometheus numbers it."""
    (point, *_) = read_log(vllm_log, LINE).points
    assert ({"engine": "1"}, nano("2026-11-30 03:38:47")) == (point.attributes, point.unix_nano)


def test_preemptions_of_both_versions() -> None:
    """V1's count is a delta since the engine's previous line, V0's a running total since the start."""
    stats = ", ".join([STATS.partition(", GPU")[0], "GPU KV cache usage: 9.0%", "Preemptions: {}"])
    later = HEAD.replace(":47", ":57")
    v1 = read_log(vllm_log, f"{HEAD}{stats.format(2)}\n{later}{stats.format(5)}\n")
    deltas = [p for p in v1.points if p.name == "vllm.log.preemptions_delta"]
    assert [2, 5] == [p.value for p in deltas]
    assert nano("2026-11-30 03:38:47") == deltas[1].start_unix_nano
    warning = (
        "WARNING 11-30 03:39:00 scheduler.py:1483] Sequence group cmpl-8bdb-0 is preempted by PreemptionMode."
        "RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=101"
    )
    v0 = read_log(vllm_log, f"INFO 11-30 03:38:00 api_server.py:528] vLLM API server version 0.5.2\n{warning}")
    (total,) = [p for p in v0.points if p.name == "vllm.log.preemptions"]
    assert (101, nano("2026-11-30 03:38:00")) == (total.value, total.start_unix_nano)
    assert "tollens.preemption" in v0.events()


def test_requests_are_counted_between_stats_lines() -> None:
    """A sum covers the time from one stats line to the next; failures are told apart by status."""
    later = LINE.replace("03:38:47", "03:38:57")
    other = 'INFO:     127.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK'
    seen = read_log(vllm_log, "\n".join([LINE, OK, other, BAD, OK, later, OK, ""]))
    completed = [p for p in seen.points if p.name == "vllm.log.requests_completed"]
    assert [2, 1] == [p.value for p in completed]
    first, second = nano("2026-11-30 03:38:47"), nano("2026-11-30 03:38:57")
    assert (first, second) == (completed[0].start_unix_nano, completed[0].unix_nano)
    (failed,) = [p for p in seen.points if p.name == "vllm.log.requests_failed"]
    assert (1, {"http.response.status_code": 400}) == (failed.value, failed.attributes)
    (record,) = [log for log in seen.logs if "Bad Request" in log.body.string_value]
    assert 400 == attributes(record)["http.response.status_code"]


def test_engines_that_report_together_share_one_count() -> None:
    """Lines of several engines in one second end one stretch, not one each."""
    later = LINE.replace(":47", ":57")
    lines = [LINE, LINE.replace("001", "002"), OK, OK, later, later.replace("001", "002"), ""]
    assert [2] == read_log(vllm_log, "\n".join(lines)).values("vllm.log.requests_completed")


def test_no_access_log_is_not_zero_requests() -> None:
    """Where the server logs no requests, no count of them is claimed."""
    assert [] == read_log(vllm_log, f"{LINE}\n{LINE.replace(':47', ':57')}\n").values("vllm.log.requests_completed")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\nworld\n",
        "{}",
        "# HELP a b\n# TYPE a gauge\na 1\n",
        "INFO 2026-11-30 app started\n",
        "\0\1\2",
    ],
)
def test_a_file_without_a_line_of_vllm_is_not_ours(text: str) -> None:
    """Acceptance is by content: no recognised line, no claim."""
    assert 0 == vllm_log.accepts(source(text))


def test_ours_is_told_from_a_web_server() -> None:
    """One stamped line is proof; an access log alone might be any web server's."""
    assert vllm_log.accepts(source(OK)) < 0.5 < vllm_log.accepts(source(f"junk\n{OK}\n{LINE}\n"))


def test_an_endless_line_is_cut_and_counted() -> None:
    """A line of a megabyte costs 64 KiB, is told, and the next line is read."""
    seen = read_log(vllm_log, f"INFO 11-30 03:38:00 [a.py:1] {'x' * 1_000_000}\n{LINE}\n")
    (problem,) = seen.problems
    assert ("truncated", 1, 1) == (problem.kind, problem.line, problem.count)
    assert len(GAUGES) == len(seen.points)
    assert max(len(log.body.string_value) for log in seen.logs) <= 8_192


def test_a_long_log_comes_in_batches_of_bounded_size() -> None:
    """Ten thousand records are several requests, none of them large."""
    text = "".join(f"INFO 11-30 03:38:00 [a.py:1] request number {n}\n" for n in range(12_000))
    seen = read_log(vllm_log, text)
    assert (12_000, 3) == (len(seen.logs), seen.batches)


def test_a_traceback_without_end_keeps_its_exception() -> None:
    """Of a traceback with thousands of frames the middle is given up, not the exception at its end."""
    frames = "ERROR 11-30 03:40:01 [core.py:390]   File 'a.py', line 1, in f\n" * 5_000
    text = TRACE.format("").partition("(APIServer")[0].replace("(EngineCore_DP0 pid=7) ", "")
    seen = read_log(vllm_log, f"{text}{frames}ERROR 11-30 03:40:01 [core.py:390] RecursionError: too deep\n")
    assert "RecursionError" == attributes(seen.the("tollens.engine_dead"))["exception.type"]


@given(st.lists(st.sampled_from([LINE, OK, BAD, TRACE, "noise", "\x1b[0m", "> ", "(A pid=1) x"]) | st.text()))
def test_no_mixture_of_lines_breaks_the_reader(lines: list[str]) -> None:
    """Whatever is pasted together, every whole stats line is found and every problem is named."""
    text = "\n".join(lines)
    seen = read_log(vllm_log, text.encode("utf-8", "surrogateescape"))
    assert len(re.findall(r"(?m)^" + re.escape(LINE) + "$", text)) <= len(seen.values("vllm.log.kv_cache_usage"))


@given(st.binary(max_size=2_000))
def test_binary_junk_raises_nothing(data: bytes) -> None:
    """Junk before and after a line leaves the line."""
    seen = read_log(vllm_log, data.replace(b"[", b"") + b"\n" + LINE.encode() + b"\n" + data)
    assert 1 <= len(seen.values("vllm.log.running_requests"))


def test_a_secret_in_the_flags_is_not_stored(tmp_path: Path) -> None:
    """The value of an API key that a start-up line prints is left out of what is kept."""
    path = tmp_path / "vllm.log"
    line = "INFO 11-30 03:34:38 [api_utils.py:286] non-default args: {'model': 'm', 'api_key': ['sk-tell-nobody']}\n"
    path.write_text(line)
    kept = b"".join(item.payload for item in read([str(path)]) if isinstance(item, Batch))
    assert b"non-default args" in kept
    assert b"sk-tell-nobody" not in kept
