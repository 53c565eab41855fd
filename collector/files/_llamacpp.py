"""What lines of llama.cpp tell, in its server, its tools and inside Ollama's log: timings, settings, failures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collector.attributes import Value
from collector.files._engine_facts import plain

PROMPT = re.compile(r"prompt ?eval ?time ?= *([\d.]+) ?ms ?/ *(\d{1,9})")
DECODE = re.compile(r"(?<!prompt )(?<!prompt)eval ?time ?= *([\d.]+) ?ms ?/ *(\d{1,9})")
TOTAL = re.compile(r"total ?time ?= *([\d.]+) ?ms")
_FACTS = (
    ("version", re.compile(r"\bbuild(?: ?[:=] ?|\":)(\d{3,6})\b")),
    ("max_model_len", re.compile(r"(?:llama_\w+|common_\w+): n_ctx +(?:\(per seq\) +)?= (\d+)")),
    ("max_num_batched_tokens", re.compile(r"(?:llama_\w+): n_batch += (\d+)")),
    ("flash_attention", re.compile(r"(?:llama_\w+): flash_attn += (\w+)")),
    ("max_num_seqs", re.compile(r"n_(?:slots|parallel) *[=:] ?\"?(\d+)")),
    ("gpu_layers", re.compile(r"offloaded (\d+/\d+) layers to GPU")),
    ("threads", re.compile(r"\bn_threads *[=:] ?\"?(\d+)")),
    ("quantization", re.compile(r"(?:print_info: file type|llm_load_print_meta: model ftype) += (\S+)")),
    ("model", re.compile(r"(?:print_info|llm_load_print_meta): general\.name *= (.+)")),
    ("cache_dtype", re.compile(r"K \((\w+)\): ")),
)
EVENTS = (
    ("contextsizehasbeenexceeded", "tollens.context_overflow"),
    ("exceedstheavailablecontextsize", "tollens.context_overflow"),
    ("inputtruncated", "tollens.prompt_truncated"),
    ("truncatinginputprompt", "tollens.prompt_truncated"),
    ("startswith2bostokens", "tollens.special_tokens_doubled"),
    ("endswith2eostokens", "tollens.special_tokens_doubled"),
    ("failedtofindfreespaceinthekvcache", "tollens.kv_cache_full"),
    ("failedtofindamemoryslot", "tollens.kv_cache_full"),
    ("cudamallocfailed:outofmemory", "tollens.out_of_memory"),
    ("cudaerror:outofmemory", "tollens.out_of_memory"),
    ("failedtoallocatecomputebuffers", "tollens.out_of_memory"),
    ("ggml_assert", "tollens.engine_dead"),
    ("serverislisteningon", "tollens.engine_ready"),
    ("failedtoloadmodel", "tollens.model_load_failure"),
    ("errorloadingmodel", "tollens.model_load_failure"),
)
BEGINS = re.compile(
    r"(?:slot|srv|que|main|cmn|system_info|build|load_\w+|llama_\w+|llm_load_\w+|ggml_\w+|common_\w+|print_info|"
    r"print_timings?|common_perf_print|request|init|update_slots|log_server_request|done_request)\s*[:( ]"
    r"|\s*(?:prompt eval|eval|total|load|sampling) time ="
)


def facts(text: str) -> dict[str, Value]:
    """The settings that a line states, under our names."""
    found = {name: match[1].strip() for name, pattern in _FACTS if (match := pattern.search(text))}
    return {name: plain(value) for name, value in found.items()}


def event_of(squeezed: str) -> str:
    """The happening that a line tells of, "" for none."""
    return next((event for phrase, event in EVENTS if phrase in squeezed), "")


def timings(text: str) -> Iterator[tuple[str, float, int]]:
    """(prompt, decode or total; seconds; tokens) of each timing that a text has; a total has no tokens here."""
    for name, pattern in (("prompt", PROMPT), ("decode", DECODE), ("total", TOTAL)):
        if (match := pattern.search(text)) and match[1].count(".") <= 1 and match[1] != ".":
            yield name, round(float(match[1]) / 1_000, 9), int(match[2]) if name != "total" else 0
