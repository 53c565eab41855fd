"""Settings: defaults, what the shipped file says, and errors that name file, field and what was expected."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from correlator.model.errors import ConfigError
from correlator.model.evidence import Kind
from correlator.settings import ApiSettings, Settings, load, token


def written(folder: Path, text: str) -> Path:
    path = folder / "tollens.yaml"
    path.write_text(text)
    return path


def options(settings: dict, place: str = "") -> set[str]:
    """Dotted names of all leaves."""
    out = set()
    for name, value in settings.items():
        out |= options(value, f"{place}{name}.") if isinstance(value, dict) else {place + name}
    return out


def test_without_a_file_everything_has_its_default() -> None:
    """No file: localhost, port 8080, no token, watching."""
    settings = load()
    assert ("127.0.0.1", 8080, None, True) == (
        settings.api.host,
        settings.api.port,
        settings.api.token_file,
        settings.watch.enabled,
    )


def test_the_shipped_file_says_the_defaults_and_all_of_them() -> None:
    """`configs/tollens.yaml` holds every option there is, each with its default."""
    path = Path(str(files("configs") / "tollens.yaml"))
    assert Settings() == load(path)
    ours = {name: part for name, part in yaml.safe_load(path.read_text()).items() if name != "collector"}
    assert options(Settings().model_dump()) == options(ours)


def test_the_example_objectives_of_the_shipped_file_are_valid(tmp_path: Path) -> None:
    """The objectives in the comments can be used as they are."""
    text = (files("configs") / "tollens.yaml").read_text().partition("\nwatch:")[2].partition("\nretention:")[0]
    examples = [line.removeprefix("  #") for line in text.splitlines() if line.startswith("  #   - {")]
    settings = load(written(tmp_path, "watch:\n  slos:\n" + "\n".join(examples)))
    assert [Kind.LATENCY, Kind.ERRORS] == [slo.kind for slo in settings.watch.slos]


def test_an_empty_file_and_empty_sections_are_defaults(tmp_path: Path) -> None:
    """Nothing said is nothing changed."""
    assert Settings() == load(written(tmp_path, ""))
    assert Settings() == load(written(tmp_path, "api:\nwatch:\n"))


def test_the_collectors_part_is_left_to_the_collector(tmp_path: Path) -> None:
    """Whatever stands under `collector` is not the correlator's to judge."""
    assert Settings() == load(written(tmp_path, "collector: {otlp_grpc: {port: 4317}}"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("api: {prot: 8080}", ["api.prot", "unknown", "port"]),
        ("apii: {}", ["apii", "unknown", "api, watch, retention"]),
        ("api: {port: 99999}", ["api.port", "65535"]),
        ("api: {host: 0.0.0.0}", ["api", "token_file", "0.0.0.0"]),
        ("api: {host: example.com}", ["token_file"]),
        ("watch: {change: {window: 5}}", ["watch.change.window", "window_s"]),
        ("watch: {slos: [{name: a, kind: latency, treshold: 5}]}", ["watch.slos.0.treshold", "unknown", "threshold"]),
        ("watch: {slos: [{name: a, kind: slow, threshold: 5}]}", ["watch.slos.0.kind", "latency"]),
        ("watch: {slos: [{name: a, kind: errors, threshold: 5}]}", ["watch.slos.0", "share between 0 and 1"]),
        ("watch: {slos: [{name: a, kind: latency, threshold: 1}, {name: a, kind: latency, threshold: 2}]}", ["once"]),
        ("retention: {max_bytes: 5}", ["retention.max_bytes", "100000000"]),
        ("watch: {every_s: .nan}", ["watch.every_s"]),
        ("- a", ["sections", "list"]),
        ("a: [", ["expected YAML"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, told: list[str]) -> None:
    """An error names the file, the field and what was expected."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert [] == [part for part in [str(path), *told] if part not in str(caught.value)]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """A file that was named and is not there is not silently replaced by defaults."""
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        load(tmp_path / "nowhere.yaml")


def test_beyond_this_machine_a_token_makes_it_right() -> None:
    """With a token file any address will do."""
    assert "0.0.0.0" == ApiSettings(host="0.0.0.0", token_file=Path("t")).host


def test_a_token_is_read_without_its_line_end_and_never_shown(tmp_path: Path) -> None:
    """The value is there, and no repr tells it."""
    path = tmp_path / "token"
    path.write_text("s3cret\n")
    assert "s3cret" == token(path).get_secret_value()
    assert "s3cret" not in repr(token(path))


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"\xff\xfe", b"a\nb"])
def test_a_useless_token_is_an_error_that_does_not_tell_it(tmp_path: Path, content: bytes) -> None:
    """An empty, broken or unreadable token stops the start, and is not in the message."""
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="token_file") as caught:
        token(path)
    assert "words" not in str(caught.value)


def test_reading_all_settings_imports_neither_frames_nor_the_engine() -> None:
    """`tollens up` reads them in a process that lives for months, where pandas and chDB would be 50 MiB for nothing."""
    read = "import sys, collector.settings, correlator.settings, correlator.supervise, exporters._targets;"
    told = f"{read} print(*(heavy for heavy in ('pandas', 'numpy', 'pyarrow', 'chdb') if heavy in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=60)
    assert "" == ran.stdout.strip()
