"""A diagnosis whose every string is the one given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from correlator.model.findings import Diagnosis
from tests.exporters import sample


def filled(text: str) -> Diagnosis:
    """The incident with `text` in every string, mapping keys included; effects keep their units."""
    found: Diagnosis = _filled(sample.incident(), text)
    return found


def _filled(value: Any, text: str) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return text
    if is_dataclass(value) and not isinstance(value, type):
        kept = {"ratio", "s", "1"}
        inner = {f.name: getattr(value, f.name) for f in fields(value)}
        return type(value)(**{k: v if k == "unit" and v in kept else _filled(v, text) for k, v in inner.items()})
    if isinstance(value, Mapping):
        return {_filled(k, text): _filled(v, text) for k, v in value.items()}
    if isinstance(value, tuple | frozenset | list):
        return type(value)(_filled(v, text) for v in value)
    return value
