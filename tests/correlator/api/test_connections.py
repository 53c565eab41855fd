"""What ties GPUs to engines, asked through the API over a real store."""

import pytest

from correlator.api import shapes
from correlator.store import Store
from tests.correlator.api.served import Client
from tests.correlator.api.wired import services
from tests.correlator.join.gpu_telemetry import load, sampled, serving


@pytest.fixture
def found() -> list[shapes.Connection]:
    """One engine and the GPUs of two machines."""
    with Store.open() as store:
        store.load(
            [
                serving([("r", 0, 2)], host__name="gpu-7"),
                sampled(range(5), lambda t: load(0.5), host__name="gpu-7", hw__id="GPU-a"),
                sampled(range(5), lambda t: load(0.5), host__name="gpu-8", hw__id="GPU-b"),
            ]
        )
        with Client(services(store)) as client:
            answer = client.get("/api/v1/connections")
    return shapes.Connections.model_validate_json(answer.content).connections


def test_connections_are_those_a_diagnosis_would_use(found: list[shapes.Connection]) -> None:
    """The engine's own GPU is tied, the other one is listed with the reason."""
    reason = "nothing that serves names gpu-8, their pod or them"
    assert [(["GPU-a"], "vllm gpu-7", "host.name (gpu-7)", ""), (["GPU-b"], None, None, reason)] == [
        (one.gpus, one.serves, one.tied_by, one.reason) for one in found
    ]
