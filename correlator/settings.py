"""The correlator's part of `tollens.yaml`. The collector's part, under `collector`, is the collector's own to read."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from correlator.model.errors import ConfigError
from correlator.watch.settings import WatchSettings

DATA = Path("~/.local/share/tollens")


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


class Settings(_Section):
    """Everything the correlator is told."""

    data: Path = Field(default=DATA, description="Folder of the store.")
    api: ApiSettings = ApiSettings()
    watch: WatchSettings = WatchSettings()
    retention: RetentionSettings = RetentionSettings()

    @property
    def folder(self) -> Path:
        """The data folder with `~` in place."""
        return self.data.expanduser()


def load(path: Path | None = None) -> Settings:
    """Settings from a file, defaults without one. ConfigError names the file, the field and what was expected."""
    if path is None:
        return Settings()
    try:
        return Settings.model_validate(_ours(path))
    except ValidationError as error:
        raise ConfigError("\n".join(f"{path}: {_told(fault)}" for fault in error.errors()[:10])) from None


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


def _ours(path: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: expected YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected sections such as `api:`, got {type(content).__name__}")
    return {str(name): {} if part is None else part for name, part in content.items() if name != "collector"}


def _told(fault: Mapping[str, Any]) -> str:
    """One fault; an unknown key with the keys that are known there."""
    place = ".".join(str(part) for part in fault["loc"])
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        message = f"unknown; expected one of {', '.join(_known(fault['loc'][:-1]))}"
    return f"{place}: {message}" if place else message


def _known(place: tuple[int | str, ...]) -> list[str]:
    model: Any = Settings
    for part in place:
        if isinstance(part, str):
            model = model.model_fields[part].annotation
    model = model if isinstance(model, type) and issubclass(model, BaseModel) else model.__args__[0]
    return [*model.model_fields]
