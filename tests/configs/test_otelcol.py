"""Each file of `configs/otelcol/` in a real Collector, with traffic from one end to the other."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from correlator.model.records import Signal
from tests.collector.collector_process import collector
from tests.collector.pages import pages
from tests.collector.spooling import spooled, wait_until
from tests.collector.telemetry import KINDS
from tests.counterparts.kubernetes import POD, kubernetes
from tests.counterparts.running import CONFIGS, PATIENCE_S, Otelcol, free_port
from tests.counterparts.traffic import arrived, send, texts_of, whole

CHECKS = ("otelcol/*.yaml",)
NUMBERS = range(60)
VLLM = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m"} 3\n'
DCGM = '# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",pod="vllm-0"} 97\n'


def resources(data: Path, signal: Signal) -> list[tuple[dict[str, str], list[str]]]:
    """Resource attributes beside the names or bodies of the records that have them."""
    found = []
    for payload in [payload for kind, payload in spooled(data / "spool") if kind is signal]:
        whole_request: Any = KINDS[signal].FromString(payload)
        field = whole_request.DESCRIPTOR.fields[0].name
        for resource in getattr(whole_request, field):
            one = KINDS[signal](**{field: [resource]})
            attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
            found.append((attributes, texts_of(signal, one.SerializeToString())))
    return found


def attributes_of(data: Path, signal: Signal, text: str) -> dict[str, str]:
    """The resource of a record with this text; empty until there is one."""
    with suppress(FileNotFoundError):  # a segment was renamed while we looked
        return next((attributes for attributes, texts in resources(data, signal) if text in texts), {})
    return {}


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_config_is_valid(path: Path, tmp_path: Path) -> None:
    """The Collector itself finds nothing wrong, once it is told on which node it is."""
    assert "" == Otelcol(path, tmp_path, {"K8S_NODE_NAME": "node-7"}).validate()


def test_a_wrong_config_is_found(tmp_path: Path) -> None:
    """The check above can fail: a key that no component knows is named."""
    path = tmp_path / "wrong.yaml"
    path.write_text((CONFIGS / "sidecar.yaml").read_text().replace("queue_size:", "queue_length:"))
    assert "queue_length" in Otelcol(path, tmp_path).validate()


def test_the_sidecar_passes_all_on(tmp_path: Path) -> None:
    """Spans, points and logs of an application, the engine's metrics and the Collector's own, with the host's name."""
    data = tmp_path / "tollens"
    with collector(data) as tollens, pages(VLLM) as vllm, httpx.Client() as client:
        otelcol = Otelcol(
            CONFIGS / "sidecar.yaml", tmp_path, {"TOLLENS_GRPC": tollens.grpc, "VLLM_METRICS": vllm.address}
        )
        with otelcol.running():
            send(client, otelcol.http, NUMBERS)
            wait_until(lambda: whole(data, NUMBERS), PATIENCE_S)
            wait_until(lambda: attributes_of(data, Signal.METRICS, "vllm:num_requests_running"), PATIENCE_S)
            wait_until(lambda: attributes_of(data, Signal.METRICS, "otelcol_receiver_accepted_spans"), PATIENCE_S)
            assert otelcol.metrics()["otelcol_receiver_accepted_spans_total"] == len(NUMBERS)
    assert {signal: Counter(NUMBERS) for signal in Signal} == arrived(data)
    assert "node-7" == attributes_of(data, Signal.TRACES, "numbered.7")["host.name"]
    assert "node-7" == attributes_of(data, Signal.METRICS, "vllm:num_requests_running")["host.name"]


