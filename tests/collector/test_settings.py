"""The section `collector`: defaults, what the shipped file says, and errors that name what was expected."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.settings import CollectorSettings, load
from collector.spool import Limits
from correlator.model.errors import ConfigError

SHIPPED = Path(str(files("configs") / "tollens.yaml"))
LEFT_OUT = {"gpu.host_name"}
"""Differs from host to host."""


def written(folder: Path, text: str) -> Path:
    path = folder / "tollens.yaml"
    path.write_text(text)
    return path


def options(settings: dict[str, Any], place: str = "") -> set[str]:
    """Dotted names of all leaves."""
    out: set[str] = set()
    for name, value in settings.items():
        out |= options(value, f"{place}{name}.") if isinstance(value, dict) else {place + name}
    return out


def test_without_a_file_everything_has_its_default() -> None:
    """No file: the ports that OpenTelemetry gives, localhost, and the spool's own limits."""
    settings = load()
    receivers, metrics = settings.receivers, settings.metrics
    assert ("127.0.0.1", 4317, 4318) == (receivers.host, receivers.grpc_port, receivers.http_port)
    assert ("127.0.0.1", 9464, True, None) == (metrics.host, metrics.port, settings.gpu.nvml, settings.forward)
    assert Limits() == settings.spool.limits
    assert Path.home() / ".local/share/tollens/spool" == settings.spool.folder


def test_the_shipped_file_says_the_defaults_and_all_of_them() -> None:
    """`configs/tollens.yaml` holds every option there is, each with its default."""
    shipped = yaml.safe_load(SHIPPED.read_text())
    told = shipped["collector"] | {"telemetry": shipped["telemetry"]}
    assert load() == load(SHIPPED)
    assert options(CollectorSettings().model_dump()) - LEFT_OUT == options(told)


def test_the_examples_of_the_shipped_file_are_valid(tmp_path: Path) -> None:
    """What stands in the comments can be used as it is."""
    comments = [line.strip().removeprefix("#") for line in SHIPPED.read_text().split("\ncollector:")[1].splitlines()]
    jobs = [line for line in comments if line.startswith("   - {")]
    tls, dcgmi, forward = (
        next(line.strip() for line in comments if line.startswith(f"   {name}: {{"))
        for name in ("tls", "dcgmi", "forward")
    )
    parts = [f"receivers: {{{tls}}}", f"gpu: {{{dcgmi}}}", forward, "scrape:\n  jobs:\n" + "\n".join(jobs)]
    text = "collector:\n" + "\n".join(f"  {line}" for part in parts for line in part.splitlines())
    settings = load(written(tmp_path, text))
    assert ["vllm", "node"] == [job.name for job in settings.scrape.jobs]
    assert settings.forward and settings.gpu.dcgmi and settings.receivers.tls


def test_what_is_not_said_is_a_default(tmp_path: Path) -> None:
    """An empty file, empty sections and null change nothing; the correlator's part is left to the correlator."""
    for text in ("", "collector:", "collector:\n  spool:\n  gpu: null\n  forward:\n", "api: {prot: 1}\n"):
        assert load() == load(written(tmp_path, text))


def test_the_spool_is_in_the_data_folder_unless_it_is_named(tmp_path: Path) -> None:
    """The flag goes before the file's `data`, and a folder that is named before both."""
    path = written(tmp_path, "data: ~/tollens\n")
    assert Path.home() / "tollens/spool" == load(path).spool.folder
    assert Path("/d/spool") == load(path, Path("/d")).spool.folder
    assert Path("/d/spool") == load(None, Path("/d")).spool.folder
    path = written(tmp_path, "collector: {spool: {folder: /s}}")
    assert Path("/s") == load(path, Path("/d")).spool.folder


def test_ports_can_be_given_besides(tmp_path: Path) -> None:
    """A port that is given replaces the file's, 0 included; the others stay."""
    path = written(tmp_path, "collector: {receivers: {grpc_port: 1, http_port: 2}, metrics: {port: 3}}")
    settings = load(path).on_ports(None, 0, 5)
    assert (1, 0, 5) == (settings.receivers.grpc_port, settings.receivers.http_port, settings.metrics.port)


