"""Reading `tollens.yaml`: each part reads its own sections, all say alike what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from correlator.model.errors import ConfigError

DATA = Path("~/.local/share/tollens")
"""Folder of spool and store where none is told."""
MOST_FAULTS = 10


def document(path: Path) -> dict[str, Any]:
    """The sections of a YAML file, none of an empty one. ConfigError when it cannot be read or is something else."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()).replace('in "<unicode string>", ', "at ")
        raise ConfigError(f"{path}: expected YAML: {reason}") from None
    return section(content, f"{path}", "sections such as `api:`")


def section(value: Any, place: str, expected: str = "options such as `name: value`") -> dict[str, Any]:
    """A section as a mapping; one that is empty is an empty mapping. ConfigError when it is something else."""
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{place}: expected {expected}, got {type(value).__name__}")
    return {str(name): part for name, part in (value or {}).items()}


def refusal(
    source: object, error: ValidationError, model: type[BaseModel], inside: tuple[str, ...] = ()
) -> ConfigError:
    """What is wrong: file, field and what was expected, a line each. `inside` are the sections around `model`."""
    faults = error.errors(include_url=False, include_input=False)[:MOST_FAULTS]
    return ConfigError("\n".join(f"{source}: {_told(fault, model, inside)}" for fault in faults))


def _told(fault: Mapping[str, Any], model: type[BaseModel], inside: tuple[str, ...]) -> str:
    """One fault; an unknown key with the keys that are known there."""
    place = ".".join(map(str, (*inside, *fault["loc"])))
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] in ("tuple_type", "list_type"):
        message = "expected a list, such as [one, another]"
    if fault["type"] == "extra_forbidden":
        message = f"unknown; expected one of {', '.join(_known(model, fault['loc'][:-1]))}"
    return f"{place}: {message}" if place else message


def _known(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    for part in place:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = next(kind for kind in (annotation, *get_args(annotation)) if _is_section(kind))
    return [*model.model_fields]


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
