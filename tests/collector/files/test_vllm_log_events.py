"""What a vLLM log tells of: failures, starts and stops, and settings."""

import re

import pytest

from collector.files import vllm_log
from tests.collector.files.log_reading import attributes, read_log
from tests.collector.files.vllm_lines import LINE, TRACE, capture


def test_a_traceback_is_one_event_even_between_other_lines() -> None:
    """Lines of one process are put together although other processes write between them."""
    seen = read_log(vllm_log, TRACE.format("ValueError: boom: bang"))
    event = seen.the("tollens.engine_dead")
    assert {"exception.type": "ValueError", "exception.message": "boom: bang"} == attributes(event)
    assert ["tollens.engine_dead"] == seen.events()


def test_equal_errors_of_one_second_are_counted_one_by_one() -> None:
    """The same failure three times in a second is three events, each with its traceback."""
    head = "ERROR 11-30 03:40:01 [serving_chat.py:200] "
    lines = ["Error in preprocessing", "Traceback (most recent call last):", "  File 'a'", "ValueError: no"]
    assert ["tollens.error"] * 3 == read_log(vllm_log, "".join(f"{head}{x}\n" for x in lines * 3)).events()


def test_of_chained_tracebacks_the_last_is_what_was_raised() -> None:
    """A traceback that goes on after `During handling …` is one event with the final exception."""
    text = (
        "ERROR:    Exception in ASGI application\nTraceback (most recent call last):\n  File 'a'\n"
        "KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n  File 'b'\nRuntimeError: y\n"
    )
    event = read_log(vllm_log, f"{LINE}\n{text}").the("tollens.error")
    assert {"exception.type": "RuntimeError", "exception.message": "y"} == attributes(event)


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
        ("ERROR: AssertionError: Error in memory profiling. Initial free memory 1 GiB, current …", "memory_released"),
        ("ERROR: torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", "gpu_ecc_error"),
        ("ERROR: RuntimeError: CUDA error: GPU is lost", "gpu_lost"),
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
        "CUDA graphs can take additional 1~3 GiB memory per GPU. If you are running out of memory, …",
        "Received request cmpl-1: prompt: 'why CUDA out of memory, NCCL error?', params: SamplingParams(n=1)",
        "Received request cmpl-2: prompt: 'GPU KV cache size: 5 tokens', params: SamplingParams(n=1)",
    ],
)
def test_advice_and_prompts_are_no_failures(message: str) -> None:
    """What users write and what vLLM merely advises is neither an event nor a fact."""
    seen = read_log(vllm_log, f"INFO 11-30 03:40:01 [logger.py:39] {message}\n")
    assert ([], {}) == (seen.events(), seen.facts())


def test_prompts_are_not_copied() -> None:
    """Lines that log what users wrote are left where they are."""
    prompt = "INFO 11-30 03:40:01 [logger.py:39] Received request cmpl-1: prompt: 'my secret', params: …"
    assert [] == read_log(vllm_log, prompt).logs


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


def test_a_restart_within_one_second_ends_before_it_begins() -> None:
    """The server's last words, which have no stamp, come before the next start, whatever stands between."""
    log = (
        "(APIServer pid=1) INFO 11-30 03:40:01 [launcher.py:254] [shutdown] API server: shutdown triggered\n"
        "INFO:     Application shutdown complete.\n"
        "(APIServer pid=2) INFO 11-30 03:40:01 [api_server.py:1] vLLM API server version 0.9.1\n"
        "(Core pid=3) INFO 11-30 03:40:09 [core.py:69] Initializing a V1 LLM engine (v0.9.1) with config: model='m'\n"
    )
    assert ["tollens.engine_shutdown", "tollens.engine_start"] == read_log(vllm_log, log).events()


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (
            "[rank0]:[W1130 03:40:01.648443608 CUDACachingAllocator.cpp:3933] memory allocation failed with OOM on "
            "device 0 while trying to allocate 20971520 bytes (free: 15794176, total: 150111977472).",
            "allocation_retried",
        ),
        (
            "WARNING 11-30 03:40:01 [x.py:1] Added a BOS token to the prompt, which also starts with one. So now "
            "the final prompt starts with 2 BOS tokens.",
            "special_tokens_doubled",
        ),
    ],
    ids=["allocation", "two first tokens"],
)
def test_warnings_of_what_goes_on_have_names(line: str, event: str) -> None:
    """An allocation that was repeated and a token that stands twice are warnings, not failures."""
    assert [f"tollens.{event}"] == read_log(vllm_log, line + "\n").events()


