"""vLLM's log in every form people have it."""

import gzip
import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.files import vllm_log
from tests.collector.files.log_reading import attributes, nano, read_log, source

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
HEAD = "INFO 11-30 03:38:47 [loggers.py:335] "
STATS = (
    "Engine 001: Avg prompt throughput: 93.4 tokens/s, Avg generation throughput: 4.1 tokens/s, "
    "Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 98.1%, Prefix cache hit rate: 45.0%"
)
LINE = HEAD + STATS
GAUGES = {
    "vllm.log.prompt_throughput": 93.4,
    "vllm.log.generation_throughput": 4.1,
    "vllm.log.running_requests": 12.0,
    "vllm.log.waiting_requests": 3.0,
    "vllm.log.kv_cache_usage": 0.981,
    "vllm.log.prefix_cache_hit_rate": 0.45,
}
OK = 'INFO:     127.0.0.1:37566 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
BAD = 'INFO:     127.0.0.1:37566 - "POST /v1/completions HTTP/1.1" 400 Bad Request'


def gauges(text: str | bytes) -> dict[str, float]:
    return {p.name: p.value for p in read_log(vllm_log, text).points if not p.start_unix_nano}


def capture(name: str) -> str:
    return gzip.decompress((CAPTURES / name / "vllm.log.gz").read_bytes()).decode()


# ---- recorded logs


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
    }
    assert expected == facts


# ---- stats lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 105 reqs, "
            "Swapped: 2 reqs, Pending: 1637 reqs, GPU KV cache usage: 98.3%, CPU KV cache usage: 70.4%.",
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
            "4 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, "
            "Running: 1 reqs, Waiting: 2 reqs, Deferred: 9 reqs, GPU KV cache usage: 5.0%, External prefix cache "
            "hit rate: 77.0%, MM cache hit rate: 66.0%",
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
            {"spec_decode_acceptance": 0.655},
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
    v0 = read_log(
        vllm_log, f"INFO 11-30 03:38:00 api_server.py:528] vLLM API server version 0.5.2\n{warning}"
    )
    (total,) = [p for p in v0.points if p.name == "vllm.log.preemptions"]
    assert (101, nano("2026-11-30 03:38:00")) == (total.value, total.start_unix_nano)
    assert "tollens.preemption" in v0.events()


# ---- requests


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


def test_no_access_log_is_not_zero_requests() -> None:
    """Where the server logs no requests, no count of them is claimed."""
    assert [] == read_log(vllm_log, f"{LINE}\n{LINE.replace(':47', ':57')}\n").values(
        "vllm.log.requests_completed"
    )


# ---- forms


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
    text = '{"log":"%s\\n","stream":"stdout","time":"2024-11-30T03:38:47Z"}\n' % LINE
    seen = read_log(vllm_log, text)
    assert {p.name: p.value for p in seen.points} == GAUGES
    assert {nano("2024-11-30 03:38:47")} == {p.unix_nano for p in seen.points}


@given(width=st.integers(50, 200), quote=st.sampled_from(["", "> ", "    ", "  > "]), hard=st.booleans())
def test_a_wrapped_line_reads_like_a_whole_one(width: int, quote: str, hard: bool) -> None:
    """Broken by a terminal at any column or by a mail at spaces, quoted or indented: the same figures."""
    pieces = (
        [LINE[at : at + width] for at in range(0, len(LINE), width)] if hard else textwrap.wrap(LINE, width)
    )
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


# ---- years


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


# ---- events

TRACE = """\
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390] EngineCore encountered a fatal error.
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390] Traceback (most recent call last):
(APIServer pid=1) INFO 11-30 03:40:01 [x.py:1] something in between
INFO:     127.0.0.1:37566 - "POST /v1/chat/completions HTTP/1.1" 200 OK
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390]   File "a.py", line 1, in f
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390]     raise X
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390] {}
"""


