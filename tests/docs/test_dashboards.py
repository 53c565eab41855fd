"""The page about dashboards: what it tells to type is typed, and what it shows is what comes."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from collector.files import read
from correlator.model.records import Batch
from tests.collector.spooling import wait_until
from tests.counterparts.tollens_up import TOKEN, Up, tollens_up
from tests.moved import loaded, moved, sent
from tests.recorded import paths, true_windows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dashboards.md"
DASHBOARD = json.loads((ROOT / "configs" / "grafana" / "dashboards" / "tollens.json").read_text())
CAPTURE = "s01_token_inflation"
AGO_S = 20
PATIENCE_S = 120.0
BETWEEN = "-- next --"
pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("jq") is None, reason="there is no `curl` or no `jq` on the PATH"
)


@dataclass(frozen=True)
class Block:
    """What is typed, and what is shown for it."""

    typed: str
    shown: str


def blocks() -> list[Block]:
    """Every block of shell with the block that follows it."""
    found = re.findall(r"```sh\n(.*?)```\n\n```(?:text|json)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return [Block(*pair) for pair in found]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The service with a recording whose incident has just ended; it is told of it by alerts alone."""
    batches = [item for item in read(paths(CAPTURE)) if isinstance(item, Batch)]
    folder = tmp_path_factory.mktemp("up")
    with tollens_up(folder, watch={"enabled": False}) as up:
        by = time.time_ns() - AGO_S * 10**9 - true_windows(CAPTURE).incident.end
        assert {200} == sent(moved(batches, by), up.address("otlp_http_port"))
        wait_until(lambda: loaded(folder / "data" / "spool"), PATIENCE_S)
        yield up


@pytest.fixture(scope="module")
def typed(up: Up) -> list[str]:
    """What comes of each block when all are typed one after another in one shell."""
    script = f"\necho '{BETWEEN}'\n".join(block.typed for block in blocks())
    environment = {"TOLLENS": f"http://{up.address('api_port')}", "TOLLENS_TOKEN": TOKEN, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout.split(f"{BETWEEN}\n")


def test_every_block_of_shell_is_tried() -> None:
    """None is without a block that shows what comes of it."""
    assert len(blocks()) == PAGE.read_text().count("```sh\n") > 5


def test_what_is_shown_is_what_comes(typed: list[str]) -> None:
    """Line by line."""
    assert [block.shown.strip() for block in blocks()] == [text.strip() for text in typed]


def targets(kind: str) -> list[dict[str, Any]]:
    """Queries of the dashboard that go to this kind of data source, that of its variable included."""
    found = [t for panel in DASHBOARD["panels"] for t in panel["targets"] if panel["datasource"]["type"] == kind]
    variables = [v for v in DASHBOARD["templating"]["list"] if v["datasource"]["type"] == kind]
    return found + [variable["query"]["infinityQuery"] for variable in variables]


def test_the_dashboard_asks_for_what_there_is(up: Up, typed: list[str]) -> None:
    """Every URL, root selector and column of its Infinity queries leads to something in a real answer."""
    asked = targets("yesoreyeram-infinity-datasource")
    assert 4 == len(asked)
    (incident,) = up.get("api_port", "/api/v1/incidents").json()["incidents"]
    for target in asked:
        found = up.get("api_port", target["url"].replace("${incident}", incident["id"])).json()
        for part in target["root_selector"].split("."):
            found = found[part]
        assert found
        assert set() == {column["selector"] for column in target["columns"]} - set(found[0])


def test_its_figures_are_on_the_page_of_metrics(up: Up, typed: list[str]) -> None:
    """Every expression of a Prometheus panel is a metric that has a value now."""
    page = up.get("api_port", "/metrics").text
    expressions = [target["expr"] for target in targets("prometheus")]
    assert expressions
    assert [] == [name for name in expressions if f"\n{name}{{" not in page]
