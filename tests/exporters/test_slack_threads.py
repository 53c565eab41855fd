"""Slack by a bot's token: all messages of an incident are one thread, over restarts; what it answers is believed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from correlator.model.deliveries import WantedDeliveries
from correlator.model.errors import ConfigError
from correlator.model.notices import Change
from correlator.notify.line import Target
from correlator.notify.outbox import Outbox, Put
from correlator.notify.sending import Notifier
from correlator.notify.settings import NotifySettings
from correlator.wiring import targets
from exporters.slack import answered
from tests.exporters.incidents import incident, told
from tests.exporters.telling import Answer, Got, Receiver, configured, receiver, until

TOKEN = "xoxb-123456789012-secretofthetests"
CHANNEL = "C0123456789"


@contextmanager
def slack(*answers: dict[str, Any]) -> Iterator[Receiver]:
    """Slack's Web API: each message has a name of its own, answers given here come first."""
    left = iter(answers)
    with receiver() as there:

        def answer(got: Got) -> Answer:
            usual = {"ok": True, "channel": CHANNEL, "ts": f"17.{len(there.got) + 1}", "message": {}}
            if "thread_ts" in (sent := json.loads(got.body)):
                usual["message"] = {"thread_ts": sent["thread_ts"]}
            return Answer(body=json.dumps(next(left, usual)).encode())

        there.answer = answer
        yield there


def tell(folder: Path, url: str, *changes: tuple[str, Change]) -> Outbox:
    """Tell Slack of these changes by a notifier that then ends: the outbox."""
    outbox = Outbox(folder / "outbox")
    notifier = Notifier(outbox, [by_token(folder, url)], lambda: 0.5)
    notifier.start()
    for id_, change in changes:
        mark = None if change is Change.RESOLVED else str(change)
        outbox.put([Put(target="slack", notice=told(change, incident(id_)), mark=mark)])
        until(lambda: outbox.states(["slack"])[0].waiting == 0)
    notifier.stop()
    return outbox


def by_token(folder: Path, url: str) -> Target:
    given = configured("slack", folder, url, channel=CHANNEL)
    Path(given["secret_file"]).write_text(TOKEN)
    return targets(NotifySettings(targets=(given,)))[0]


def test_an_incident_is_one_thread(tmp_path: Path) -> None:
    """The first message opens it, the others are in it, also after a restart; another incident has its own."""
    with slack() as there:
        tell(tmp_path, there.url, ("a", Change.OPENED), ("b", Change.OPENED)).close()
        outbox = tell(tmp_path, there.url, ("a", Change.UPDATED), ("a", Change.RESOLVED), ("b", Change.UPDATED))
        sent = [json.loads(got.body).get("thread_ts") for got in there.got]
        assert [None, None, "17.1", "17.1", "17.2"] == sent
        assert {f"Bearer {TOKEN}"} == {got.headers["authorization"] for got in there.got}
        assert {CHANNEL} == {json.loads(got.body)["channel"] for got in there.got}
        assert ("", "17.2") == (outbox.thread("slack", "a"), outbox.thread("slack", "b"))
        outbox.close()


def test_a_no_with_status_200_is_a_no(tmp_path: Path) -> None:
    """What passes is tried again, what does not is a dead letter with Slack's word for it."""
    with slack({"ok": False, "error": "internal_error"}) as there:
        tell(tmp_path, there.url, ("a", Change.OPENED)).close()
        assert 2 == len(there.got)
    with slack({"ok": False, "error": f"channel_not_found {TOKEN}"}) as there:
        outbox = tell(tmp_path, there.url, ("b", Change.OPENED))
        (letter,) = outbox.find(WantedDeliveries())
        outbox.close()
    assert ("dead", "Slack said channel_not_found …") == (letter.state, letter.reason)


@pytest.mark.parametrize("answer", [b"ok", b"", b"[]", b'{"ok": true}', b"\xff", b'{"ok": true, "message": 1}'])
def test_an_answer_without_a_thread_is_none(answer: bytes) -> None:
    """That of a webhook, and odd ones: it was taken, that is all."""
    assert "" == answered(answer)


def test_a_channel_needs_a_token_and_a_token_a_channel(tmp_path: Path) -> None:
    """Either alone is an error at the start, which does not show the token."""
    given = configured("slack", tmp_path, "http://127.0.0.1:1", channel=CHANNEL)
    with pytest.raises(ConfigError, match="channel: expected with the token of a bot"):
        targets(NotifySettings(targets=(given,)))
    Path(given["secret_file"]).write_text(TOKEN)
    del given["channel"]
    with pytest.raises(ConfigError, match="channel: expected with the token of a bot") as error:
        targets(NotifySettings(targets=(given,)))
    assert TOKEN not in str(error.value)
