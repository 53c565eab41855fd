"""What vLLM's log tells of its graphs, grammars, drafts and adapters, and of a start that failed."""

import pytest

from collector.files import vllm_log
from tests.collector.files.log_reading import attributes, read_log
from tests.collector.files.vllm_lines import LINE

AT = "INFO 11-30 03:38:40 [core.py:1] "
CONFIG = AT + "Initializing a V1 LLM engine (v0.20.2) with config: model='m', {}\n"


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (CONFIG.format("compilation_config={'cudagraph_capture_sizes': [1, 8, 4]}"), "max_cudagraph_capture_size", 8),
        (CONFIG.format("compilation_config={'max_capture_size': 512}"), "max_cudagraph_capture_size", 512),
        (CONFIG.format("structured_outputs_config=StructuredOutputsConfig(backend='xgrammar')"),
         "structured_outputs_backend", "xgrammar"),
        (CONFIG.format("decoding_config=DecodingConfig(guided_decoding_backend='outlines')"),
         "structured_outputs_backend", "outlines"),
        (AT.replace("INFO", "WARNING") + "Enforce eager set, disabling torch.compile and CUDAGraphs.\n",
         "enforce_eager", True),
        (AT + "Cudagraph is disabled under eager mode\n", "enforce_eager", True),
        (AT + "non-default args: {'model': 'm', 'enable_lora': True}\n", "enable_lora", True),
    ],
    ids=["sizes", "largest size", "grammar", "older grammar", "eager", "older eager", "adapters"],
)  # fmt: skip
def test_a_setting_is_a_fact(line: str, name: str, value: object) -> None:
    """Each line states its setting, and only that."""
    assert value == read_log(vllm_log, line).facts()[f"engine.{name}"]


@pytest.mark.parametrize("sizes", ["[]", "None"])
def test_no_captured_sizes_are_no_largest(sizes: str) -> None:
    """An engine in eager mode lists none."""
    line = CONFIG.format(f"compilation_config={{'cudagraph_capture_sizes': {sizes}}}")
    assert "engine.max_cudagraph_capture_size" not in read_log(vllm_log, line).facts()


def requests(*parameters: str, prompt: str = "") -> list[list[float]]:
    """Requests received and those with a schema, of a log with these requests and two lines of figures around them."""
    said = [AT + f"Received request cmpl-{i}: prompt: {prompt!r}, params: {p}\n" for i, p in enumerate(parameters)]
    seen = read_log(vllm_log, f"{LINE}\n{''.join(said)}{LINE.replace(':47', ':57')}\n")
    return [seen.values(f"vllm.log.{name}_requests") for name in ("received", "structured")]


FREE = "SamplingParams(n=1, structured_outputs=None), lora_request: None."
BOUND = "SamplingParams(n=1, structured_outputs=StructuredOutputsParams(json='{}')), lora_request: None."
OLDER = "SamplingParams(n=1, guided_decoding=GuidedDecodingParams(regex='a')), lora_request: None."


def test_logged_requests_tell_who_demands_a_schema() -> None:
    """Two of three in either way of writing it."""
    assert [[3], [2]] == requests(FREE, BOUND, OLDER)


def test_a_prompt_that_talks_of_schemas_demands_none() -> None:
    """What stands in the prompt counts for nothing, and a request whose parameters are cut off is not counted."""
    assert [[1], [0]] == requests(FREE, prompt=f"params: {BOUND}")
    assert [[], []] == requests("PoolingParams()")


def test_what_a_request_asks_is_not_kept() -> None:
    """A logged request, prompt and all, is counted and becomes no record."""
    secret = read_log(vllm_log, AT + f"Received request cmpl-1: prompt: 'my password', params: {FREE}\n" + LINE)
    assert [] == [log for log in secret.logs if "password" in str(log)]


def test_an_adapter_that_was_loaded_is_an_event() -> None:
    """Its name is the event's."""
    seen = read_log(vllm_log, AT + "Loaded new LoRA adapter: name 'sql', path '/adapters/sql'\n")
    assert [("tollens.lora_activated", "sql")] == [(log.event_name, attributes(log)["adapter"]) for log in seen.logs]


@pytest.mark.parametrize(
    "raised",
    [
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        "RuntimeError: Error 803: system has unsupported display driver / cuda driver combination",
        "RuntimeError: Error 804: forward compatibility was attempted on non supported HW",
    ],
)
def test_a_driver_that_does_not_fit_is_told_from_a_file_that_does_not(raised: str) -> None:
    """What the driver says is its own event, and stays in the record word by word."""
    seen = read_log(vllm_log, AT.replace("INFO", "ERROR") + raised + "\n")
    assert ["tollens.driver_mismatch"] == seen.events()
    assert raised in str(seen.logs)
