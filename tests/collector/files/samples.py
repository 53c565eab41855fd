"""One small file of each format that a reader knows, written for these tests, and what a reader makes of it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from collector.files._contract import Options
from collector.files._registry import readers
from correlator.model.records import Batch, Problem, Signal
from tests.collector.files.log_reading import attributes, nano, source
from tests.collector.files.support import merged

SGLANG = """\
[2026-11-30 03:30:00] server_args=ServerArgs(model_path='Qwen/Qwen2.5-7B', dtype='auto', mem_fraction_static=0.88, \
max_running_requests=64, tp_size=2, disable_cuda_graph=False, api_key='hunter2')
[2026-11-30 03:30:55 TP0] max_total_num_tokens=442123, chunked_prefill_size=8192, context_len=32768
[2026-11-30 03:31:00] The server is fired up and ready to roll!
[2026-11-30 03:31:10 TP0] Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 128, token usage: 0.01, \
#running-req: 3, #queue-req: 2
[2026-11-30 03:31:12 TP0] Decode batch, #running-req: 7, #token: 5455, token usage: 0.97, cuda graph: True, \
gen throughput (token/s): 52.37, #queue-req: 11,
[2026-11-30 03:31:13 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.70 -> 0.91
[2026-11-30 03:31:15 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "scheduler.py", line 1, in run
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.
"""
TGI = """\
2026-11-30T03:30:00.123456Z  INFO text_generation_launcher: Args { model_id: "org/model-7b", num_shard: Some(2), \
quantize: None, max_total_tokens: Some(4096), port: 80 }
2026-11-30T03:30:20.123456Z  INFO text_generation_router::server: router/src/server.rs:2310: Connected
2026-11-30T03:31:01.654321Z  INFO generate_stream{parameters=GenerateParameters { max_new_tokens: Some(200), \
seed: None } total_time="1.234567891s" validation_time="400.5µs" queue_time="101.2ms" inference_time="1.132s" \
time_per_token="56.6ms" seed="None"}: text_generation_router::server: router/src/server.rs:511: Success
2026-11-30T03:31:05.654321Z ERROR generate: text_generation_router::infer: router/src/infer.rs:105: Model is overloaded
{"timestamp":"2026-11-30T03:32:05.654321Z","level":"INFO","message":"Success","target":"text_generation_router",\
"span":{"inference_time":"\\"900ms\\"","name":"generate","queue_time":"\\"90.1µs\\"","time_per_token":"\\"45ms\\"",\
"total_time":"\\"1.1s\\"","validation_time":"\\"1ms\\""}}
"""
LLAMACPP = """\
0.00.123.456 I build: 4567 (abcdef01) with gcc
0.01.123.456 I load_tensors: offloaded 33/33 layers to GPU
0.01.223.456 I llama_context: n_ctx         = 4096
0.02.123.456 I srv          init: initializing slots, n_slots = 4
0.03.000.000 I main: server is listening on http://127.0.0.1:8080 - starting the main loop
0.10.000.000 I slot launch_slot_: id  0 | task 7 | processing task
0.10.000.100 I slot update_slots: id  0 | task 7 | new prompt, n_ctx_slot = 1024, n_keep = 0, n_prompt_tokens = 40
0.11.072.210 I slot print_timing: id  0 | task 7 |
prompt eval time =      40.31 ms /    14 tokens (    2.88 ms per token,   347.31 tokens per second)
       eval time =    1031.90 ms /   100 tokens (   10.32 ms per token,    96.91 tokens per second)
      total time =    1072.21 ms /   114 tokens
0.11.072.300 I slot      release: id  0 | task 7 | stop processing: n_past = 113, truncated = 0
0.12.000.000 E srv  send_error: task id = 9, error: the request exceeds the available context size, try increasing it
"""
OLLAMA = """\
time=2026-11-30T04:30:00.678+01:00 level=INFO source=routes.go:1205 msg="Listening on 127.0.0.1:11434 (version 0.5.4)"
time=2026-11-30T04:30:01.678+01:00 level=INFO source=memory.go:356 msg="offload to cuda" layers.requested=-1 \
layers.model=33 layers.offload=20 memory.available="[7.5 GiB]"
time=2026-11-30T04:30:02.678+01:00 level=INFO source=server.go:376 msg="starting llama server" \
cmd="ollama_llama_server runner --ctx-size 8192 --batch-size 512 --threads 8 --parallel 4 --port 44321"
time=2026-11-30T04:30:05.678+01:00 level=INFO source=server.go:594 msg="llama runner started in 3.02 seconds"
[GIN] 2026/11/30 - 04:31:05 | 200 |  1.234567891s |       127.0.0.1 | POST     "/api/chat"
[GIN] 2026/11/30 - 04:32:09 | 500 |          1m2s |       127.0.0.1 | POST     "/v1/chat/completions"
time=2026-11-30T04:32:12.678+01:00 level=WARN source=runner.go:126 msg="truncating input prompt" limit=2048 prompt=3546
"""
NCCL = """\
2026-11-30T03:38:40Z node01:1234:1234 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
2026-11-30T03:38:40Z NCCL version 2.21.5+cuda12.4
2026-11-30T03:38:41Z node01:1234:1290 [0] NCCL INFO NET/IB : No device found.
2026-11-30T03:38:41Z node01:1234:1290 [0] NCCL INFO Using network Socket
2026-11-30T03:38:42Z node01:1234:1290 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct
2026-11-30T03:38:42Z node01:1234:1290 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] [send] via NET/Socket/0
2026-11-30T03:38:43Z node01:1234:1291 [1] include/shm.h:28 NCCL WARN posix_fallocate failed : No space left on device
[rank0]:[E1130 03:48:47.123456 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600042 milliseconds
"""
KERNEL = """\
[Mon Nov 30 03:29:59 2026] audit: type=1400 audit(1796009399.000:2): op=load
[Mon Nov 30 03:30:00 2026] NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[Mon Nov 30 03:30:01 2026] NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.
[Mon Nov 30 03:30:02 2026] NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, name=python3, Row Remapper: New row marked
[Mon Nov 30 03:30:03 2026] Memory cgroup out of memory: Killed process 4242 (python3) total-vm:123kB, anon-rss:1kB
[Mon Nov 30 03:30:04 2026] pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0
[Mon Nov 30 03:30:05 2026] mce: [Hardware Error]: Machine check events logged
[Mon Nov 30 03:30:06 2026] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:4242]
[Mon Nov 30 03:30:07 2026] CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)
[Mon Nov 30 03:30:08 2026] pt_main_thread[2536443]: segfault at 7f ip 00007f sp 00007f error 4 in libnccl.so.2
[Mon Nov 30 03:30:09 2026] mlx5_core 0000:98:00.0 ib0: Link down
[Mon Nov 30 03:30:10 2026] eth0: renamed from veth1
"""
OTELCOL = """\
2026-11-30T03:30:00.678Z\tinfo\tservice@v0.115.0/service.go:164\tSetting up own telemetry...
2026-11-30T03:31:00.678Z\terror\tinternal/queue_sender.go:128\tExporting failed. Dropping data.\t{"kind": "exporter", \
"data_type": "traces", "name": "otlp/backend", "error": "no more retries left: Unavailable", "dropped_items": 512}
go.opentelemetry.io/collector/exporter/exporterhelper/internal.NewQueueSender.func1
\tgo.opentelemetry.io/collector/exporter@v0.115.0/exporterhelper/internal/queue_sender.go:128
2026-11-30T03:31:10.678Z\twarn\tmemorylimiter/memorylimiter.go:173\tMemory usage is above soft limit. Refusing data.
{"level":"error","ts":1796009482.5,"caller":"exporterhelper/queue_sender.go:90","msg":"Rejecting data.",\
"otelcol.component.id":"otlp","otelcol.signal":"logs","error":"sending queue is full","rejected_items":42}
"""
ACCESS = """\
10.0.0.1 - - [30/Nov/2026:03:31:05 +0000] "POST /v1/chat/completions HTTP/1.1" 200 512 "-" "httpx/0.27" 1.234 1.230
10.0.0.1 - - [30/Nov/2026:03:31:06 +0000] "GET /users/1234?x=1 HTTP/1.1" 502 0 "-" "curl/8" rt=0.123 urt="0.121"
[2026-11-30T03:31:07.310Z] "POST /v1/completions HTTP/2" 503 UO 154 0 226 100 "10.0.35.28" "ua" "id" "host" "tcp://u:80"
10.0.1.2:33317 [30/Nov/2026:03:31:09.655] http-in static/srv1 10/200/30/69/309 200 2750 - - ---- 1/1/1/1/0 0/3 \
"GET /index.html HTTP/1.1"
{"Duration":12345678,"OriginDuration":12000000,"DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/x",\
"StartUTC":"2026-11-30T03:31:10.1Z","time":"2026-11-30T03:31:10Z","RetryAttempts":1,"level":"info","msg":""}
{"level":"info","ts":1796009471.5,"logger":"http.log.access","msg":"handled request",\
"request":{"method":"GET","uri":"/c"},"duration":0.5,"status":200}
{"start_time":"2026-11-30T03:31:12.000Z","method":"POST","path":"/pkg.Model/Infer","response_code":200,\
"response_flags":"-","duration":42,"grpc_status":14,"upstream_service_time":"41"}
"""
EVENTS = """\
LAST SEEN            TYPE      REASON      OBJECT         MESSAGE
5m12s                Warning   BackOff     pod/vllm-7d9   Back-off restarting failed container vllm in pod vllm-7d9
7m                   Warning   Unhealthy   pod/vllm-7d9   Liveness probe failed: Get "http://10.0.0.1:8000/health"
6m59s (x3 over 20m)  Normal    Killing     pod/vllm-7d9   Container vllm failed liveness probe, will be restarted
9m                   Normal    Scheduled   pod/vllm-7d9   Successfully assigned default/vllm-7d9 to gpu-1
"""
DESCRIBED = """\
Name:             vllm-7d9
Namespace:        prod
Containers:
  vllm:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Mon, 30 Nov 2026 03:20:00 +0000
      Finished:     Mon, 30 Nov 2026 03:30:00 +0000
    Restart Count:  3
