"""The engine's own causes from files to finding: what people have at hand tells each, and its rival is not accused."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from correlator.model.findings import Finding, Verdict
from tests.correlator.join.telemetry import Span, at, counter, gauge, metrics
from tests.hypotheses.files_a import CHANGE, END, arrivals, call, calls, failed, found, line, ready, started, supported

SCRAPES = np.arange(0, END, 2.0)


def stepped(before: float, then: float) -> list[tuple[float, float]]:
    """A level at each scrape."""
    return [(float(t), then if t >= CHANGE else before) for t in SCRAPES]


def behind_long_prompts(i: int, start: float, free: list[float]) -> list[Span]:
    """One prefill after another; in the incident every thirtieth prompt has 16,000 tokens."""
    tokens = 16_000 if start >= CHANGE and i % 30 == 0 else 300
    begins, prefill = max(start, free[0]), tokens * 1.2e-4
    free[0] = begins + prefill
    return call(i, start, queue=begins - start + 0.001, prefill=prefill, tokens=tokens)


def test_short_prompts_behind_long_ones(tmp_path: Path) -> None:
    """Traces alone show whose prefill short prompts wait for."""
    free = [0.0]
    diagnosis = found(tmp_path, calls(lambda i, start: behind_long_prompts(i, start, free)))
    assert "prefill_head_of_line" in supported(diagnosis)
    assert "traffic_surge" not in supported(diagnosis)


def test_eager_mode(tmp_path: Path) -> None:
    """Two start-ups that differ in one flag, and tokens that take twice as long since."""
    log = [*started(-20, enforce_eager=False), ready(-10), *started(CHANGE - 4, enforce_eager=True), ready(CHANGE - 1)]
    slower = calls(lambda i, start: call(i, start, per_token=0.005 if start < CHANGE else 0.011))
    assert ["cuda_graphs_disabled"] == supported(found(tmp_path, slower, log=log))


def test_fewer_drafted_tokens_are_accepted(tmp_path: Path) -> None:
    """The engine's counters: of four drafted tokens 2.6 were accepted, now 1.2."""
    drafts = 50.0 * SCRAPES
    accepted = np.cumsum(np.where(SCRAPES < CHANGE, 2.6, 1.2) * 50.0 * 2)
    counted = {"drafts": drafts, "draft_tokens": 4 * drafts, "accepted_tokens": accepted}
    told = [
        counter(f"vllm:spec_decode_num_{name}_total", zip(SCRAPES, values, strict=True))
        for name, values in counted.items()
    ]
    slower = calls(lambda i, start: call(i, start, per_token=0.005 if start < CHANGE else 0.009))
    running = gauge("vllm:num_requests_running", stepped(3, 3))
    diagnosis = found(tmp_path, slower, metrics(*told, running))
    assert ["speculative_acceptance_drop"] == supported(diagnosis)


def test_requests_with_a_schema_are_slow(tmp_path: Path) -> None:
    """The client says which calls demand JSON; those are slow, the others are not."""
    demands = np.random.default_rng(2).random(1000)

    def asked(i: int, start: float) -> list[Span]:
        bound = demands[i] < (0.05 if start < CHANGE else 0.45)
        told = {"gen_ai.output.type": "json"} if bound else {}
        return call(i, start, per_token=0.02 if bound else 0.005, told=told)

    assert ["structured_output_cost"] == supported(found(tmp_path, calls(asked)))


def test_requests_pile_up_at_one_replica(tmp_path: Path) -> None:
    """Two replicas' own pages: one has the queue, the other hardly anything to do."""
    wave = 1 + np.sin(SCRAPES) / 2
    hot, cold = ((4, 9), (4, 1))
    pages = [
        metrics(
            gauge("vllm:num_requests_running", [(t, w * v) for (t, v), w in zip(stepped(*load), wave, strict=True)]),
            gauge("vllm:num_requests_waiting", stepped(0, 4 if load is hot else 0)),
            instance=name,
        )
        for name, load in (("replica-0", hot), ("replica-1", cold))
    ]
    queued = calls(lambda i, start: call(i, start, queue=0.01 if start < CHANGE or i % 4 == 0 else 0.6))
    diagnosis = found(tmp_path, queued, *pages)
    assert "replica_imbalance" in supported(diagnosis)
    assert "traffic_surge" not in supported(diagnosis)


