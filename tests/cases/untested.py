"""Reports with agree ≥ 2 that no test here can be made of, and why."""

from __future__ import annotations

NO_HYPOTHESIS = {
    "C017": "a chat template that doubles special tokens",
    "C026": "a silent fallback to another kernel or back end",
    "C062": "too little shared memory of the host",
    "C076": "clients that reconnect all at once",
    "C077": "clients that reconnect all at once, of a network that serves no model",
    "C088": "file descriptors of a vector database",
    "C091": "a tokenizer that cuts prompts",
    "C092": "a tokenizer that cuts prompts",
    "C094": "a tokenizer that cuts prompts, ruled out",
    "C109": "quantization that ruins answers",
    "C110": "quantization that ruins answers",
    "C112": "quantization that ruins answers",
    "C121": "models that are unloaded and loaded again for each other's options",
    "C131": "a transfer of KV blocks over the wrong transport",
    "C139": "a retry hidden inside the engine",
    "C146": "a control plane that its own agents overload",
}
"""Causes that the catalogue of hypotheses does not have."""

NO_TELEMETRY = {
    "C052": "the machine goes off without a line; a larger power supply ended it",
    "C053": "the host freezes without a line; locked clocks ended it",
    "C055": "the host freezes without a line; slots set to an older generation ended it",
    "C058": "the size of a file in a cache",
    "C097": "whether answers were right, judged by hand",
    "C104": "ranks of three queries under two poolings",
    "C106": "norms of vectors",
    "C107": "nDCG of a benchmark",
    "C122": "a timeline of two ranks in a profiler",
    "C125": "lines of NCCL that are the same in runs that stall and runs that do not; IOMMU settings settled it",
    "C127": "slots of the mainboard, and one reading of two GPUs' utilization",
    "C133": "gaps in a profiler's timeline",
    "C136": "a profiler's line that only waits; what the CPU does instead was not found",
    "C157": "the number of series in Prometheus",
}
"""Evidence that no reader can have, as it is no telemetry of a service."""

NO_LATENCY = {
    "C028": "tokens per second with the draft model's defaults were not told",
}
"""Figures that the report lacks, without which there is nothing to compare."""

INTAKE = {
    "C164": "log records with an event time of zero",
    "C173": "one span id twice",
    "C175": "an empty resource",
}
"""Not a cause to find but an input to read; tests/collector and tests/correlator/store have such inputs."""

REFUSED = {
    "C163": "a time unit that puts points into 2095: neither a line of the exporter nor how much was discarded",
    "C166": "sums without a start time: which sums, but neither the line that refuses them nor how many",
    "C167": "invalid UTF-8 in the sender: about one batch a second for 14 days, no time without and no size of a batch",
    "C169": "hex text for ids in a log drain: the answer to the sender, but neither how many batches nor how large",
    "C170": "base64 ids of a debug build: the answer to the sender, no count, and no time before it",
}
"""Refusals of which the report tells too little to write what the service left: how many were lost, or since when."""

UNTESTED = NO_HYPOTHESIS | NO_TELEMETRY | NO_LATENCY | INTAKE | REFUSED