Events:
  Type     Reason     Age                From     Message
  ----     ------     ----               ----     -------
  Warning  Unhealthy  5m (x3 over 10m)   kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503
"""
KUBERNETES: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "kind": "Event", "type": "Warning", "reason": "Evicted", "message": "low on resource: memory", "count": 2,
            "lastTimestamp": "2026-11-30T03:31:00Z", "source": {"component": "kubelet", "host": "gpu-1"},
            "involvedObject": {
                "kind": "Pod", "namespace": "prod", "name": "vllm-0", "fieldPath": "spec.containers{vllm}"
            },
        },
        {
            "kind": "Pod", "metadata": {"name": "vllm-0", "namespace": "prod"},
            "status": {"containerStatuses": [{
                "name": "vllm", "restartCount": 3,
                "lastState": {"terminated": {
                    "exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-30T03:30:30Z"
                }},
            }]},
        },
    ],
}  # fmt: skip
CGROUP = """\
1796009460
usage_usec 5000000
nr_periods 100
nr_throttled 3
throttled_usec 12345
2026-11-30T03:31:02Z
nr_periods 120
nr_throttled 23
cpu.pressure
some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000
memory.events
oom_kill 1
"""
STACKS = "main;run;step;matmul 90\nmain;run;tokenize 10\nmain;idle 5\n"
RESPONSE = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1796009485, "model": "m",
    "choices": [{"index": 0, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64}},
}  # fmt: skip
USAGE = "".join(
    json.dumps(line) + "\n"
    for line in (
        {**RESPONSE, "latency_s": 1.5, "ttft_s": 0.2},
        {"timestamp": "2026-11-30T03:31:30Z", "latency_ms": 2000, "response": RESPONSE},
        {"timestamp": "2026-11-30T03:31:31Z", "latency_ms": 2000, "error": {"message": "busy"}, "model": "m"},
    )
)
_JAEGER_TAGS = [
    {"key": "span.kind", "type": "string", "value": "client"},
    {"key": "error", "type": "bool", "value": True},
    {"key": "big", "type": "int64", "value": "9007199254740993"},
]
JAEGER = {
    "data": [{
        "traceID": "1e223ff1f80f1c69",
        "spans": [
            {
                "traceID": "1e223ff1f80f1c69", "spanID": "a1", "operationName": "GET /", "references": [],
                "startTime": 1796009485000000, "duration": 250000, "processID": "p1",
                "tags": [{"key": "span.kind", "type": "string", "value": "server"}], "logs": [],
            },
            {
                "traceID": "1e223ff1f80f1c69", "spanID": "a2", "operationName": "call",
                "references": [
                    {"refType": "FOLLOWS_FROM", "traceID": "1e223ff1f80f1c69", "spanID": "a9"},
                    {"refType": "CHILD_OF", "traceID": "1e223ff1f80f1c69", "spanID": "a1"},
                ],
                "startTime": 1796009485010000, "duration": 200000, "processID": "p2", "tags": _JAEGER_TAGS,
                "logs": [{"timestamp": 1796009485020000, "fields": [
                    {"key": "event", "type": "string", "value": "retry"},
                    {"key": "attempt", "type": "int64", "value": 2},
                ]}],
            },
        ],
        "processes": {
            "p1": {"serviceName": "gateway", "tags": [{"key": "hostname", "type": "string", "value": "n1"}]},
            "p2": {"serviceName": "rag", "tags": []},
        },
    }]
}  # fmt: skip
ZIPKIN = [
    {
        "traceId": "0d1a94ebc9256244", "id": "b0", "kind": "SERVER", "name": "get", "timestamp": 1796009484999000,
        "duration": 260000, "localEndpoint": {"serviceName": "gateway", "ipv4": "10.0.0.1"},
    },
    {
        "traceId": "0d1a94ebc9256244", "id": "b1", "parentId": "b0", "kind": "CLIENT", "name": "post",
        "timestamp": 1796009485000000, "duration": 250000,
        "localEndpoint": {"serviceName": "gateway", "ipv4": "10.0.0.1"},
        "remoteEndpoint": {"serviceName": "rag"}, "tags": {"http.status_code": "503"},
    },
    {
        "traceId": "0d1a94ebc9256244", "id": "b1", "parentId": "b0", "kind": "SERVER", "name": "post",
        "shared": True, "timestamp": 1796009484990000, "duration": 200000, "localEndpoint": {"serviceName": "rag"},
        "annotations": [{"timestamp": 1796009485020000, "value": "cache miss"}], "tags": {"error": "no model"},
    },
    {
        "traceId": "0d1a94ebc9256244", "id": "b2", "parentId": "b1", "name": "rerank",
        "timestamp": 1796009485030000, "duration": 1000, "localEndpoint": {"serviceName": "rag"},
    },
]  # fmt: skip

SAMPLES: dict[str, tuple[str, str]] = {  # name of a file: (its reader, its content)
    "sglang": ("sglang_log", SGLANG),
    "tgi": ("tgi_log", TGI),
    "1796009540.llamacpp": ("llamacpp_log", LLAMACPP),
    "ollama": ("ollama_log", OLLAMA),
    "nccl": ("nccl_log", NCCL),
    "dmesg": ("kernel_log", KERNEL),
    "otelcol": ("otelcol_log", OTELCOL),
    "access": ("access_log", ACCESS),
    "1796010000.events": ("kubernetes_events", EVENTS),
    "1796010000.described": ("kubernetes_events", DESCRIBED),
    "kubernetes.json": ("kubernetes_events", json.dumps(KUBERNETES, indent=1)),
    "cgroup": ("cgroup_stat", CGROUP),
    "1796009540.stacks": ("folded_stacks", STACKS),
    "usage": ("openai_usage", USAGE),
    "jaeger": ("jaeger_json", json.dumps(JAEGER)),
    "zipkin": ("zipkin_json", json.dumps(ZIPKIN, indent=2)),
}


@dataclass
class Told:
    """What a reader made of a file, flat and comparable."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # without prefix, in order of time
    facts: dict[str, Any] = field(default_factory=dict)
    points: list[tuple[str, float, dict[str, Any]]] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)  # of `spans`, one by one
    logs: list[Any] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def happened(self) -> list[str]:
        """Names of the events in order of time."""
        return [name for name, _ in self.events]

    def figures(self) -> dict[str, float]:
        """The last value of each metric."""
        return {name: value for name, value, _ in self.points}

    def span(self, name: str) -> tuple[Any, dict[str, Any]]:
        """The one span of a name and its attributes."""
        (found,) = [span for span in self.spans if span.name == name]
        return found, attributes(found)


