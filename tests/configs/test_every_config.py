"""No file of `configs/` is left unchecked: some test module says of each that it checks it.

A module says so by `CHECKS`, patterns of paths below `configs/`. They are found by reading the modules, so a file or a
check that is added or removed is noticed without a list to keep.
"""

import ast
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"
NO_CONFIG = {"__init__.py"}


def said(path: Path) -> tuple[str, ...]:
    """The patterns of a module that has tests; none where it has no `CHECKS`."""
    body = ast.parse(path.read_text()).body
    if not any(isinstance(each, ast.FunctionDef) and each.name.startswith("test_") for each in body):
        return ()
    values = [
        each.value
        for each in body
        if isinstance(each, ast.Assign) and [getattr(name, "id", "") for name in each.targets] == ["CHECKS"]
    ]
    return tuple(pattern for value in values for pattern in ast.literal_eval(value))


def checks() -> dict[str, str]:
    """Pattern → the module that has it."""
    modules = sorted((ROOT / "tests").rglob("test_*.py"))
    return {pattern: path.name for path in modules if "\nCHECKS = (" in path.read_text() for pattern in said(path)}


def unchecked(paths: Iterable[Path], patterns: Iterable[str]) -> list[str]:
    """Files that no pattern names; `*` stops at a folder's end."""
    named = {path for pattern in patterns for path in CONFIGS.glob(pattern)}
    return [str(path.relative_to(CONFIGS)) for path in paths if path not in named]


def configs() -> list[Path]:
    found = [path for path in sorted(CONFIGS.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return [path for path in found if path.name not in NO_CONFIG]


def test_every_config_is_checked() -> None:
    """Loaded by the program that it is for, or held against a schema, by some module of tests."""
    assert [] == unchecked(configs(), checks())


def test_every_check_has_something_to_check() -> None:
    """A pattern that names nothing is one whose file has gone."""
    assert {} == {pattern: module for pattern, module in checks().items() if not list(CONFIGS.glob(pattern))}


def test_a_config_that_nobody_checks_is_found() -> None:
    """The test above can fail: without one of its checkers, its files are named."""
    patterns = {pattern: module for pattern, module in checks().items() if module != "test_otelcol.py"}
    assert {"otelcol/agent.yaml", "otelcol/gateway.yaml", "otelcol/sidecar.yaml"} == set(unchecked(configs(), patterns))
