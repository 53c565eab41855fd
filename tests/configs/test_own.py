"""Files of `configs/` that Tollens itself reads: its own readers take them, and none of them is empty."""

from importlib.resources import files
from pathlib import Path

from collector.files import read
from collector.settings import load as collector_settings
from correlator.join.aliases import metrics, span_attributes
from correlator.model.records import Problem
from correlator.settings import load as correlator_settings
from correlator.wiring import calibration, how_to_measure

CHECKS = (
    "tollens.yaml",
    "signals.yaml",
    "calibration.yaml",
    "judgement.yaml",
    "how_to_measure.yaml",
    "demo/*",
    "demo/scrape/*",
)
CONFIGS = Path(str(files("configs")))


def test_both_processes_take_the_shipped_settings() -> None:
    """Neither finds an unknown key or a wrong value."""
    path = CONFIGS / "tollens.yaml"
    assert 8080 == correlator_settings(path).api.port
    assert 4317 == collector_settings(path).receivers.grpc_port


def test_what_the_engine_goes_by_is_read() -> None:
    """Aliases, likelihood ratios, and how to switch a signal on."""
    assert metrics() and span_attributes()
    assert calibration().priors
    assert how_to_measure()


def test_the_recording_of_the_demo_is_read() -> None:
    """All of it but the truth, which is for people, is of a known format."""
    items = list(read([str(CONFIGS / "demo")]))
    problems = [Path(item.source).name for item in items if isinstance(item, Problem)]
    assert ["truth.json"] == problems
    assert len(items) > len(problems)
