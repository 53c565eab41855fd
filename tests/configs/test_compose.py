"""`docker-compose.yml` and `Dockerfile`: sound by the published schema, closed to the outside, and true to the tree."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.settings import load as collector_settings
from correlator.settings import load as correlator_settings
from tests.counterparts.running import Otelcol
from tests.counterparts.tollens_up import settings

CHECKS = ("compose/tollens.yaml", "compose/prometheus.yml", "compose/alertmanager.yml")
ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def against_the_schema(path: Path) -> subprocess.CompletedProcess[str]:
    """What the schema of the Compose Specification says to a file; the checker ships it."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def mounted(service: dict[str, Any]) -> list[str]:
    """What of this repository a service sees."""
    sources = [volume.split(":")[0] for volume in service.get("volumes", [])]
    return [source for source in sources if source.startswith("./")]


def test_compose_keeps_to_the_published_schema() -> None:
    """Every key and type is one of the Compose Specification."""
    done = against_the_schema(ROOT / "docker-compose.yml")
    assert 0 == done.returncode, done.stdout


def test_the_schema_finds_a_wrong_key(tmp_path: Path) -> None:
    """The check above can fail."""
    path = tmp_path / "docker-compose.yml"
    path.write_text((ROOT / "docker-compose.yml").read_text().replace("mem_limit:", "memory_limit:"))
    done = against_the_schema(path)
    assert (1, True) == (done.returncode, "memory_limit" in done.stdout)


def test_all_of_the_stack_is_there() -> None:
    """Engine on CPU and on GPU, Collector, GPU exporter, Prometheus, Alertmanager, Grafana and Tollens."""
    always = {"tollens", "otelcol", "vllm", "prometheus", "alertmanager", "grafana"}
    assert always | {"vllm-gpu", "dcgm-exporter"} == set(SERVICES)
    assert {"vllm-gpu", "dcgm-exporter"} == {
        name for name, service in SERVICES.items() if "gpu" in service.get("profiles", [])
    }


def test_nothing_is_published_beyond_this_machine() -> None:
    """Every published port is bound to the loopback address, and no two services want the same one at a time."""
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert {} == {
        name: ports for name, ports in published.items() if any(not p.startswith("127.0.0.1:") for p in ports)
    }
    taken = [port.split(":")[1] for name, ports in published.items() if name != "vllm-gpu" for port in ports]
    assert sorted(set(taken)) == sorted(taken)


def test_images_are_pinned() -> None:
    """Each image has a version, none `latest`, and the Collector's is the one that the tests build."""
    images = {name: service["image"] for name, service in SERVICES.items()}
    assert {} == {name: image for name, image in images.items() if not re.search(r":v?\d+\.\d+\.\d+", image)}
    module = (ROOT / "tests" / "counterparts" / "otelcol" / "go.mod").read_text()
    built = re.search(r"go\.opentelemetry\.io/collector/otelcol v(\S+)", module)
    assert built
    assert images["otelcol"].endswith(f":{built[1]}")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"tollens:{version}" == images["tollens"]


def test_what_is_mounted_is_in_the_repository() -> None:
    """Docker would make an empty folder of a file that is missing."""
    sources = {source for service in SERVICES.values() for source in mounted(service)}
    assert sources
    assert [] == [source for source in sources if not (ROOT / source).exists()]


def test_containers_have_few_rights() -> None:
    """All but the engine and the GPU exporter run on a read-only root, without capabilities."""
    ours = {name: service for name, service in SERVICES.items() if not {"vllm", "vllm-gpu", "dcgm-exporter"} & {name}}
    rights = {name: (s["read_only"], s["cap_drop"], s["security_opt"]) for name, s in ours.items()}
    assert {name: (True, ["ALL"], ["no-new-privileges:true"]) for name in ours} == rights


def test_secrets_are_files() -> None:
    """Compose copies other secrets into the container, which it refuses where the root is read-only."""
    assert {"tollens_token"} == set(COMPOSE["secrets"])
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    text = (ROOT / "docker-compose.yml").read_text()
    for folder in (ROOT / "configs").rglob("*.y*ml"):
        text += folder.read_text()
    assert {"tollens_token"} == set(re.findall(r"/run/secrets/(\w+)", text))
    assert {"TOLLENS_TOKEN_FILE"} == set(re.findall(r"\bTOLLENS_TOKEN\w*", (ROOT / "docker-compose.yml").read_text()))


def test_whoever_reads_a_secret_is_given_it() -> None:
    """A service whose files or variables name a secret has it mounted, and no other service has."""
    for name, service in SERVICES.items():
        files = [path for source in mounted(service) for path in (ROOT / source, *(ROOT / source).rglob("*"))]
        read = str(service) + "".join(path.read_text() for path in files if path.is_file())
        assert ("/run/secrets/" in read) == ("secrets" in service), name


