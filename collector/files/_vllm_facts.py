"""Configuration and version as vLLM's start-up lines state them. What a line does not say stays unsaid."""

import ast
import re
from collections.abc import Sequence

from collector.attributes import Value

_SETTINGS = {
    "model": "model",
    "served_model_name": "served_model_name",
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "cache_dtype",
    "chat_template": "chat_template",
    "tokenizer": "tokenizer",
    "max_model_len": "max_model_len",
    "max_seq_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "enable_prefix_caching": "enable_prefix_caching",
    "enforce_eager": "enforce_eager",
    "tensor_parallel_size": "tensor_parallel_size",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "num_gpu_blocks_override": "num_gpu_blocks",
    "block_size": "block_size",
    "speculative_config": "speculative_config",
    "enable_chunked_prefill": "chunked_prefill",
    "chunked_prefill_enabled": "chunked_prefill",
    "enable_lora": "enable_lora",
    "guided_decoding_backend": "structured_outputs_backend",
    "structured_outputs_backend": "structured_outputs_backend",
    "max_cudagraph_capture_size": "max_cudagraph_capture_size",
    "max_capture_size": "max_cudagraph_capture_size",
}
_OFF = frozenset({"quantization", "speculative_config"})  # None in the engine's own config means: not used
_SETTING = re.compile(
    rf"(?<![\w.])['\"]?({'|'.join(_SETTINGS)})['\"]?\s*[=:]\s*"
    r"('[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|\w+\([^)]*\)|[^\s,)}\]]+)"
)
_LISTS_SETTINGS = re.compile(
    r"non-default ?args:|args: ?Namespace|Initializing an? ?.{0,8}LLM ?engine ?\(v"
    r"|Memory ?profiling ?results:|Chunked ?prefill ?is ?enabled ?with"
)
_VERSIONS = (
    re.compile(r"Initializing an? ?.{0,8}LLM ?engine ?\(v([^)\s]+)\)"),
    re.compile(r"vLLM ?API ?server ?version ?(\S+)"),
)
_BANNER_VERSION = re.compile(r"[▀▄█▌▐]\s+version (\S+)")
_BANNER_MODEL = re.compile(r"[▀▄█▌▐]\s+model\s+(\S.*)")
_KV_TOKENS = re.compile(r"\w+ ?KV ?cache ?size: ?([\d,]+) ?tokens")
_BLOCKS = (
    re.compile(r"# \w+ ?blocks: ?(\d+)"),
    re.compile(r"Overriding ?num_gpu_blocks=\d+ ?with ?num_gpu_blocks_override=(\d+)"),
)
_STARTS = (
    "non-default",
    "args:namespace",
    "initializinga",
    "memoryprofiling",
    "chunkedprefill",
    "vllmapiserver",
    "overridingnum",
    "usingmaxmodel",
    "enforceeagerset",
    "cudagraphisdisabled",
    "loadingweightstook",
    "filesystemtypefor",
    "#",
)
_CAPTURED = re.compile(r"'?cudagraph_capture_sizes'?[=:] ?\[([\d, ]*)\]")
_BACKEND = re.compile(r"(?:StructuredOutputs|DecodingConfig)\w*\((?:guided_decoding_)?backend='(\w+)'")
_EAGER = re.compile(r"Enforce ?eager ?set|Cudagraph ?is ?disabled ?under ?eager")
_LOADED = re.compile(r"Loading ?weights ?took ?([\d.]+) ?seconds")
_CHECKPOINT = re.compile(r"Filesystem ?type ?for ?checkpoints: ?(\w+)\. ?Checkpoint ?size: ?([\d.]+) ?GiB")
_MAX_LEN = re.compile(r"Using ?max ?model ?len ?(\d+)")


def states_facts(squeezed: str) -> bool:
    """A quick look at an entry's squeezed text: can it state facts at all?"""
    return squeezed.startswith(_STARTS) or "kvcachesize:" in squeezed[:32] or "▀" in squeezed


def facts_of(texts: Sequence[str]) -> dict[str, Value]:
    """The facts in the lines of one entry, as `engine.*` attributes; empty if it states none."""
    text = "".join(line.strip() for line in texts)
    facts = _settings(text) if _LISTS_SETTINGS.match(text) else {}
    if version := _first(_VERSIONS, text):
        facts["version"] = version
    if "▀" in text:
        facts |= _banner("\n".join(texts))
    if tokens := _KV_TOKENS.match(text):
        facts["kv_cache_tokens"] = int(tokens[1].replace(",", ""))
    if blocks := _first(_BLOCKS, text):
        facts["num_gpu_blocks"] = int(blocks)
    if _EAGER.match(text):
        facts["enforce_eager"] = True
    if length := _MAX_LEN.match(text):
        facts["max_model_len"] = int(length[1])
    if seconds := _LOADED.match(text):
        facts["weights_load_s"] = float(seconds[1])
    if checkpoint := _CHECKPOINT.match(text):
        facts |= {"checkpoint_filesystem": checkpoint[1].lower(), "checkpoint_gib": float(checkpoint[2])}
    return {f"engine.{name}": value for name, value in facts.items()}


def _banner(text: str) -> dict[str, Value]:
    found = {"version": _BANNER_VERSION.search(text), "model": _BANNER_MODEL.search(text)}
    return {name: match[1].strip() for name, match in found.items() if match}


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    return next((match[1] for pattern in patterns if (match := pattern.match(text))), None)


def _settings(text: str) -> dict[str, Value]:
    facts: dict[str, Value] = {}
    own_config = text.startswith("Initializing")
    for match in _SETTING.finditer(text):
        name = _SETTINGS[match[1]]
        value = _value(match[2])
        if value is None and own_config and name in _OFF:
            value = "none"
        if value is not None and value != "auto":
            facts.setdefault(name, _plain(name, value))
    if sizes := _captured(text):
        facts["max_cudagraph_capture_size"] = max(sizes)
    if (backend := _BACKEND.search(text)) and backend[1] != "auto":
        facts.setdefault("structured_outputs_backend", backend[1])
    if text.startswith("Chunked prefill is enabled"):
        facts["chunked_prefill"] = True
    return facts


def _captured(text: str) -> list[int]:
    """Batch sizes for which CUDA graphs are captured, where the line lists them."""
    found = _CAPTURED.search(text)
    return [int(size) for size in found[1].split(",") if size.strip()] if found else []


def _value(text: str) -> Value | None:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if value is None or isinstance(value, str | bool | int | float) else text


def _plain(name: str, value: Value) -> Value:
    return value.removeprefix("torch.") if name == "dtype" and isinstance(value, str) else value
