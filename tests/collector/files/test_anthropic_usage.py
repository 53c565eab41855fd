"""Usage as Anthropic's API counts it: what was read from its cache, or written to it, stands beside the prompt."""

import json

import pytest

from tests.collector.files.samples import attributes, read_as


def test_a_whole_prompt_is_not_counted_again() -> None:
    """A gateway that writes `prompt_tokens` has the cached ones in them, whatever it says beside."""
    usage = {"prompt_tokens": 5000, "completion_tokens": 100, "total_tokens": 5100, "cache_read_input_tokens": 4500}
    response = {"timestamp": "2026-11-30T00:53:20Z", "model": "m", "latency_s": 2, "usage": usage}
    (span,) = read_as("openai_usage", json.dumps(response) + "\n").spans
    told = attributes(span)
    assert [5000, 4500] == [told[f"gen_ai.usage.{name}input_tokens"] for name in ("", "cache_read.")]


COUNTS = {"input_tokens": 40, "output_tokens": 120}


@pytest.mark.parametrize(
    ("apart", "whole", "cached"),
    [
        ({"cache_creation_input_tokens": 2504, "cache_read_input_tokens": 0}, 2544, 0),
        ({"cache_creation_input_tokens": 0, "cache_read_input_tokens": 2504}, 2544, 2504),
        ({}, 40, None),
        ({"cache_creation_input_tokens": None, "cache_read_input_tokens": "many"}, 40, "many"),
    ],
    ids=["written", "read", "neither", "broken"],
)
def test_the_prompt_is_counted_whole(apart: dict[str, object], whole: int, cached: object) -> None:
    """Input tokens are all of the prompt, as with every other API; what was read from the cache is a part of them."""
    response = {"timestamp": "2026-11-30T00:53:20Z", "model": "m", "latency_s": 2, "usage": {**COUNTS, **apart}}
    (span,) = read_as("openai_usage", json.dumps(response) + "\n").spans
    told = attributes(span)
    assert whole == told["gen_ai.usage.input_tokens"]
    assert cached == told.get("gen_ai.usage.cache_read.input_tokens")
