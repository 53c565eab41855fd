"""A stand-in for the Kubernetes API with one pod, as far as the k8s_attributes processor asks it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.collector.pages import Request, pages

JSON = "application/json"

POD: dict[str, Any] = {
    "metadata": {
        "name": "vllm-0",
        "namespace": "serving",
        "uid": "0c8f3f6e-6a07-4c52-9d9a-2b1f7c1a9e10",
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-30T00:00:00Z",
    },
    "spec": {"nodeName": "node-7", "containers": [{"name": "vllm", "image": "vllm:1"}]},
    "status": {
        "phase": "Running",
        "podIP": "127.0.0.1",
        "startTime": "2026-11-30T00:00:00Z",
        "containerStatuses": [{"name": "vllm", "containerID": "containerd://abc", "restartCount": 0}],
    },
}


LISTS = {"pods": ("v1", "PodList", [POD]), "namespaces": ("v1", "NamespaceList", [])}
REFUSED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}


@contextmanager
def kubernetes(folder: Path) -> Iterator[dict[str, str]]:
    """Serve it; what the environment must hold so that a client finds it."""
    ended = threading.Event()

    def answer(request: Request) -> None:
        url = urlsplit(request.path)
        query = parse_qs(url.query)
        if "sendInitialEvents" in query:  # the newer way to list: refused, as an older server does
            return request.page(json.dumps(REFUSED), JSON, status=422)
        if "watch" in query:  # nothing more happens
            request.send_response(200)
            request.send_header("Content-Type", JSON)
            request.end_headers()
            ended.wait()
            return None
        version, kind, items = LISTS.get(url.path.rpartition("/")[2], ("apps/v1", "ReplicaSetList", []))
        metadata = {"resourceVersion": "2"}
        return request.page(
            json.dumps({"kind": kind, "apiVersion": version, "metadata": metadata, "items": items}), JSON
        )

    with pages(answer) as server:
        try:
            path = folder / "kubeconfig"
            path.write_text(yaml.safe_dump(_kubeconfig(server.address)))
            yield {"K8S_AUTH": "kubeConfig", "KUBECONFIG": str(path), "K8S_NODE_NAME": "node-7"}
        finally:
            ended.set()


def _kubeconfig(address: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "stand-in",
        "clusters": [{"name": "stand-in", "cluster": {"server": f"http://{address}"}}],
        "users": [{"name": "stand-in", "user": {}}],
        "contexts": [{"name": "stand-in", "context": {"cluster": "stand-in", "user": "stand-in"}}],
    }
