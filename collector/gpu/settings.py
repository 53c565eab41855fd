"""Settings of the GPU samplers."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from collector.gpu.dcgm_fields import BY_ID

DEFAULT_FIELDS = (
    100, 101, 112, 150, 155, 156, 203, 204, 230, 251, 252, 253,
    1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
)  # fmt: skip

Interval = Annotated[float, Field(ge=0.2, le=10)]


def _known(fields: tuple[int, ...]) -> tuple[int, ...]:
    unknown = [field for field in fields if field not in BY_ID]
    if unknown or not fields:
        raise ValueError(f"expected ids of DCGM fields ({', '.join(map(str, BY_ID))}), found {unknown or 'none'}")
    return tuple(dict.fromkeys(fields))


class DcgmiSettings(BaseModel):
    """How `dcgmi dmon` is run: the program, the fields asked for and how often they are printed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(default="dcgmi", min_length=1)
    fields: Annotated[tuple[int, ...], AfterValidator(_known)] = DEFAULT_FIELDS
    interval_s: Interval = 1.0


class GpuSettings(BaseModel):
    """How the GPUs of this host are sampled. `dcgmi` not given: only NVML is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interval_s: Interval = 1.0
    retry_s: float = Field(
        default=30.0, ge=0.1, le=3600, description="Until a missing driver or lost GPU is asked for again."
    )
    host_name: str = Field(default_factory=socket.gethostname, min_length=1)
    proc: Path = Field(
        default=Path("/proc"), description="Where the host's processes are seen, for the pod of a process."
    )
    dcgmi: DcgmiSettings | None = None
