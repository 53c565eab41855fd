"""Lines of vLLM logs that several tests read."""

import gzip
from pathlib import Path

from collector.files import vllm_log
from tests.collector.files.log_reading import read_log

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


# a traceback of one process between the lines of others
TRACE = """\
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390] EngineCore encountered a fatal error.
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390] Traceback (most recent call last):
(APIServer pid=1) INFO 11-30 03:40:01 [x.py:1] something in between
INFO:     127.0.0.1:37566 - "POST /v1/chat/completions HTTP/1.1" 200 OK
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390]   File "a.py", line 1, in f
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390]     raise X
(EngineCore_DP0 pid=7) ERROR 11-30 03:40:01 [core.py:390] {}
"""
