"""Readers are found by file: a module of this folder without an underscore is one reader."""

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from collector.files._contract import Reader


@cache
def readers() -> tuple[Reader, ...]:
    """All readers, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return tuple(_reader(name) for name in names if not name.startswith("_"))


def _reader(name: str) -> Reader:
    reader = importlib.import_module(f"{__package__}.{name}").READER
    if not isinstance(reader, Reader) or reader.id != name:
        raise TypeError(f"{name}: READER must be a Reader whose id is the file's name")
    return reader
