"""From the store to the receiver: what is saved as an incident is told, over its whole life and a restart."""

import json
from pathlib import Path

import pytest

from correlator.model.errors import ConfigError
from correlator.notify.service import notifying
from correlator.notify.settings import NotifySettings
from correlator.store import Store
from correlator.store.incidents import Incidents
from tests.exporters.incidents import closed, incident
from tests.exporters.telling import KEY, PATH_SECRET, receiver, target


def test_an_incident_in_the_store_is_told_from_its_opening_to_its_end(tmp_path: Path) -> None:
    """Opened before, resolved after a restart: two messages, nothing twice."""
    settings = NotifySettings(public_url="https://tollens.example.com/")
    with Store.open() as store, receiver() as there:
        incidents = Incidents(store)
        to = [target("webhook", tmp_path, there.url)]
        for version, saved in enumerate((incident(), closed()), 1):
            incidents.save(saved if version == 1 else closed(version=version))
            telling = notifying(settings, tmp_path / "outbox", to, incidents.live, incidents.get)
            telling.start()
            telling.announcing.once()
            telling.announcing.once()
            there.wait_for(version)
            telling.stop()
            assert telling.announcing.trouble is None
    told = [json.loads(got.body) for got in there.got]
    assert ["incident.opened", "incident.resolved"] == [each["type"] for each in told]
    assert {"https://tollens.example.com/api/v1/incidents/1f0c"} == {each["data"]["link"] for each in told}


def test_an_outbox_that_cannot_be_opened_is_told_at_the_start(tmp_path: Path) -> None:
    """The folder is a file: ConfigError, no traceback."""
    (tmp_path / "outbox").write_text("")
    with pytest.raises(ConfigError, match="exporters: the outbox cannot be opened"):
        notifying(NotifySettings(), tmp_path / "outbox", [], lambda since, limit: (), lambda id: None)


def test_settings_do_not_show_targets() -> None:
    """Whoever writes a secret into the file by mistake does not find it in a log."""
    settings = NotifySettings(targets=({"exporter": "slack", "name": "x", "url": f"https://h{PATH_SECRET}", "k": KEY},))
    assert PATH_SECRET not in repr(settings)
    assert KEY not in repr(settings)


def test_without_targets_nothing_runs(tmp_path: Path) -> None:
    """It starts and stops, and nobody is asked for incidents."""
    telling = notifying(NotifySettings(), tmp_path, [], lambda since, limit: pytest.fail("asked"), lambda id: None)
    telling.start()
    telling.announcing.once()
    telling.stop()
    assert telling.announcing.trouble is None