def test_tollens_reads_its_settings(tmp_path: Path) -> None:
    """Both processes take the file; the token is asked for where others reach the API."""
    path = tmp_path / "tollens.yaml"
    path.write_text((ROOT / "configs" / "compose" / "tollens.yaml").read_text())
    assert "0.0.0.0" == correlator_settings(path).api.host
    assert "0.0.0.0" == collector_settings(path).receivers.host
    assert settings(tmp_path).keys() == yaml.safe_load(path.read_text()).keys()


def test_the_collector_takes_the_environment_of_compose(tmp_path: Path) -> None:
    """Every variable that compose sets is read by the config, and a real Collector finds the outcome valid."""
    told = SERVICES["otelcol"]["environment"]
    config = ROOT / "configs" / "otelcol" / "sidecar.yaml"
    assert [] == [name for name in told if f"${{env:{name}" not in config.read_text()]
    assert "" == Otelcol(config, tmp_path, told | {"HOST_NAME": "node"}).validate()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="there is no `promtool` on the PATH")
def test_prometheus_takes_its_config(tmp_path: Path) -> None:
    """promtool finds nothing wrong, rules included."""
    token = tmp_path / "token"
    token.write_text("secret")
    text = (ROOT / "configs" / "compose" / "prometheus.yml").read_text()
    (tmp_path / "prometheus.yml").write_text(text.replace("/run/secrets/tollens_token", str(token)))
    (tmp_path / "rules").symlink_to(ROOT / "configs" / "prometheus")
    command = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("amtool") is None, reason="there is no `amtool` on the PATH")
def test_alertmanager_takes_its_config() -> None:
    """amtool finds nothing wrong."""
    command = ["amtool", "check-config", str(ROOT / "configs" / "compose" / "alertmanager.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr


def test_grafana_finds_both_sources_where_compose_puts_them() -> None:
    """The data sources name services and ports that are there."""
    folder = ROOT / "configs" / "grafana" / "provisioning" / "datasources"
    sources = yaml.safe_load((folder / "tollens.yaml").read_text())["datasources"]
    assert {"Prometheus": "http://prometheus:9090", "Tollens": "http://tollens:8080"} == {
        s["name"]: s["url"] for s in sources
    }
    assert len(sources) == len({source["uid"] for source in sources})


def test_the_image_runs_as_an_ordinary_user() -> None:
    """The last stage names a user by number, what it writes to, and how its health is seen."""
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert ["10001:10001"] == re.findall(r"^USER (\S+)$", last, re.MULTILINE)
    assert ['["/data", "/tmp"]'] == re.findall(r"^VOLUME (.+)$", last, re.MULTILINE)
    assert 1 == len(re.findall(r"^HEALTHCHECK ", last, re.MULTILINE))
    assert 2 == len(re.findall(r"^FROM python:3\.11\.\d+-slim", DOCKERFILE, re.MULTILINE))


def test_what_the_image_is_made_of_is_there() -> None:
    """What is copied is sent to the builder, the entry point is a script of the package, and its command is known."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [words.split() for words in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)]
    assert [["requirements.txt", "."], [".", "."]] == copied
    assert set() == {name for name in allowed if not (ROOT / name).exists()}
    entry, command = (
        json.loads(found) for found in re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", DOCKERFILE, re.MULTILINE)
    )
    assert {*entry} <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])
    done = subprocess.run([sys.executable, "-m", "correlator", command[0], "--help"], capture_output=True, check=False)
    assert (0, True) == (done.returncode, b"--data" in done.stdout)


def test_the_image_is_seen_to_be_well_where_it_listens() -> None:
    """The health check asks a path that needs no token, on the port of the shipped settings."""
    port = yaml.safe_load((ROOT / "configs" / "tollens.yaml").read_text())["api"]["port"]
    assert [f"http://127.0.0.1:{port}/readyz"] == re.findall(r"urlopen\('(\S+?)'", DOCKERFILE)


def copy(source: Path, to: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, to)


def test_the_build_context_is_enough_and_no_more(tmp_path: Path) -> None:
    """The wheel is built from what .dockerignore lets through, with every package; tests and history stay outside."""
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in allowed:
        copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode, done.stderr
    wheels = list((tmp_path / "dist").glob("tollens-*.whl"))
    assert 1 == len(wheels)
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["packages"]
    assert set(packages) <= set(allowed)
    assert not {"tests", "benchmarks", ".git", "docs"} & set(allowed)
