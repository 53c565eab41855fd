"""The section `exporters`: who is told of incidents. What a target can be told is its exporter's to say."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from correlator.model.outbound import http_url

TARGETS = 32
"""Most targets: each has a line of its own, a share of the disk and a label in the metrics."""


class NotifySettings(BaseModel):
    """The section `exporters`."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    public_url: Annotated[str, AfterValidator(http_url)] | None = Field(
        default=None, description="Where people reach this API; notices then carry links."
    )
    notices: int = Field(default=10_000, ge=1, le=1_000_000, description="Of each target that wait; as many dead ones.")
    bytes: int = Field(default=32 << 20, ge=1 << 20, description="Disk for the notices of each target.")
    targets: tuple[dict[str, Any], ...] = Field(default=(), max_length=TARGETS, repr=False)
