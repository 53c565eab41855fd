"""NVML through nvidia-ml-py, and what its errors mean: an absent signal, a GPU at fault, a driver that is gone."""

from __future__ import annotations

from typing import Any

import pynvml  # type: ignore[import-untyped]  # ships no types

nvml: Any = pynvml
Handle = Any
NVMLError = pynvml.NVMLError

ABSENT = frozenset(
    {
        pynvml.NVML_ERROR_NOT_SUPPORTED,
        pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
        pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        pynvml.NVML_ERROR_DEPRECATED,
        pynvml.NVML_ERROR_NO_PERMISSION,
        pynvml.NVML_ERROR_INVALID_ARGUMENT,
    }
)
"""This device will not tell, today at least."""
NOTHING_NOW = frozenset(
    {0, pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_NO_DATA, pynvml.NVML_ERROR_NOT_READY, pynvml.NVML_ERROR_TIMEOUT}
)
"""There is nothing to tell at this moment."""
FAULTS = {pynvml.NVML_ERROR_GPU_IS_LOST: "gpu_lost", pynvml.NVML_ERROR_RESET_REQUIRED: "gpu_reset_required"}
"""The GPU itself is at fault: error → event."""
GONE = frozenset(
    {
        pynvml.NVML_ERROR_UNINITIALIZED,
        pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
        pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
        pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    }
)
"""Driver or library is gone: NVML must be opened again."""
