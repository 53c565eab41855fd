"""Readers are found by file: a module of this folder without an underscore is one reader."""

import importlib
import pkgutil
from functools import cache

import collector.files
from collector.files._contract import Reader


@cache
def readers() -> tuple[Reader, ...]:
    """All readers, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(collector.files.__path__))
    return tuple(_reader(name) for name in names if not name.startswith("_"))


def _reader(name: str) -> Reader:
    reader = importlib.import_module(f"collector.files.{name}").READER
    if not isinstance(reader, Reader) or reader.id != name:
        raise TypeError(f"collector.files.{name}: READER must be a Reader whose id is the file's name")
    return reader