def told(items: Iterable[Batch | Problem]) -> Told:
    """Flatten what a reader yields."""
    found, batches = Told(), list[Batch]()
    for item in items:
        found.problems.append(item) if isinstance(item, Problem) else batches.append(item)  # type: ignore[func-returns-value]
    for resource in merged(batches, Signal.TRACES).resource_spans:
        for scope in resource.scope_spans:
            found.spans.extend(scope.spans)
            found.resources.extend([attributes(resource.resource)] * len(scope.spans))
    for resource in merged(batches, Signal.LOGS).resource_logs:
        found.logs.extend(log for scope in resource.scope_logs for log in scope.log_records)
    for log in sorted(found.logs, key=lambda log: log.time_unix_nano):
        if log.event_name == "tollens.facts":
            found.facts |= attributes(log)
        elif log.event_name:
            found.events.append((log.event_name.removeprefix("tollens."), attributes(log)))
    for resource in merged(batches, Signal.METRICS).resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                found.points.extend(_points(metric))
    return found


def _points(metric: Any) -> Iterable[tuple[str, float, dict[str, Any]]]:
    kind = metric.WhichOneof("data")
    for point in getattr(metric, kind).data_points:
        value = point.sum if kind == "histogram" else getattr(point, point.WhichOneof("value"))
        yield metric.name, value, attributes(point)


def read_as(reader: str, text: str | bytes, name: str = "input", near: str | None = None) -> Told:
    """Read a text with the reader of that name."""
    (chosen,) = [one for one in readers() if one.id == reader]
    options = Options(near_unix_nano=nano(near) if near else None)
    return told(chosen.read(source(text, name), options))


def sample(name: str) -> Told:
    """Read a sample with its reader."""
    reader, text = SAMPLES[name]
    return read_as(reader, text, name, near="2026-11-30 03:30:00")