def test_a_traceback_is_one_event_even_between_other_lines() -> None:
    """Lines of one process are put together although other processes write between them."""
    seen = read_log(vllm_log, TRACE.format("ValueError: boom: bang"))
    event = seen.the("tollens.engine_dead")
    assert {"exception.type": "ValueError", "exception.message": "boom: bang"} == attributes(event)
    assert ["tollens.engine_dead"] == seen.events()


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("ERROR: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.", "out_of_memory"),
        ("ERROR: ValueError: No available memory for the cache blocks. Try increasing …", "out_of_memory"),
        (
            "ERROR: ValueError: Free memory on device (4/24 GiB) on startup is less than desired",
            "out_of_memory",
        ),
        ("ERROR: This model's maximum context length is 2048 tokens. However, you …", "context_overflow"),
        (
            "ERROR: The model's max seq len (8192) is larger than the maximum number of tokens",
            "context_overflow",
        ),
        (
            "ERROR: max seq len (9), (1 GiB KV cache is needed, which is larger than the av",
            "context_overflow",
        ),
        ("ERROR: RuntimeError: NCCL error: unhandled system error", "nccl_failure"),
        ("ERROR: OSError: x does not appear to have a file named config.json", "model_load_failure"),
        ("ERROR: AsyncEngineDeadError: Background loop is stopped.", "engine_dead"),
        ("ERROR: Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.", "engine_dead"),
        (
            "INFO: Capturing cudagraphs for decoding. This may lead to unexpected consequences",
            "cuda_graph_capture",
        ),
        ("ERROR: something nobody has a name for", "error"),
    ],
)
def test_known_failures_have_names(line: str, event: str) -> None:
    """Each failure gets its event, whatever process says it."""
    level, _, message = line.partition(": ")
    seen = read_log(vllm_log, f"(Worker_TP0 pid=3) {level} 11-30 03:40:01 [worker.py:1] {message}\n")
    assert [f"tollens.{event}"] == seen.events()


@pytest.mark.parametrize(
    "message",
    [
        "CUDA graphs can take additional 1~3 GiB memory per GPU. If you are running out of memory, consider …",
        "Received request cmpl-1: prompt: 'why CUDA out of memory, NCCL error?', params: SamplingParams(n=1)",
        "Received request cmpl-2: prompt: 'GPU KV cache size: 5 tokens', params: SamplingParams(n=1)",
    ],
)
def test_advice_and_prompts_are_no_failures(message: str) -> None:
    """What users write and what vLLM merely advises is neither an event nor a fact."""
    seen = read_log(vllm_log, f"INFO 11-30 03:40:01 [logger.py:39] {message}\n")
    assert ([], {}) == (seen.events(), seen.facts())


def test_an_engine_that_is_told_to_stop_has_not_died() -> None:
    """Errors in the wake of an ordered shutdown are records, not the death of an engine."""
    stop = "INFO 11-30 03:39:00 [launcher.py:254] [shutdown] API server: shutdown triggered\n"
    wake = TRACE.format("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.")
    assert ["tollens.engine_shutdown"] == read_log(vllm_log, stop + wake).events()
    assert ["tollens.engine_dead", "tollens.engine_shutdown"] == read_log(
        vllm_log, wake + stop.replace("03:39", "03:41")
    ).events()


def test_a_crash_loop_is_a_start_each_time() -> None:
    """Starts that never become ready are told one by one; banner and engine line of one start are one."""
    start = (
        "INFO 11-30 03:{0}:00 [api_server.py:1] vLLM API server version 0.9.1\n"
        "INFO 11-30 03:{0}:09 [core.py:69] Initializing a V1 LLM engine (v0.9.1) with config: model='m'\n"
        "ERROR 11-30 03:{0}:20 [core.py:1] ValueError: No available memory for the cache blocks.\n"
    )
    expected = ["tollens.engine_start", "tollens.out_of_memory"] * 3
    assert expected == read_log(vllm_log, "".join(map(start.format, (10, 11, 12)))).events()


def test_blocks_become_tokens_where_the_block_size_was_said() -> None:
    """V0 names blocks and, elsewhere, their size; without the size no token count is made up."""
    blocks = "INFO 11-30 03:40:01 gpu_executor.py:122] # GPU blocks: 2657, # CPU blocks: 327\n"
    size = "INFO 11-30 03:40:00 api_server.py:529] args: Namespace(model='m', block_size=16, quantization=None)\n"
    told = read_log(vllm_log, size + blocks).facts()
    assert (2657, 42_512) == (told["engine.num_gpu_blocks"], told["engine.kv_cache_tokens"])
    assert {"engine.name": "vllm", "engine.num_gpu_blocks": 2657} == read_log(vllm_log, blocks).facts()
    assert "engine.quantization" not in told


def test_a_wrapped_config_line_gives_the_same_facts() -> None:
    """Settings survive a terminal that breaks the long configuration line."""
    (line,) = re.findall(
        r".*non-default args: .*num_gpu_blocks_override': 17.*", capture("s03_kv_preemption")
    )
    wrapped = "\n".join(line[at : at + 90] for at in range(0, len(line), 90))
    assert read_log(vllm_log, line).facts() == read_log(vllm_log, wrapped).facts() != {}


# ---- whose file


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


# ---- bounds


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
    assert len(re.findall(r"(?m)^" + re.escape(LINE) + "$", text)) <= len(
        seen.values("vllm.log.kv_cache_usage")
    )


@given(st.binary(max_size=2_000))
def test_binary_junk_raises_nothing(data: bytes) -> None:
    """Junk before and after a line leaves the line."""
    seen = read_log(vllm_log, data.replace(b"[", b"") + b"\n" + LINE.encode() + b"\n" + data)
    assert 1 <= len(seen.values("vllm.log.running_requests"))