def test_the_agent_sees_its_node(tmp_path: Path) -> None:
    """Pods by name, engine logs of the kubelet, GPUs, host; killed and started again, it reads on where it was."""
    data, log = tmp_path / "tollens", tmp_path / "pods" / "serving_vllm-0_0c8f3f6e" / "vllm" / "0.log"
    log.parent.mkdir(parents=True)
    line = "2026-11-30T03:36:30.123456789Z stdout F INFO 11-30 03:36:30 [async_llm.py:1] numbered.{}\n"
    log.write_text(line.format(0))
    with collector(data) as tollens, pages(VLLM) as vllm, pages(DCGM) as dcgm, kubernetes(tmp_path) as cluster:
        more = {"TOLLENS_HTTP": tollens.http, "VLLM_METRICS": vllm.address, "DCGM_METRICS": dcgm.address}
        logs = {"ENGINE_LOGS": str(log.parents[2] / "*" / "vllm" / "*.log")}
        otelcol = Otelcol(CONFIGS / "agent.yaml", tmp_path, more | logs | cluster)
        said = "INFO 11-30 03:36:30 [async_llm.py:1] numbered.{}"
        with otelcol.running(), httpx.Client() as client:
            send(client, otelcol.http, NUMBERS)
            wait_until(lambda: whole(data, NUMBERS), PATIENCE_S)
            for name in ("vllm:num_requests_running", "DCGM_FI_DEV_GPU_UTIL", "system.cpu.time", "system.memory.usage"):
                wait_until(lambda name=name: attributes_of(data, Signal.METRICS, name), PATIENCE_S)
            wait_until(lambda: attributes_of(data, Signal.LOGS, said.format(0)), PATIENCE_S)
        with log.open("a") as file:
            file.write(line.format(1))
        with otelcol.running():
            wait_until(lambda: attributes_of(data, Signal.LOGS, said.format(1)), PATIENCE_S)
    texts = Counter(text for _, texts in resources(data, Signal.LOGS) for text in texts)
    assert (1, 1) == (texts[said.format(0)], texts[said.format(1)])
    assert POD["metadata"]["name"] == attributes_of(data, Signal.TRACES, "numbered.7")["k8s.pod.name"]
    assert "vllm-0" == attributes_of(data, Signal.LOGS, said.format(0))["k8s.pod.name"]
    assert "node-7" == attributes_of(data, Signal.METRICS, "system.cpu.time")["host.name"]


def test_the_gateway_keeps_traces_together_and_waits_for_a_backend(tmp_path: Path) -> None:
    """Two backends share the load by trace; what is for one that is down waits on disk until it is back."""
    folders, ports = (tmp_path / "a", tmp_path / "b"), (free_port(), free_port())
    flags = [("--otlp-grpc-port", str(port)) for port in ports]
    backends = "[" + ", ".join(f'"127.0.0.1:{port}"' for port in ports) + "]"
    otelcol = Otelcol(CONFIGS / "gateway.yaml", tmp_path, {"TOLLENS_BACKENDS": backends})
    later = range(len(NUMBERS), 2 * len(NUMBERS))
    with collector(folders[0], None, *flags[0]), httpx.Client() as client:
        with otelcol.running():
            with collector(folders[1], None, *flags[1]) as second:
                send(client, otelcol.http, NUMBERS)
                wait_until(lambda: everything(folders) >= set(NUMBERS), PATIENCE_S)
                second.stop(9)
            send(client, otelcol.http, later)
        with otelcol.running(), collector(folders[1], None, *flags[1]):
            wait_until(lambda: everything(folders) >= {*NUMBERS, *later}, PATIENCE_S)
    for signal in (Signal.TRACES, Signal.LOGS):
        shares = [set(arrived(folder)[signal]) for folder in folders]
        assert set() == shares[0] & shares[1]
        assert min(len(share) for share in shares) > len(NUMBERS) / 4


def everything(folders: tuple[Path, ...]) -> set[int]:
    """The numbers that each signal brought, to one of these or another."""
    with suppress(FileNotFoundError):  # a segment was renamed while we looked
        found = [arrived(folder) for folder in folders if (folder / "spool").exists()]
        return set.intersection(*({n for one in found for n in one[signal]} for signal in Signal))
    return set()
