"""A log is read as what most of it is: one line of another program does not make it that program's log, and a pasted
fragment of few lines is still found."""

import pytest

from collector.files._registry import readers
from tests.collector.files import gpu_texts
from tests.collector.files.log_reading import source
from tests.collector.files.samples import SAMPLES, read_as
from tests.collector.files.vllm_lines import LINE

CLOCKS = [f"05:{i // 60:02}:{i % 60:02}" for i in range(12)]
ORDINARY = {
    "text": [f"2026-11-30 {clock},123 INFO app.orders: order took 12 ms" for clock in CLOCKS],
    "brackets": [f"[2026-11-30 {clock}] order sent to the sglang and ollama backends" for clock in CLOCKS],
    "JSON": [f'{{"time":"2026-11-30T{clock}Z","level":"info","msg":"order"}}' for clock in CLOCKS],
    "syslog": [f"Nov 30 {clock} node app[3]: order took 12 ms" for clock in CLOCKS],
    "stack traces": [
        line for c in CLOCKS for line in (f"2026-11-30 {c} ERROR app: failed", "  at a", "  at b, c", "E: no")
    ],
}
PRINTED = {
    name: getattr(gpu_texts, name) for name in ("QUERY", "TABLE", "REPORT", "XML", "DMON", "PMON", "DCGMI", "BENCH")
}
FOREIGN = {name: text for name, (_, text) in SAMPLES.items() if name not in ("jaeger", "zipkin")} | PRINTED
FRAGMENTS = {
    "sglang_log": "[2026-11-30 03:31:10 TP0] Prefill batch. #new-seq: 1, #new-token: 512, #cached-token: 128",
    "tgi_log": "2026-11-30T03:30:20.1Z  INFO text_generation_router::server: router/src/server.rs:2310: Connected",
    "ollama_log": '[GIN] 2026/11/30 - 04:31:05 | 200 |  1.2s |       127.0.0.1 | POST     "/api/chat"',
    "llamacpp_log": "0.10.000.000 I slot launch_slot_: id  0 | task 7 | processing task",
    "kernel_log": "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, name=python3, GPU has fallen off the bus.",
    "nccl_log": "node01:1234:1290 [0] NCCL INFO NET/IB : No device found.",
    "otelcol_log": "2026-11-30T03:30:00.678Z\tinfo\tservice@v0.115.0/service.go:164\tSetting up own telemetry...",
    "vllm_log": LINE,
}
PASTED = {
    "bare": "{}\n",
    "fenced": "My engine hangs, what is wrong? The log says\n\n```\n{}\n```\nand nothing else.\n",
    "of a container": "2026-11-30T03:31:01.5Z {}\n",
    "of a pod": "[pod/a-1/main] {}\n",
}


def surest(text: str) -> str:
    """The reader that accepts a text best."""
    return max((one.accepts(source(text)), one.id) for one in readers())[1]


@pytest.mark.parametrize("kind", sorted(ORDINARY))
@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_one_foreign_line_does_not_take_an_applications_log(name: str, kind: str) -> None:
    """Whichever line of another format stands among an application's, printed as it is or by the logger."""
    ordinary, ours = ORDINARY[kind], {"app_log", "yearless_log"}
    for line in FOREIGN[name].splitlines():
        for written in (line, f"2026-11-30 05:00:05,200 WARNING app.engine: {line}"):
            text = "\n".join([*ordinary[:6], written, *ordinary[6:], ""])
            assert surest(text) in ours, written


@pytest.mark.parametrize("form", sorted(PASTED))
@pytest.mark.parametrize("reader", sorted(FRAGMENTS))
def test_a_fragment_of_one_line_is_found(reader: str, form: str) -> None:
    """One line is enough where it is all there is, also between the words of who pasted it."""
    assert reader == surest(PASTED[form].format(FRAGMENTS[reader]))


@pytest.mark.parametrize("reader", sorted(FRAGMENTS))
def test_the_web_servers_lines_speak_for_nobody(reader: str) -> None:
    """An engine whose log is mostly its web server's, each line stamped by the container, is still that engine."""
    served = '2026-11-30T03:31:02Z INFO:     10.0.0.1:5000 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n' * 30
    assert reader == surest(f"2026-11-30T03:31:01Z {FRAGMENTS[reader]}\n{served}")


def test_an_engines_log_with_a_few_lines_of_an_application_is_the_engines() -> None:
    """The other way round it is the same: what most records are decides."""
    text = SAMPLES["sglang"][1] + "\n".join(ORDINARY["text"][:4])
    assert "sglang_log" == surest(text)


@pytest.mark.parametrize("stamp", ["Nov 30 05:00:05 node kernel: [12.5] ", "2026-11-30T05:00:05+00:00 node kernel: "])
def test_a_syslog_keeps_what_its_kernel_said(stamp: str) -> None:
    """A machine's syslog is read as the many programs it is of, and its Xid is still named with code and GPU."""
    text = "\n".join([*ORDINARY["syslog"], f"{stamp}{FRAGMENTS['kernel_log']}", *ORDINARY["syslog"]])
    assert "yearless_log" == surest(text)
    ((name, told),) = read_as("yearless_log", text, near="2026-11-30 00:00:00").events
    assert ("xid", 79, "0000:3b:00") == (name, told["xid"], told["gpu.pci_address"])


def test_an_application_that_quotes_the_kernel_is_no_kernel() -> None:
    """What an application says of an Xid is its own line."""
    quoted = f"2026-11-30 05:00:05,200 WARNING app.engine: kernel: {FRAGMENTS['kernel_log']}"
    assert [] == read_as("app_log", "\n".join([*ORDINARY["text"], quoted])).events
