"""A real Alertmanager takes our incidents: one alert from the opening to the end, whatever changes in between."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from correlator.model.evidence import Kind
from correlator.model.incidents import Incident, State
from correlator.model.notices import Change, notice
from correlator.notify.outbox import Outbox, Put
from correlator.notify.sending import Notifier
from tests.counterparts.running import free_port, running
from tests.exporters.incidents import S, incident
from tests.exporters.telling import target, until

PROGRAM = "prometheus-alertmanager"
pytestmark = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"there is no `{PROGRAM}` on the PATH")


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    """Its URL; it knows nobody to pass alerts on to."""
    config, address = tmp_path / "alertmanager.yml", f"127.0.0.1:{free_port()}"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    flags = [f"--config.file={config}", f"--storage.path={tmp_path / 'data'}", "--cluster.listen-address="]
    with running([PROGRAM, *flags, f"--web.listen-address={address}"], address, tmp_path):
        yield f"http://{address}"


def firing(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{url}/api/v2/alerts", trust_env=False).json()
    return found


def now(incident: Incident) -> Incident:
    """The incident as if it had begun a minute ago: Alertmanager goes by the clock."""
    at = time.time_ns()
    return replace(incident, onset=at - 60 * S, opened=at - 30 * S, updated=at)


def test_an_incident_is_one_alert_until_it_is_over(alertmanager: str, tmp_path: Path) -> None:
    """Opened: it fires, causes ranked. Another kind and cause: the same alert. Over: it fires no more."""
    outbox, one = Outbox(tmp_path / "outbox"), now(incident())
    notifier = Notifier(outbox, [target("alertmanager", tmp_path, alertmanager, labels={"severity": "page"})])
    notifier.start()

    def tell(change: Change, told: Incident) -> list[dict[str, Any]]:
        done = outbox.counts["alertmanager", "delivered"]
        outbox.put([Put(target="alertmanager", notice=notice(change, told, told.updated), mark="m")])
        until(lambda: outbox.counts["alertmanager", "delivered"] == done + 1)
        return firing(alertmanager)

    opened = tell(Change.OPENED, one)
    graver = replace(one, kind=Kind.AVAILABILITY, severity=9.0, updated=one.updated + 1)
    updated = tell(Change.UPDATED, graver)
    over = tell(Change.RESOLVED, replace(graver, state=State.CLOSED, closed=one.updated + 2, updated=one.updated + 2))
    notifier.stop()
    outbox.close()
    assert [1, 1, 0] == [len(found) for found in (opened, updated, over)]
    assert opened[0]["fingerprint"] == updated[0]["fingerprint"]
    assert ("active", "page") == (opened[0]["status"]["state"], opened[0]["labels"]["severity"])
    assert opened[0]["annotations"]["cause_1"]
    assert "availability" == updated[0]["annotations"]["symptom"]
