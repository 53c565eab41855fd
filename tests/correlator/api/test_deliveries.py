"""Deliveries over the API: what waits, what was given up, and dead letters sent again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from correlator.api import Options
from correlator.api.services import Outgoing
from correlator.chores import Chore
from correlator.notify.outbox import Outbox, Put
from correlator.notify.sending import Notifier
from correlator.notify.service import Deliveries, Notifying
from tests.correlator.api.served import Client, Made
from tests.exporters.incidents import incident, told
from tests.exporters.telling import target


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    """Three notices for `webhook`: one waits, two are dead letters."""
    outbox = Outbox(tmp_path / "outbox")
    for id in ("a", "b", "c"):
        outbox.put([Put(target="webhook", notice=told(of=incident(id)), mark="m")])
        found = outbox.next("webhook")
        assert found is not None
        if id != "c":
            outbox.failed(found[0], "HTTP status 422", dead=True)
    yield outbox
    outbox.close()


@pytest.fixture
def client(outbox: Outbox, tmp_path: Path) -> Iterator[Client]:
    notifier = Notifier(outbox, [target("webhook", tmp_path, "http://127.0.0.1:1")])
    outgoing = Outgoing(outbox.find, notifier.states, outbox.resend)
    options = Options()
    options.registry.register(Deliveries(Notifying(outbox, notifier, Chore("x", 1, lambda counts: None))))
    with Client(replace(Made().services(), outgoing=outgoing), options) as client:
        yield client


def test_deliveries_are_listed(client: Client) -> None:
    """Latest first, with how each target stands; by state, by target, page by page."""
    page = client.get("/api/v1/deliveries", limit=2).json()
    assert [("c", "waiting"), ("b", "dead")] == [(each["incident"], each["state"]) for each in page["deliveries"]]
    rest = client.get("/api/v1/deliveries", cursor=page["next"]).json()
    assert (["a"], None) == ([each["incident"] for each in rest["deliveries"]], rest["next"])
    state = {name: page["targets"][0][name] for name in ("name", "waiting", "dead", "trouble")}
    assert {"name": "webhook", "waiting": 1, "dead": 2, "trouble": None} == state
    dead = client.get("/api/v1/deliveries", state="dead", target="webhook").json()["deliveries"]
    assert [("HTTP status 422", 1)] * 2 == [(each["reason"], each["attempts"]) for each in dead]
    assert [] == client.get("/api/v1/deliveries", target="other").json()["deliveries"]


def test_a_dead_letter_is_sent_again(client: Client, outbox: Outbox) -> None:
    """By its id, once; an id that is no dead letter is 404."""
    id = client.get("/api/v1/deliveries", state="dead").json()["deliveries"][0]["id"]
    assert {"resent": 1} == client.request("POST", f"/api/v1/deliveries/{id}/resend").json()
    assert [404, 404] == [
        client.request("POST", f"/api/v1/deliveries/{each}/resend").status_code for each in (id, 999_999)
    ]
    assert 2 == outbox.states(["webhook"])[0].waiting


def test_all_dead_letters_of_a_target_are_sent_again(client: Client, outbox: Outbox) -> None:
    """After an outage one request suffices."""
    assert {"resent": 2} == client.request("POST", "/api/v1/deliveries/resend", json={"target": "webhook"}).json()
    assert 0 == outbox.states(["webhook"])[0].dead


@pytest.mark.parametrize("query", ["state=lost", "cursor=0", "limit=0", "target=a%20b", "cursor=99999999999999999999"])
def test_a_wrong_question_is_told(query: str, client: Client) -> None:
    """422, with the field."""
    assert 422 == client.get(f"/api/v1/deliveries?{query}").status_code


def test_without_targets_there_is_nothing(tmp_path: Path) -> None:
    """The routes are there all the same."""
    with Client(Made()) as client:
        assert {"targets": [], "deliveries": [], "next": None} == client.get("/api/v1/deliveries").json()
        assert 404 == client.request("POST", "/api/v1/deliveries/1/resend").status_code


def test_metrics_tell_what_is_kept_and_what_happened(client: Client) -> None:
    """By target, in few words."""
    text = client.get("/metrics").text
    for line in (
        'tollens_deliveries_total{target="webhook",what="queued"} 3.0',
        'tollens_deliveries_total{target="webhook",what="dead"} 2.0',
        'tollens_outbox_notices{state="dead",target="webhook"} 2.0',
        'tollens_target_well{target="webhook"} 1.0',
    ):
        assert line in text
