"""Which program exposes a page of metrics, told by the prefix of their names."""

from __future__ import annotations

from collections.abc import Collection

_SERVICES = {
    "vllm:": "vllm",
    "ray_vllm": "vllm",
    "sglang:": "sglang",
    "tgi_": "tgi",
    "trtllm_": "trtllm",
    "llamacpp:": "llama.cpp",
    "nv_": "triton",
    "DCGM_FI_": "dcgm-exporter",
    "litellm_": "litellm",
    "dynamo_": "dynamo",
    "envoy_": "envoy",
    "milvus_": "milvus",
    "qdrant_": "qdrant",
    "node_": "node-exporter",
    "container_": "cadvisor",
    "kube_": "kube-state-metrics",
}


def service_of(names: Collection[str]) -> str | None:
    """The service whose prefix any of the metric names has; None where no prefix is known."""
    services = (service for prefix, service in _SERVICES.items() if any(name.startswith(prefix) for name in names))
    return next(services, None)
