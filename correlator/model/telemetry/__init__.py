"""What this process tells of itself by OTLP: traces, metrics and logs, off unless `telemetry.endpoint` is set.

Nothing here is global: who makes spans is handed a `Spans`. The SDK is imported when it is on, and only then.
A request that is received makes no telemetry. Own telemetry that comes back, past the check of the endpoint, is one
request a signal every two seconds whatever it holds, so it cannot make more of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from correlator.model.config import refusal, section
from correlator.model.endpoints import base_url

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

SCHEMES = ("http", "https", "grpc", "grpcs")
Attributes = dict[str, str | int | float | bool]
Spans = Callable[[str], AbstractContextManager[Attributes]]
"""Opens a span of this name; what is put into the attributes goes with it. Where nothing is put, nothing happened,
and it is not sent."""


@contextmanager
def untraced(name: str) -> Iterator[Attributes]:
    """No span."""
    yield {}


def _endpoint(text: str) -> str:
    endpoint = base_url(text, SCHEMES)
    if endpoint.startswith("grpc") and not endpoint.rpartition(":")[2].isdecimal():
        raise ValueError("expected grpc://host:port: gRPC knows no usual port and no path")
    return endpoint


class TelemetrySettings(BaseModel):
    """The section `telemetry`, of both processes. Environment variables do not switch it on.

    `headers_file` has a line `Name: value` for each header, such as Authorization.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    endpoint: Annotated[str, AfterValidator(_endpoint)] | None = None
    headers_file: Path | None = None
    interval_s: float = Field(default=60.0, ge=1, le=3_600, description="Between two exports of metrics.")


def telemetry_settings(sections: Mapping[str, Any], source: object) -> TelemetrySettings:
    """The section `telemetry` of a configuration. ConfigError names source, field and what was expected."""
    told = section(sections.get("telemetry"), f"{source}: telemetry")
    try:
        return TelemetrySettings.model_validate({name: value for name, value in told.items() if value is not None})
    except ValidationError as error:
        raise refusal(source, error, TelemetrySettings, inside=("telemetry",)) from None


class OwnTelemetry(Protocol):
    """Own telemetry while the process runs."""

    @property
    def spans(self) -> Spans:
        """Where spans are opened."""

    def close(self) -> None:
        """Send what waits, for 3 s at most."""


class _Off:
    spans = staticmethod(untraced)

    def close(self) -> None:
        """Nothing waits."""


def start(settings: TelemetrySettings, service: str, registry: CollectorRegistry) -> OwnTelemetry:
    """Begin to send what `service` tells of itself and `registry` holds. ConfigError for a bad headers_file."""
    if settings.endpoint is None:
        return _Off()
    from correlator.model.telemetry.sending import Sending

    return Sending(settings, service, registry)
