"""Targets as configured: each one's settings, checked by its exporter when the service starts."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from correlator.model.config import refusal
from correlator.model.errors import ConfigError
from correlator.model.notices import Attempt
from exporters._contract import AnyExporter, ExporterSettings
from exporters._example import examples
from exporters._registry import all_exporters

PLACE = "exporters.targets"
MAX_SECRET_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Bound:
    """An exporter with the settings of one target."""

    exporter: AnyExporter
    settings: ExporterSettings
    context: ssl.SSLContext


def bound(targets: Sequence[Mapping[str, Any]], source: object) -> list[Bound]:
    """All targets. ConfigError names file, target, field and what was expected, and never shows a secret."""
    known = all_exporters() if targets else {}
    found = [_bound(target, known, (PLACE, str(number)), source) for number, target in enumerate(targets)]
    names = [each.settings.name for each in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"{source}: {PLACE}: expected every name once, found {', '.join(twice)} twice")
    return found


def secret_of(settings: ExporterSettings) -> str:
    """The secret, blanks at its ends left out; empty where none is configured. ConfigError, which never shows it."""
    if settings.secret_env is not None:
        if settings.secret_env not in os.environ:
            raise ConfigError(f"target {settings.name}: secret_env: {settings.secret_env} is not set")
        return os.environ[settings.secret_env].strip()
    if settings.secret_file is None:
        return ""
    try:
        with settings.secret_file.expanduser().open("rb") as file:
            return file.read(MAX_SECRET_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not plain ASCII"
        raise ConfigError(
            f"target {settings.name}: secret_file {settings.secret_file}: cannot be read: {reason}"
        ) from None


def _bound(
    target: Mapping[str, Any], known: Mapping[str, AnyExporter], place: tuple[str, ...], source: object
) -> Bound:
    where = f"{source}: {'.'.join(place)}"
    exporter = known.get(str(target.get("exporter")))
    if exporter is None:
        raise ConfigError(f"{where}.exporter: expected one of {', '.join(sorted(known))}")
    try:
        settings = exporter.settings.model_validate(dict(target))
    except ValidationError as error:
        raise refusal(source, error, exporter.settings, place) from None
    try:
        _tried(exporter, settings, secret_of(settings))
        return Bound(exporter, settings, ssl.create_default_context(cafile=settings.ca_file))
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None
    except OSError as error:
        raise ConfigError(f"{where}: ca_file {settings.ca_file}: {error.strerror or 'expected certificates'}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _tried(exporter: AnyExporter, settings: ExporterSettings, secret: str) -> None:
    """ValueError when secret or templates would make every notice a dead letter."""
    exporter.check(secret)
    for notice in examples():
        exporter.requests(notice, settings, Attempt(at=notice.at, secret=secret))
