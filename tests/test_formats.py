"""Every format people have at hand leads to evidence: signals, happenings and facts that hypotheses can ask for."""

import re
from functools import lru_cache
from pathlib import Path

import pytest

import collector.files
from collector.files import read
from collector.files._kernel_events import HAPPENINGS as KERNEL_EVENTS
from collector.files._kubernetes import EVENTS
from collector.files._registry import readers
from correlator.join.build import build
from correlator.model.evidence import Evidence
from correlator.model.names import Events
from correlator.model.records import Batch, Problem
from correlator.store import Store
from tests.collector.files.samples import SAMPLES

HAPPENINGS = {
    "sglang": {Events.ENGINE_START, Events.ENGINE_READY, Events.PREEMPTION, Events.OUT_OF_MEMORY},
    "tgi": {Events.ENGINE_START, Events.ENGINE_READY, Events.OVERLOADED},
    "1796009540.llamacpp": {Events.ENGINE_READY, Events.CONTEXT_OVERFLOW},
    "ollama": {Events.ENGINE_START, Events.ENGINE_READY, Events.PROMPT_TRUNCATED},
    "nccl": {Events.NCCL_FALLBACK, Events.SHARED_MEMORY_FAILURE, Events.NCCL_FAILURE},
    "dmesg": {
        Events.XID, Events.GPU_LOST, Events.OOM_KILL, Events.PCIE_ERROR, Events.MACHINE_CHECK, Events.KERNEL_STALL,
        Events.CPU_THROTTLED, Events.PROCESS_CRASH, Events.LINK_DOWN,
    },
    "otelcol": {Events.TELEMETRY_DROPPED, Events.TELEMETRY_REFUSED},
    "1796010000.events": {Events.PROBE_FAILED, Events.PROBE_RESTART, Events.CONTAINER_BACK_OFF},
    "1796010000.described": {Events.OOM_KILL, Events.PROBE_FAILED},
    "kubernetes.json": {Events.OOM_KILL, Events.POD_EVICTED},
}  # fmt: skip
SIGNALS = {
    "sglang": {"running_requests", "waiting_requests", "kv_cache_usage", "generation_throughput"},
    "tgi": {"server_latency", "ledger.queue", "output_tokens", "max_tokens_requested"},
    "1796009540.llamacpp": {
        "running_requests",
        "ledger.prefill",
        "ledger.decode",
        "input_tokens",
        "cached_input_tokens",
    },
    "ollama": {"server_latency", "error"},
    "access": {"request_latency", "error"},
    "cgroup": {"cpu_throttled_share"},
    "usage": {"client_latency", "input_tokens", "output_tokens", "truncated", "error"},
    "jaeger": {"request_latency", "error"},
    "zipkin": {"request_latency", "error"},
}
KERNEL, CLUSTER, NCCL, COLLECTOR, ENGINE = "kernel_log", "cluster_events", "nccl_log", "collector_log", "engine_log"
WATCHERS = {
    "dmesg": KERNEL, "1796010000.events": CLUSTER, "nccl": NCCL, "otelcol": COLLECTOR,
    "sglang": ENGINE, "tgi": ENGINE, "ollama": ENGINE, "1796009540.llamacpp": ENGINE,
}  # fmt: skip


@lru_cache(maxsize=len(SAMPLES))
def evidence(path: Path) -> Evidence:
    """What a file leads to."""
    items = list(read([str(path)]))
    with Store.open() as store:
        store.load(item for item in items if isinstance(item, Batch))
        return build(store, [item for item in items if isinstance(item, Problem)]).evidence


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("formats")
    for name, (_, text) in SAMPLES.items():
        (where / name).write_text(text)
    return where


@pytest.mark.parametrize("name", sorted(HAPPENINGS))
def test_happenings_are_events(folder: Path, name: str) -> None:
    """What a log names is found under the names that hypotheses use."""
    assert HAPPENINGS[name] == {event.name for event in evidence(folder / name).events}


def test_every_name_of_a_happening_is_known() -> None:
    """Readers name no event that hypotheses cannot ask for; settings and plain errors are none."""
    texts = [path.read_text() for path in sorted(Path(collector.files.__file__).parent.glob("*.py"))]
    found = {name for text in texts for name in re.findall(r'"tollens\.(\w+)"', text)}
    found |= set(EVENTS.values()) | {name.removeprefix("tollens.") for name, _ in KERNEL_EVENTS}
    ours = found - {reader.id for reader in readers()} - {"facts", "error", "source"}
    assert set() == ours - {value for key, value in vars(Events).items() if key.isupper()}


@pytest.mark.parametrize("name", sorted(SIGNALS))
def test_figures_are_signals(folder: Path, name: str) -> None:
    """Metrics and spans of a format are canonical signals."""
    assert set() == SIGNALS[name] - set(evidence(folder / name).coverage.signals)


@pytest.mark.parametrize("name", sorted(WATCHERS))
def test_a_log_watches_for_its_own_kind_only(folder: Path, name: str) -> None:
    """Each log is known for what it is: that it is silent of an application's errors means nothing."""
    logs = {*WATCHERS.values(), "application_log"}
    assert {WATCHERS[name]} == logs & set(evidence(folder / name).coverage.extents)


def test_settings_are_facts(folder: Path) -> None:
    """Start-up lines and transports are facts of their time."""
    facts = {fact.name: fact.value for name in ("sglang", "nccl", "ollama") for fact in evidence(folder / name).facts}
    assert ("442123", "NET/SOCKET,SHM", "20/33") == (
        facts["engine.kv_cache_tokens"], facts["engine.nccl_transport"], facts["engine.gpu_layers"],
    )  # fmt: skip


def test_profiles_and_counts_are_records(folder: Path) -> None:
    """Stacks have no canonical signal: they are read, and counted as points."""
    assert evidence(folder / "1796009540.stacks").coverage.records["gauge_points"] > 0
