"""What every exporter that delivers promises; found by discovery, tested against a real receiver on loopback."""

import asyncio
import json
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from correlator.model.deliveries import WantedDeliveries
from correlator.model.errors import ConfigError
from correlator.model.notices import Attempt, Change, Notice, decoded, encoded
from correlator.model.retrying import Later, Never
from correlator.notify.answers import MAX_ANSWER_BYTES
from correlator.notify.line import Target
from correlator.notify.outbox import Outbox, Put
from correlator.notify.pinned import Poster
from correlator.notify.sending import Notifier
from correlator.notify.settings import NotifySettings
from correlator.wiring import targets
from exporters._registry import all_exporters
from tests.exporters.incidents import incident, told
from tests.exporters.telling import (
    KEY,
    PATH_SECRET,
    Answer,
    configured,
    exporter_ids,
    receiver,
    secret_for,
    target,
    until,
)

STATUSES = range(200, 600)
PASSING = {408, 425, 429}
"""Client errors that say: later."""
BODY_BYTES = 512_000
"""PagerDuty takes the least: 512 KB."""
everyone = pytest.mark.parametrize("id", exporter_ids())


async def sent(target: Target, notice: Notice) -> None:
    """One attempt. Raises Later or Never."""
    poster = Poster(target.context, target.allow, target.connect_timeout_s, target.timeout_s)
    try:
        for request in target.requests(notice, Attempt(at=notice.at, secret=target.secret())):
            await poster.post(request, target.secret())
    finally:
        await poster.close()


def outcome(target: Target, notice: Notice) -> str:
    """What became of one attempt, with the reason."""
    try:
        asyncio.run(sent(target, notice))
    except (Later, Never) as error:
        return f"{type(error).__name__}: {error}"
    return "taken"


def verdict(status: int) -> str:
    """What becomes of a notice that is answered so."""
    if 200 <= status < 300:
        return "taken"
    if 400 <= status < 500 and status not in PASSING:
        return f"Never: HTTP status {status}"
    return f"Later: HTTP status {status}" + (": redirects are not followed" if status < 400 else "")


async def outcomes(target: Target, notice: Notice, before: Callable[[int], None]) -> list[str]:
    """What becomes of the notice for each status, over one connection where it can be kept."""
    poster = Poster(target.context, target.allow, target.connect_timeout_s, target.timeout_s)
    found = []
    for status in STATUSES:
        before(status)
        try:
            for request in target.requests(notice, Attempt(at=notice.at, secret=target.secret())):
                await poster.post(request, target.secret())
            found.append("taken")
        except (Later, Never) as error:
            found.append(f"{type(error).__name__}: {error}")
    await poster.close()
    return found


def test_exporters_are_found() -> None:
    """Discovery finds the exporters that deliver, and none of the renderers beside them."""
    assert {"webhook", "slack", "pagerduty", "alertmanager", "otlp"} <= set(exporter_ids())
    assert not {"terminal", "markdown", "report", "json_object"} & set(exporter_ids())


@everyone
def test_every_status_is_understood(id: str, tmp_path: Path) -> None:
    """Successes are taken; redirects, overload and server errors come again; other client errors are final."""
    with receiver() as there:

        def before(status: int) -> None:
            there.answer = lambda got: Answer(status, {"Location": f"{there.url}/elsewhere"}, b"")

        found = asyncio.run(outcomes(target(id, tmp_path, there.url), told(), before))
        assert [verdict(status) for status in STATUSES] == found
        assert not [got.path for got in there.got if "elsewhere" in got.path]


@everyone
def test_a_redirect_inside_is_not_followed(id: str, tmp_path: Path) -> None:
    """Whom we may reach cannot send us to whom we may not, by any redirect."""
    with receiver() as inner, receiver() as there:
        to = target(id, tmp_path, there.url, allow=["127.0.0.1/32"])
        for status in (301, 302, 303, 307, 308):
            there.answer = lambda got, status=status: Answer(status, {"Location": inner.url})  # type: ignore[misc]
            assert f"Later: HTTP status {status}: redirects are not followed" == outcome(to, told())
        assert [] == inner.got


