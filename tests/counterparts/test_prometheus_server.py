"""A real Prometheus server scrapes `/metrics` of both our processes, by the config of docker-compose.yml."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.collector.spooling import wait_until
from tests.counterparts.running import free_port, running
from tests.counterparts.tollens_up import TOKEN, Up, tollens_up

CONFIG = Path(__file__).parents[2] / "configs" / "compose" / "prometheus.yml"
PATIENCE_S = 60.0
pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no `prometheus` on the PATH")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with tollens_up(tmp_path_factory.mktemp("up")) as running:
        yield running


@pytest.fixture(scope="module")
def prometheus(up: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that scrapes them, twice a second."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config(up, folder)))
    with server(folder) as address:
        yield address


def config(up: Up, folder: Path) -> dict[str, Any]:
    """Ours, with the addresses and the token file of this test, and without what does not run in it."""
    found: dict[str, Any] = yaml.safe_load(CONFIG.read_text())
    token = folder / "token"
    token.write_text(TOKEN)
    targets = {"tollens:8080": up.address("api_port"), "tollens:9464": up.address("metrics_port")}
    jobs = [job for job in found["scrape_configs"] if job["static_configs"][0]["targets"][0] in targets]
    for job in jobs:
        job["static_configs"] = [{"targets": [targets[job["static_configs"][0]["targets"][0]]]}]
        if "authorization" in job:
            job["authorization"] = {"credentials_file": str(token)}
    return {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": jobs}


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Prometheus on loopback, killed at the end."""
    address = f"127.0.0.1:{free_port()}"
    options = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with running(["prometheus", *options, f"--web.listen-address={address}"], address, folder):
        yield address


def ask(address: str, path: str, **query: str) -> Any:
    return httpx.get(f"http://{address}/api/v1/{path}", params=query, timeout=PATIENCE_S).json()["data"]


def test_both_processes_are_up(prometheus: str) -> None:
    """Prometheus finds nothing wrong with either page, token and all."""

    def health() -> dict[str, tuple[str, str]]:
        active = ask(prometheus, "targets")["activeTargets"]
        return {target["labels"]["job"]: (target["health"], target["lastError"]) for target in active}

    wait_until(lambda: len(health()) == 2 and {"up"} == {state for state, _ in health().values()}, PATIENCE_S)
    assert {"tollens", "tollens-collector"} == set(health())


@pytest.mark.parametrize("job", ["tollens", "tollens-collector"])
def test_its_families_are_known_with_type_and_help(prometheus: str, job: str) -> None:
    """What a dashboard would query is there: our own families and those of the process, each with type and help."""

    def families() -> dict[str, Any]:
        found = ask(prometheus, "targets/metadata", match_target=f'{{job="{job}"}}')
        return {each["metric"]: each for each in found}

    wait_until(lambda: "process_resident_memory_bytes" in families(), PATIENCE_S)
    own = {name: each for name, each in families().items() if name.startswith("tollens_")}
    assert own
    assert [] == [name for name, each in own.items() if not each["help"] or each["type"] == "unknown"]


@pytest.mark.parametrize("port", ["api_port", "metrics_port"])
@pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no `promtool` on the PATH")
def test_promtool_has_nothing_against_our_names(up: Up, port: str) -> None:
    """`promtool check metrics` is silent on both pages."""
    page = up.get(port, "/metrics").text
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=page, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)