def test_blocks_become_tokens_where_the_block_size_was_said() -> None:
    """V0 names blocks and, elsewhere, their size; without the size no token count is made up."""
    blocks = "INFO 11-30 03:40:01 gpu_executor.py:122] # GPU blocks: 2657, # CPU blocks: 327\n"
    size = "INFO 11-30 03:40:00 api_server.py:5] args: Namespace(model='m', block_size=16, quantization=None)\n"
    told = read_log(vllm_log, size + blocks).facts()
    assert (2657, 42_512) == (told["engine.num_gpu_blocks"], told["engine.kv_cache_tokens"])
    assert {"engine.name": "vllm", "engine.num_gpu_blocks": 2657} == read_log(vllm_log, blocks).facts()
    assert "engine.quantization" not in told


def test_none_is_a_value_only_where_it_means_off() -> None:
    """In the engine's own configuration `quantization=None` is a statement; other Nones say nothing."""
    line = "Initializing an LLM engine (v0.5.2) with config: model='m', quantization=None, max_num_seqs=None"
    facts = read_log(vllm_log, f"INFO 11-30 03:40:00 llm_engine.py:5] {line}\n").facts()
    expected = {"engine.version": "0.5.2", "engine.model": "m", "engine.quantization": "none"}
    assert {"engine.name": "vllm", **expected} == facts


def test_a_wrapped_config_line_gives_the_same_facts() -> None:
    """Settings survive a terminal that breaks the long configuration line."""
    (line,) = re.findall(r".*non-default args: .*num_gpu_blocks_override': 17.*", capture("s03_kv_preemption"))
    wrapped = "\n".join(line[at : at + 90] for at in range(0, len(line), 90))
    assert read_log(vllm_log, line).facts() == read_log(vllm_log, wrapped).facts() != {}


PROFILED = "Error in memory profiling."


@pytest.mark.parametrize(
    ("message", "figures"),
    [
        (
            "Initial free memory 82.94 GiB, current free memory 90.17 GiB. This happens when other processes sharing "
            "the same container release GPU memory while vLLM is profiling during initialization.",
            {"gpu.memory.free_before_gib": 82.94, "gpu.memory.free_after_gib": 90.17},
        ),
        (
            "Initial free memory 82.94 GiB, current free memory 90.17 GiB.",
            {"gpu.memory.free_before_gib": 82.94, "gpu.memory.free_after_gib": 90.17},
        ),
        (
            "Initial free memory 8589934592, current free memory 10737418240. This happens when the GPU memory was not "
            "properly cleaned up before initializing the vLLM instance.",
            {"gpu.memory.free_before_gib": 8.0, "gpu.memory.free_after_gib": 10.0},
        ),
        (
            "Initial used memory 10737418240, currently used memory 8589934592. This happens when the GPU memory was …",
            {"gpu.memory.used_before_gib": 10.0, "gpu.memory.used_after_gib": 8.0},
        ),
        ("This happens when the GPU memory was not properly cleaned up", {}),
        ("Initial free memory 1.2.3 GiB, current free memory 4 GiB. This happens …", {}),
    ],
)
def test_memory_that_others_gave_back_is_told_with_its_figures(message: str, figures: dict[str, float]) -> None:
    """Before and after profiling, in GiB, in the words of any version; a text without figures has none."""
    line = f"ERROR 11-30 03:40:01 [core.py:390] AssertionError: {PROFILED} {message}\n"
    told = attributes(read_log(vllm_log, line).the("tollens.memory_released"))
    assert figures == {name: value for name, value in told.items() if name.startswith("gpu.")}
