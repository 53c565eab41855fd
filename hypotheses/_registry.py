"""Finds hypotheses by file and by entry point, never by a list."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules

from correlator.model.errors import ConfigError
from hypotheses._contract import Hypothesis

GROUP = "tollens.hypotheses"


@lru_cache(maxsize=1)
def all_hypotheses() -> tuple[Hypothesis, ...]:
    """Every hypothesis, in order of id.

    Raises ConfigError if a module has no `HYPOTHESIS`, its id is not its stem, or two share an id.
    """
    here = [(m.name, f"hypotheses.{m.name}") for m in iter_modules([str(Path(__file__).parent)]) if m.name[0] != "_"]
    found = [_checked(name, getattr(import_module(module), "HYPOTHESIS", None)) for name, module in here]
    found += [_checked(point.name, point.load()) for point in entry_points(group=GROUP)]
    ids = [h.id for h in found]
    if twice := {i for i in ids if ids.count(i) > 1}:
        raise ConfigError(f"two hypotheses share the id {', '.join(sorted(twice))}")
    return tuple(sorted(found, key=lambda h: h.id))


def _checked(name: str, value: object) -> Hypothesis:
    if not isinstance(value, Hypothesis):
        raise ConfigError(f"hypothesis {name}: expected a module-level HYPOTHESIS = Hypothesis(...)")
    if value.id != name:
        raise ConfigError(f"hypothesis {name}: its id is {value.id!r}, expected the file's stem")
    return value