def test_those_who_ask_for_an_adapter_first_wait(tmp_path: Path) -> None:
    """vLLM's page names the adapters in use; the first call of each waits three seconds for it."""
    first = {i: f"adapter-{i}" for i, start in arrivals() if start >= CHANGE and i % 18 == 0}

    def asked(i: int, start: float) -> list[Span]:
        model = first.get(i) or first.get(i - 12) or "m"
        return call(i, start, prefill=3.0 if i in first else 0.04, told={"gen_ai.request.model": model})

    when = {start: first[i] for i, start in arrivals() if i in first}
    shown = [gauge("vllm:lora_requests_info", [(float(t), 1.0)], **labels("")) for t in SCRAPES[:1]]
    for start, name in when.items():
        after = SCRAPES[(SCRAPES > start) & (SCRAPES < start + 6)]
        points = [(float(t), at(float(t)) / 1e9) for t in after]
        shown.append(gauge("vllm:lora_requests_info", points, **labels(name)))
    page = metrics(gauge("vllm:num_requests_running", stepped(2, 2)), *shown)
    diagnosis = found(tmp_path, calls(asked), page)
    assert ["lora_activation"] == supported(diagnosis)


def labels(name: str) -> dict[str, str]:
    return {"max_lora": "4", "running_lora_adapters": name, "waiting_lora_adapters": ""}


DAMAGED = "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
MISMATCH = "RuntimeError: Error 803: system has unsupported display driver / cuda driver combination"


def load_failure(folder: Path, raised: str) -> Finding:
    log = [*started(-20), ready(-10), line(CHANGE - 5, "INFO Shutting down"), *started(CHANGE - 4)]
    log += [line(CHANGE + 2, "ERROR EngineCore failed to start."), line(CHANGE + 2, f"ERROR {raised}")]
    log += [line(END - 2, "INFO waiting for the core")]
    down = calls(lambda i, start: call(i, start) if start < CHANGE else failed(i, start, 0.01))
    return found(folder, down, log=log).findings[0]


def test_a_damaged_weight_file(tmp_path: Path) -> None:
    """The engine's log names what could not be read (C056), and every call fails since."""
    first = load_failure(tmp_path, DAMAGED)
    assert ("model_load_failure", Verdict.SUPPORTED) == (first.hypothesis, first.verdict)


def test_a_driver_that_does_not_fit(tmp_path: Path) -> None:
    """Error 803 at start-up (C059) is told from a damaged file."""
    first = load_failure(tmp_path, MISMATCH)
    held = {p.id for p in first.predictions if p.reading.outcome == "held"}
    assert "model_load_failure" == first.hypothesis
    assert "the_driver_does_not_fit" in held


def test_memory_that_grows_until_the_process_is_killed(tmp_path: Path) -> None:
    """Resident memory climbs for as long as was recorded, and the kernel ends the engine."""
    climbing = [(float(t), 8e9 * (1 + t / END)) for t in SCRAPES]
    (tmp_path / "kernel.log").write_text(
        "2026-11-30T00:50:00+0000 node-1 kernel: Linux version 6.8.0\n"
        "2026-11-30T00:54:45+0000 node-1 kernel: Out of memory: Killed process 4711 (python3) total-vm:9k, "
        "anon-rss:8k, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0\n"
        "2026-11-30T00:57:00+0000 node-1 kernel: eth0: link is up\n"
    )
    down = calls(lambda i, start: call(i, start) if start < CHANGE or i % 2 else failed(i, start, 0.01))
    memory = metrics(gauge("process_resident_memory_bytes", climbing))
    assert "memory_growth" in supported(found(tmp_path, down, memory))
