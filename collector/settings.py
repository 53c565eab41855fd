"""The collector's part of `tollens.yaml`: the section `collector`. All else in the file is not its own to judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from collector.gpu.settings import GpuSettings
from collector.gpu_dcgm import exporter_job
from collector.prometheus_scrape import ScrapeJob, ScrapeSettings
from collector.receiving.settings import MetricsSettings, ReceiverSettings
from collector.spool import Limits
from correlator.model.config import DATA, document, refusal, section
from correlator.model.endpoints import base_url
from correlator.model.errors import ConfigError
from correlator.model.telemetry import TelemetrySettings, telemetry_settings

_LIMITS = Limits()


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(str(error)) from None


_Path = Annotated[Path, AfterValidator(_expanded)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class SpoolSettings(_Section):
    """Where acknowledged telemetry waits, and how much of it: then senders are refused."""

    folder: _Path = DATA / "spool"
    capacity_bytes: int = Field(default=_LIMITS.capacity_bytes, ge=1 << 20, description="On disk.")
    waiting_bytes: int = Field(default=_LIMITS.waiting_bytes, ge=1 << 20, description="In memory, for the disk.")
    age_s: float = Field(default=_LIMITS.age_s, gt=0, allow_inf_nan=False, description="Of the oldest segment.")

    @property
    def limits(self) -> Limits:
        """As the spool takes them."""
        return Limits(self.capacity_bytes, self.waiting_bytes, self.age_s)


class GpuSection(GpuSettings):
    """The GPUs of this host. `dcgm_exporter` is the `host:port` of one, scraped at `interval_s` but not below 1 s."""

    nvml: bool = True
    dcgm_exporter: str | None = None

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.jobs()
        return self

    def jobs(self) -> tuple[ScrapeJob, ...]:
        """What must be scraped for the sake of the GPUs."""
        return () if self.dcgm_exporter is None else (exporter_job(self.dcgm_exporter, max(1.0, self.interval_s)),)


class ForwardTls(_Section):
    """PEM files: authorities to trust instead of the system's, and who we are where the other side asks for it."""

    ca_file: _Path | None = None
    cert_file: _Path | None = None
    key_file: _Path | None = None

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("expected both cert_file and key_file, or neither")
        return self


class ForwardSettings(_Section):
    """Where the spool is emptied to by OTLP/HTTP; `/v1/traces` and so on are added to `endpoint`.

    `headers_file` has a line `Name: value` for each header, such as Authorization; it is read anew for each request.
    """

    endpoint: Annotated[str, AfterValidator(base_url)]
    headers_file: _Path | None = None
    tls: ForwardTls = ForwardTls()
    gzip: bool = True
    timeout_s: float = Field(default=30.0, gt=0, le=600)


class CollectorSettings(_Section):
    """Everything the collector is told. `forward` not given: the correlator empties the spool.

    `telemetry` stands at the top of the file: the correlator reads it, too.
    """

    spool: SpoolSettings = SpoolSettings()
    receivers: ReceiverSettings = ReceiverSettings()
    scrape: ScrapeSettings = ScrapeSettings()
    gpu: GpuSection = Field(default_factory=GpuSection)
    forward: ForwardSettings | None = None
    metrics: MetricsSettings = MetricsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()

    def on_ports(self, grpc: int | None, http: int | None, metrics: int | None) -> Self:
        """The same on other ports, where one is given."""
        receivers = _given(grpc_port=grpc, http_port=http)
        return self.model_copy(
            update={
                "receivers": self.receivers.model_copy(update=receivers),
                "metrics": self.metrics.model_copy(update=_given(port=metrics)),
            }
        )


def load(path: Path | None = None, data: Path | None = None) -> CollectorSettings:
    """Settings from a file, defaults without one; `data` goes before the file's own `data`.

    ConfigError names the file, the field and what was expected.
    """
    whole = {} if path is None else document(path)
    ours = _given(**section(whole.get("collector"), f"{path}: collector"))
    spool = _given(**section(ours.get("spool"), f"{path}: collector.spool"))
    if "telemetry" in ours:
        raise ConfigError(f"{path}: collector.telemetry: expected at the top of the file, as `telemetry`")
    told = ours | {"telemetry": telemetry_settings(whole, path)}
    try:
        return CollectorSettings.model_validate(told | {"spool": {"folder": _data(path, whole, data)} | spool})
    except ValidationError as error:
        raise refusal(path, error, CollectorSettings, inside=("collector",)) from None


def _data(path: Path | None, whole: Mapping[str, Any], data: Path | None) -> Path:
    """The folder of the spool where none is named."""
    told = whole.get("data")
    if told is not None and not isinstance(told, str):
        raise ConfigError(f"{path}: data: expected a folder")
    return (data or Path(told or DATA)) / "spool"


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
