"""The page about webhooks: its receiver verifies what we send, its settings can be used."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from correlator.notify.outbox import Outbox, Put
from correlator.notify.sending import Notifier
from correlator.notify.settings import NotifySettings
from correlator.wiring import targets
from exporters._registry import all_exporters
from tests.exporters.incidents import incident, told
from tests.exporters.telling import KEY, secret_for, target, until

PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text()
SHIPPED = (files("configs") / "tollens.yaml").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    assert found
    return found[1]


@contextmanager
def page_receiver(secret: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The receiver of the page in a process of its own, and its URL."""
    env = os.environ | {"TOLLENS_WEBHOOK_SECRET": secret, "PORT": "0"}
    command = [sys.executable, "-c", block("python")]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, f"http://127.0.0.1:{process.stdout.readline().split()[-1]}/"
        finally:
            process.kill()


def test_the_receiver_of_the_page_takes_what_we_send_once(tmp_path: Path) -> None:
    """Signed messages are printed, repetitions are not."""
    outbox = Outbox(tmp_path / "outbox")
    first, again = told(of=incident("a")), told(of=incident("b"))
    with page_receiver(KEY) as (process, url):
        notifier = Notifier(outbox, [target("webhook", tmp_path, url)])
        notifier.start()
        for notice in (first, first, again):
            outbox.put([Put(target="webhook", notice=notice, mark="m")])
        assert process.stdout is not None
        lines = [process.stdout.readline().split()[:2] for _ in range(2)]
        until(lambda: outbox.counts["webhook", "delivered"] == 3)
        notifier.stop()
    outbox.close()
    assert [["incident.opened", "a"], ["incident.opened", "b"]] == lines


def test_the_receiver_of_the_page_refuses_another_secret(tmp_path: Path) -> None:
    """What is signed by somebody else is a dead letter here."""
    outbox = Outbox(tmp_path / "outbox")
    with page_receiver("whsec_" + "A" * 40) as (_, url):
        notifier = Notifier(outbox, [target("webhook", tmp_path, url)])
        notifier.start()
        outbox.put([Put(target="webhook", notice=told(), mark="m")])
        until(lambda: outbox.states(["webhook"])[0].dead == 1)
        notifier.stop()
    outbox.close()


@pytest.mark.parametrize("source", ["page", "shipped"])
def test_the_examples_can_be_used(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The targets of the page, and those in the comments of the shipped file, with secrets put where they say."""
    commented = [line.removeprefix("  #") for line in SHIPPED.splitlines() if "- {exporter:" in line]
    text = block("yaml") if source == "page" else "exporters:\n  targets:\n" + "\n".join(commented)
    section = yaml.safe_load(text)["exporters"]
    for each in section["targets"]:
        secret = secret_for(each["exporter"], "https://hooks.example.com")
        if "secret_file" in each:
            each["secret_file"] = tmp_path / each["name"]
            each["secret_file"].write_text(secret)
        if "secret_env" in each:
            monkeypatch.setenv(each["secret_env"], secret)
    found = targets(NotifySettings.model_validate(section))
    assert {"webhook", "slack", "pagerduty", "alertmanager"} <= {each["exporter"] for each in section["targets"]}
    assert [each["name"] for each in section["targets"]] == [each.name for each in found]


def test_the_page_knows_every_exporter() -> None:
    """Each has a line in the table, and no other has."""
    assert sorted(all_exporters()) == sorted(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE))
