"""The correlator's part of `tollens.yaml`. The collector's part, under `collector`, is the collector's own to read."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from correlator.join.connect import CONNECT
from correlator.model.config import DATA, document, refusal
from correlator.model.errors import ConfigError
from correlator.model.telemetry import TelemetrySettings
from correlator.notify.settings import NotifySettings
from correlator.watch.alerts import AlertSettings
from correlator.watch.settings import WatchSettings


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class ApiSettings(_Section):
    """The section `api`: where it listens and who may ask."""

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65_535, description="0: any free one.")
    token_file: Path | None = Field(default=None, description="File that holds the bearer token.")
    cors: tuple[str, ...] = Field(default=(), max_length=100, description="Origins whose pages may ask.")
    diagnoses: int = Field(default=1, ge=1, le=16, description="Diagnoses on demand at the same time.")

    @model_validator(mode="after")
    def _strangers_need_a_token(self) -> Self:
        if self.token_file is None and not _is_loopback(self.host):
            raise ValueError(f"token_file: expected a file, because host {self.host} is reached from other machines")
        return self


class RetentionSettings(_Section):
    """The section `retention`: whole days are dropped, oldest first, while either limit is exceeded."""

    max_age_days: Annotated[float, Field(gt=0, le=3_650)] = 30
    max_bytes: int = Field(default=20_000_000_000, ge=100_000_000, description="Disk that the tables may take.")


Group = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(min_length=1, max_length=20)]


class JoinSettings(_Section):
    """The section `join`: which attributes tie GPUs to what serves on them."""

    connect: tuple[Group, ...] = Field(
        default=CONNECT,
        min_length=1,
        max_length=20,
        description="Groups of names of one thing, the most specific first; the last names the machine.",
    )


class Settings(_Section):
    """Everything the correlator is told."""

    data: Path = Field(default=DATA, description="Folder of the store.")
    api: ApiSettings = ApiSettings()
    watch: WatchSettings = WatchSettings()
    retention: RetentionSettings = RetentionSettings()
    join: JoinSettings = JoinSettings()
    alerts: AlertSettings = AlertSettings()
    exporters: NotifySettings = NotifySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    collector: Any = Field(default=None, exclude=True, description="The collector's own part, read by the collector.")

    @field_validator("collector", mode="before")
    @classmethod
    def _not_ours(cls, value: object) -> None:
        """Neither kept nor judged."""

    def on(self, data: Path | None, port: int | None) -> Self:
        """The same with another folder or port, where one is given."""
        told = {} if data is None else {"data": data}
        api = {} if port is None else {"api": self.api.model_copy(update={"port": port})}
        return self.model_copy(update=told | api)

    @property
    def folder(self) -> Path:
        """The data folder with `~` in place."""
        return self.data.expanduser()


def load(path: Path | None = None) -> Settings:
    """Settings from a file, defaults without one. ConfigError names the file, the field and what was expected."""
    if path is None:
        return Settings()
    sections = {name: {} if part is None else part for name, part in document(path).items()}
    try:
        return Settings.model_validate(sections)
    except ValidationError as error:
        raise refusal(path, error, Settings) from None


def token(path: Path) -> SecretStr:
    """The bearer token in a file, blanks at its ends left out. ConfigError when there is none."""
    try:
        text = path.expanduser().read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not plain ASCII"
        raise ConfigError(f"api.token_file {path}: cannot be read: {reason}") from None
    if not text or any(not sign.isprintable() or sign == " " for sign in text):
        raise ConfigError(f"api.token_file {path}: expected one line with a token")
    return SecretStr(text)