@everyone
def test_a_name_that_leads_inside_is_not_reached(id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A public name that DNS turns to a private address: nothing is sent."""
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1", *rest, **more))
    with receiver() as there:
        to = target(id, tmp_path, there.url.replace("127.0.0.1", "hooks.example.com"), allow=[])
        assert outcome(to, told()).startswith("Later: the host has no public address")
        assert [] == there.got


@everyone
def test_a_closed_port_is_tried_again(id: str, tmp_path: Path) -> None:
    """Nobody listens: later."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    assert outcome(target(id, tmp_path, url), told()).startswith("Later: cannot connect")


@everyone
def test_a_slow_server_is_left(id: str, tmp_path: Path) -> None:
    """An answer that does not come in time is not waited for."""
    gate = threading.Event()
    with receiver(always=Answer(wait=gate)) as there:
        try:
            assert "Later: no answer" in outcome(target(id, tmp_path, there.url, timeout_s=0.2), told())
        finally:
            gate.set()


@everyone
def test_an_answer_that_drips_is_left(id: str, tmp_path: Path) -> None:
    """A server that sends a byte now and then is bounded by the time for the whole attempt."""
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 10_000:
                if over.wait(0.05):
                    return
                connection.sendall(bytes([byte]))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            assert "Later: no answer within 0.4 s" == outcome(target(id, tmp_path, url, timeout_s=0.4), told())
        finally:
            over.set()
            thread.join()


@everyone
def test_a_huge_answer_is_cut(id: str, tmp_path: Path) -> None:
    """Only the beginning of an answer is read, and less of it is kept."""
    with receiver(always=Answer(400, body=b"x" * (MAX_ANSWER_BYTES * 200))) as there:
        found = outcome(target(id, tmp_path, there.url, timeout_s=5), told())
    assert found.startswith("Never: HTTP status 400: xxx")
    assert len(found) < 300


@everyone
def test_no_secret_is_told(id: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Settings, targets, requests, dead letters and logs show no secret, even when the receiver repeats it."""
    caplog.set_level(logging.DEBUG)
    with receiver() as there:
        secret = secret_for(id, there.url)
        there.answer = lambda got: Answer(403, body=f"{secret} {got.path} {dict(got.headers)}".encode() + got.body)
        configured_ = configured(id, tmp_path, there.url)
        bound = targets(NotifySettings(targets=(configured_,)))[0]
        requests = bound.requests(told(), Attempt(at=1, secret=secret))
        with_outbox = Outbox(tmp_path / "outbox")
        with_outbox.put([Put(target=id, notice=told(), mark="a")])
        notifier = Notifier(with_outbox, [bound], lambda: 0.5)
        notifier.start()
        there.wait_for(1)
        notifier.stop()
        dead = with_outbox.find(WantedDeliveries())
        kept = (tmp_path / "outbox" / "outbox.sqlite").read_bytes()
        shown = f"{bound!r} {requests!r} {dead!r} {notifier.states()!r} {NotifySettings(targets=(configured_,))!r}"
        with_outbox.close()
    assert ["dead"] == [letter.state for letter in dead]
    for word in (KEY, PATH_SECRET, KEY.removeprefix("whsec_")):
        assert word not in shown + caplog.text
        assert word.encode() not in kept


@everyone
def test_a_restart_in_the_middle_sends_the_same_again(id: str, tmp_path: Path) -> None:
    """Stopped while an attempt is under way, the notice goes out again, its body and key as they were."""
    gate = threading.Event()
    with receiver(Answer(wait=gate)) as there:
        to = target(id, tmp_path, there.url)
        outbox = Outbox(tmp_path / "outbox")
        outbox.put([Put(target=id, notice=told(), mark="a")])
        first = Notifier(outbox, [to])
        first.start()
        there.wait_for(1)
        first.stop(grace_s=0.1)
        outbox.close()
        gate.set()
        again = Outbox(tmp_path / "outbox")
        second = Notifier(again, [to])
        second.start()
        before, after = there.wait_for(2)
        until(lambda: again.states([id])[0].waiting == 0)
        second.stop()
        again.close()
    assert (before.path, before.body) == (after.path, after.body)
    assert before.headers.get("webhook-id") == after.headers.get("webhook-id")


@everyone
def test_a_bad_secret_is_refused_at_the_start_and_not_shown(id: str, tmp_path: Path) -> None:
    """What cannot be a secret is an error that names target and expectation, never the secret."""
    given = configured(id, tmp_path, "http://127.0.0.1:1")
    Path(given["secret_file"]).write_text("hunter2 two words")
    with pytest.raises(ConfigError, match=r"exporters\.targets\.0: expected") as error:
        targets(NotifySettings(targets=(given,)))
    assert "hunter2" not in str(error.value)


@everyone
def test_the_same_notice_makes_the_same_requests(id: str, tmp_path: Path) -> None:
    """Requests are a pure function: also of a notice that was on disk, and of the same attempt."""
    bound, attempt = target(id, tmp_path, "http://127.0.0.1:1"), Attempt(at=5 * 10**18, secret=KEY)

    def shown(notice: Notice) -> list[tuple[str, dict[str, str], bytes]]:
        return [(each.url, dict(each.headers), each.body) for each in bound.requests(notice, attempt)]

    assert shown(told()) == shown(decoded(encoded(told())))


@everyone
@pytest.mark.parametrize("change", list(Change))
@pytest.mark.parametrize(
    "text", ["<!channel> {{ 7 * 7 }} *", "x" * 100_000, "\ud800é\0"], ids=["markup", "long", "odd"]
)
def test_any_text_fits(id: str, change: Change, text: str, tmp_path: Path) -> None:
    """Whatever telemetry says, bodies are bounded, in UTF-8, and JSON where they claim to be."""
    strange = incident(title=text, where=text, note=text, diagnosis=_filled(text))
    for request in target(id, tmp_path, "http://127.0.0.1:1").requests(
        told(change, strange), Attempt(at=1, secret=KEY)
    ):
        assert 0 < len(request.body) < BODY_BYTES
        if "json" in request.headers["Content-Type"]:
            json.loads(request.body)


@everyone
def test_an_incident_without_a_diagnosis_or_a_kind_can_be_told(id: str, tmp_path: Path) -> None:
    """An alert told of it, nothing else is known: that is told."""
    bare = incident(kind=None, diagnosis=None, diagnosed=None, where="")
    assert target(id, tmp_path, "http://127.0.0.1:1").requests(told(of=bare), Attempt(at=1, secret=KEY))


@everyone
def test_an_exporter_bears_the_name_of_its_file(id: str) -> None:
    """An exporter's name is its file's stem, and its settings refuse unknown keys."""
    exporter = all_exporters()[id]
    assert "forbid" == exporter.settings.model_config["extra"]
    assert id == exporter.id


def _filled(text: str) -> dict[str, object]:
    finding = {
        "hypothesis": text,
        "claim": text,
        "verdict": "supported",
        "probability": None,
        "remedy": text,
        "predictions": [{"statement": text, "trace_ids": [text] * 50}] * 50,
    }
    return {"findings": [finding] * 100, "coverage": {"problems": [text] * 1000}}