def test_a_dcgm_exporter_becomes_a_scrape_job(tmp_path: Path) -> None:
    """Naming its address is enough; without it there is no job."""
    (job,) = load(written(tmp_path, "collector: {gpu: {dcgm_exporter: 'gpu:9400', interval_s: 0.2}}")).gpu.jobs()
    assert (("gpu:9400",), 1.0) == (job.targets, job.interval_s)
    assert () == load().gpu.jobs()


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("{receiver: {}}", ["receiver: unknown", "spool, receivers, scrape, gpu, forward, metrics"]),
        ("{receivers: {limits: {request: 5}}}", ["receivers.limits.request: unknown", "message_bytes, requests"]),
        ("{scrape: {jobs: [{name: a, target: b}]}}", ["scrape.jobs.0.target: unknown", "name, targets"]),
        ("{scrape: {jobs: [{name: a, targets: ['a b']}]}}", ["scrape.jobs.0: expected host:port"]),
        ("{gpu: {dcgm_exporter: 'http://a'}}", ["gpu", "host:port"]),
        ("{gpu: {dcgmi: {fields: [1]}}}", ["gpu.dcgmi.fields: expected ids of DCGM fields"]),
        ("{gpu: {dcgmi: {program_: a}}}", ["gpu.dcgmi.program_: unknown", "program, fields, interval_s"]),
        ("{spool: {capacity_bytes: 5}}", ["spool.capacity_bytes", "1048576"]),
        ("{spool: {age_s: .nan}}", ["spool.age_s"]),
        ("{spool: {folder: ~no-such-user/a}}", ["spool.folder", "home directory"]),
        ("{spool: 5}", ["spool", "got int"]),
        ("{metrics: {port: 65536}}", ["metrics.port", "65535"]),
        ("{forward: {}}", ["forward.endpoint"]),
        ("{forward: {endpoint: 'ftp://a'}}", ["forward.endpoint: expected http"]),
        ("{forward: {endpoint: 'http://a:b'}}", ["forward.endpoint: expected http"]),
        ("{forward: {endpoint: 'http://[a'}}", ["forward.endpoint: expected http"]),
        ("{forward: {endpoint: 'http://a/ b'}}", ["forward.endpoint: expected http"]),
        ("{forward: {endpoint: 'http://a', tls: {cert_file: a}}}", ["forward.tls: expected both"]),
        ("{forward: {endpoint: 'http://a', tls: {a: b}}}", ["forward.tls.a: unknown", "ca_file"]),
        ("[a]", ["expected options", "list"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, section: str, told: list[str]) -> None:
    """An error names the file, the field and what was expected."""
    path = written(tmp_path, f"collector: {section}")
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert [] == [part for part in [f"{path}: collector", *told] if part not in str(caught.value)]


@pytest.mark.parametrize("text", ["- a", "a: [", "data: 5", "\x00"])
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, text: str) -> None:
    """Whatever is wrong with the file as a whole is an error with its name."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=r"tollens\.yaml: .*expected"):
        load(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """A file that was named and is not there is not silently replaced by defaults."""
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("endpoint", ["http://me:s3cret@a", "http://a?token=s3cret", "http://a#s3cret"])
def test_credentials_in_an_endpoint_are_refused_and_not_told(tmp_path: Path, endpoint: str) -> None:
    """They belong into a file; the error does not repeat them."""
    with pytest.raises(ConfigError, match="headers_file") as caught:
        load(written(tmp_path, f"collector: {{forward: {{endpoint: '{endpoint}'}}}}"))
    assert "s3cret" not in str(caught.value)


def test_telemetry_stands_at_the_top(tmp_path: Path) -> None:
    """It is both processes' own: read from there, refused under `collector`, and wrong values name their place."""
    assert "http://t:4318" == load(written(tmp_path, "telemetry: {endpoint: 'http://t:4318/'}")).telemetry.endpoint
    with pytest.raises(ConfigError, match=r"collector\.telemetry: expected at the top"):
        load(written(tmp_path, "collector: {telemetry: {endpoint: 'http://t:4318'}}"))
    with pytest.raises(ConfigError, match=r": telemetry\.interval_s: .*greater than or equal to 1"):
        load(written(tmp_path, "telemetry: {interval_s: 0}"))
