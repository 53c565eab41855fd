"""Grafana's files: dashboards by the types generated from its published schema, provisioning by what it documents.

Grafana itself does not run here. The types are a Go module, so this takes part where Go is; what the queries of
dashboards get is tried against the real API in `tests/docs/test_dashboards.py`.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKS = (
    "grafana/dashboards/*.json",
    "grafana/provisioning/datasources/*.yaml",
    "grafana/provisioning/dashboards/*.yaml",
)
GRAFANA = Path(__file__).parents[2] / "configs" / "grafana"
SOURCES = Path(__file__).parents[1] / "counterparts" / "grafana"
PATIENCE_S = 600
SOURCE_KEYS = set(["name", "uid", "type", "access", "url", "isDefault", "jsonData", "secureJsonData"])
PROVIDER_KEYS = set(["name", "type", "options"])
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that knows the schema. Skipped where it cannot be built, unless on CI with Go."""
    go, program = shutil.which("go"), tmp_path_factory.mktemp("grafana") / "check"
    if go is None:
        pytest.skip("Grafana's schema is a Go module, and there is no `go` on the PATH")
    command = [go, "build", "-mod=readonly", "-buildvcs=false", "-o", str(program), "."]
    done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"Grafana's schema cannot be had: {done.stderr[-500:]}")
    assert 0 == done.returncode, done.stderr
    return program


def faults(checker: Path, dashboard: object) -> str:
    text = json.dumps(dashboard)
    done = subprocess.run([checker], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == bool(done.stderr)
    return done.stderr


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_keeps_to_the_schema(path: Path, checker: Path) -> None:
    """Nothing in it is unknown, of another type, or out of range."""
    assert "" == faults(checker, json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"refreshh": "30s"}, "unexpected field 'refreshh'"),
        ({"annotations": None}, "annotations: required field is null"),
        ({"panels": [{"type": "table", "id": "one"}]}, "panels[0]: id: "),
        ({"panels": [{"type": "table", "gridPos": {"x": 0, "y": 0, "w": 42, "h": 8}}]}, "panels[0]: gridPos.w: "),
    ],
)
def test_a_wrong_dashboard_is_found(wrong: dict[str, Any], said: str, checker: Path) -> None:
    """The check above can fail."""
    assert said in faults(checker, json.loads(DASHBOARDS[0].read_text()) | wrong)


def test_panels_ask_sources_that_are_provisioned() -> None:
    """Every panel's and variable's data source is one of ours, by uid and type."""
    sources = provisioned("datasources", "datasources")
    known = {(source["type"], source["uid"]) for source in sources}
    for path in DASHBOARDS:
        found = json.loads(path.read_text())
        asked = [*found["panels"], *found["templating"]["list"]]
        assert {(each["datasource"]["type"], each["datasource"]["uid"]) for each in asked} <= known


def test_provisioning_has_only_documented_keys() -> None:
    """Version 1, and keys that Grafana's documentation names; the folder of dashboards is the one that is mounted."""
    assert set() == {key for source in provisioned("datasources", "datasources") for key in source} - SOURCE_KEYS
    providers = provisioned("dashboards", "providers")
    assert set() == {key for provider in providers for key in provider} - PROVIDER_KEYS
    compose = (GRAFANA.parents[1] / "docker-compose.yml").read_text()
    mounted = re.findall(r"- \./configs/grafana/dashboards:(\S+):ro", compose)
    assert mounted == [provider["options"]["path"] for provider in providers]


def provisioned(folder: str, what: str) -> list[dict[str, Any]]:
    """What all files of a folder provision."""
    found: list[dict[str, Any]] = []
    for path in sorted((GRAFANA / "provisioning" / folder).glob("*.yaml")):
        content = yaml.safe_load(path.read_text())
        assert {"apiVersion", what} == set(content)
        assert 1 == content["apiVersion"]
        found += content[what]
    assert found
    return found
