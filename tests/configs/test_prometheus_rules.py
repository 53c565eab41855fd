"""Rules and configs for Prometheus and Alertmanager: right by their own tools, and about metrics that are there."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from collector.receiving.answers import Reason
from tests.counterparts.tollens_up import tollens_up

CHECKS = ("prometheus/prometheus.yml", "prometheus/alertmanager.yml", "prometheus/tollens.rules.yml")
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "configs" / "prometheus"
RULES = FOLDER / "tollens.rules.yml"
TESTS = Path(__file__).with_name("tollens.rules.test.yml")
EXPRESSIONS = [rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def tool(*command: str) -> None:
    """Run a checking tool, which must be content; without it the test is skipped."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no `{command[0]}` on the PATH")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr


def rules(kind: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"] if kind in rule]


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Iterator[set[str]]:
    """Names on the metrics pages of both processes."""
    with tollens_up(tmp_path_factory.mktemp("up")) as up:
        pages = "".join(up.get(port, "/metrics").text for port in ("api_port", "metrics_port"))
    yield set(re.findall(r"^# TYPE (\S+)", pages, flags=re.MULTILINE))


def test_rules_only_use_metrics_that_exist(families: set[str]) -> None:
    """Every metric of every rule is on a page of the real service: no alert is silent for want of its metric."""
    used = {name for text in EXPRESSIONS for name in re.findall(r"\btollens_\w+", text)}
    assert len(used) > 10
    assert set() == used - families


def test_recorded_names_that_alerts_use_are_recorded() -> None:
    """Names with colons are those of recording rules."""
    used = {name for text in EXPRESSIONS for name in re.findall(r"\btollens:[\w:]+", text)}
    assert set() == used - {rule["record"] for rule in rules("record")}


def test_reasons_in_rules_are_those_of_the_receivers() -> None:
    """A reason that is renamed must not silence its alert."""
    used = {
        reason
        for text in EXPRESSIONS
        for found in re.findall(r'reason=~"([^"]*)"', text)
        for reason in found.split("|")
    }
    assert used
    assert set() == used - {reason.label for reason in Reason}


def test_rules_do_what_they_say() -> None:
    """`promtool test rules`: made-up series in, the expected alerts out."""
    tool("promtool", "test", "rules", str(TESTS))


def test_every_alert_has_a_test() -> None:
    """None of them is left to be tried in production."""
    tried = {one["alertname"] for test in yaml.safe_load(TESTS.read_text())["tests"] for one in test["alert_rule_test"]}
    assert {rule["alert"] for rule in rules("alert")} == tried


def test_prometheus_takes_the_config_and_its_rules() -> None:
    """`promtool check config` reads the rules, too."""
    tool("promtool", "check", "config", "--lint=all", "--lint-fatal", str(FOLDER / "prometheus.yml"))


def test_alertmanager_takes_its_config() -> None:
    """`amtool check-config` has nothing against it."""
    tool("amtool", "check-config", str(FOLDER / "alertmanager.yml"))


@pytest.mark.parametrize(("alert", "receivers"), [("TollensDown", "people"), ("ChatLatencyHigh", "tollens,people")])
def test_what_tollens_tells_of_itself_does_not_come_back(alert: str, receivers: str) -> None:
    """Alerts about Tollens go to people, all others to both."""
    config = f"--config.file={FOLDER / 'alertmanager.yml'}"
    tool("amtool", "config", "routes", "test", config, f"--verify.receivers={receivers}", f"alertname={alert}")
