"""Finds the exporters that deliver, by file and by entry point, never by a list.

A file of this folder is one if it defines `EXPORTER`; the others render a diagnosis for people. Modules are imported
when they are asked for, so that a service without targets pays for none.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules

from correlator.model.errors import ConfigError
from exporters._contract import AnyExporter, Exporter

GROUP = "tollens.exporters"


def all_exporters() -> dict[str, AnyExporter]:
    """Every exporter that delivers, by id. Raises ConfigError if an id is not its stem, or two share one."""
    here = [m.name for m in iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_")]
    found = {name: _checked(name, value) for name in here if (value := _value(name)) is not None}
    for point in entry_points(group=GROUP):
        if point.name in found:
            raise ConfigError(f"two exporters share the id {point.name}")
        found[point.name] = _checked(point.name, point.load())
    return found


def _value(name: str) -> object:
    return getattr(import_module(f"exporters.{name}"), "EXPORTER", None)


def _checked(name: str, value: object) -> AnyExporter:
    if not isinstance(value, Exporter):
        raise ConfigError(f"exporter {name}: expected a module-level EXPORTER = Exporter(...)")
    if value.id != name:
        raise ConfigError(f"exporter {name}: its id is {value.id!r}, expected the file's stem")
    return value
