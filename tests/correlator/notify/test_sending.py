"""Delivering: at least once, in order, at its own pace, through every kind of trouble; against a real receiver."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from standardwebhooks import Webhook

from correlator.model.deliveries import DeliveryState, WantedDeliveries
from correlator.model.incidents import Incident
from correlator.model.notices import Attempt, Change, HttpRequest, Notice
from correlator.notify.outbox import Bounds, Outbox, Put
from correlator.notify.sending import Notifier
from tests.exporters.incidents import closed, incident, told
from tests.exporters.telling import KEY, Answer, Receiver, receiver, target, until

SENDER = """
import ssl, sys
from pathlib import Path
from correlator.notify.line import Target
from correlator.notify.outbox import Outbox
from correlator.notify.sending import Notifier
from exporters.webhook import EXPORTER
folder, url, key = sys.argv[1:]
settings = EXPORTER.settings(exporter="webhook", name="webhook", url=url, allow=["127.0.0.0/8"])
requests = lambda notice, attempt: EXPORTER.requests(notice, settings, attempt)
allow, context = settings.allow, ssl.create_default_context()
target = Target(name="webhook", requests=requests, secret=lambda: key, context=context, allow=allow)
Notifier(Outbox(Path(folder) / "outbox"), [target]).start()
sys.stdin.read()
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def put(outbox: Outbox, *incidents: Incident, change: Change = Change.OPENED) -> None:
    outbox.put([Put(target="webhook", notice=told(change, each), mark="m") for each in incidents])


def put_of(number: int, like: Notice) -> Put:
    notice = replace(like, id=f"msg_{number}", incident=replace(like.incident, id=f"i{number}"))
    return Put(target="webhook", notice=notice, mark="m")


@contextmanager
def notifying(outbox: Outbox, folder: Path, url: str, **options: Any) -> Iterator[Notifier]:
    notifier = Notifier(outbox, [target("webhook", folder, url, **options)], lambda: 0.5)
    notifier.start()
    try:
        yield notifier
    finally:
        notifier.stop()


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    outbox = Outbox(tmp_path / "outbox")
    yield outbox
    outbox.close()


def keys(there: Receiver) -> Sequence[str]:
    return [got.headers["webhook-id"] for got in there.got]


def test_what_is_delivered_is_verified_by_the_library(outbox: Outbox, tmp_path: Path) -> None:
    """A receiver that uses the Standard Webhooks library accepts the message as it came."""
    put(outbox, incident())
    with receiver() as there, notifying(outbox, tmp_path, there.url):
        got = there.wait_for(1)[0]
    found = Webhook(KEY).verify(got.body, dict(got.headers))
    assert ("incident.opened", "1f0c") == (found["type"], found["data"]["incident"]["id"])


def test_trouble_is_tried_again_with_the_same_key_and_a_new_signature(outbox: Outbox, tmp_path: Path) -> None:
    """503, then taken: one message by its key, signed for each attempt."""
    put(outbox, incident())
    with receiver(Answer(503)) as there, notifying(outbox, tmp_path, there.url) as notifier:
        first, second = there.wait_for(2)
        until(lambda: outbox.states(["webhook"])[0].waiting == 0 and notifier.states()[0].trouble is None)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    Webhook(KEY).verify(second.body, dict(second.headers))
    assert (1, 1) == (outbox.counts["webhook", "failed"], outbox.counts["webhook", "delivered"])


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(form: str, outbox: Outbox, tmp_path: Path) -> None:
    """The next attempt comes no earlier than the receiver asked for."""
    put(outbox, incident())
    times: list[float] = []
    with receiver() as there:

        def answer(_: object) -> Answer:
            times.append(time.time())
            after = "2" if form == "seconds" else formatdate(time.time() + 3, usegmt=True)
            return Answer(429, {"Retry-After": after}) if len(times) == 1 else Answer()

        there.answer = answer
        with notifying(outbox, tmp_path, there.url):
            there.wait_for(2)
    assert times[1] - times[0] >= 1.9


def test_retry_after_is_honoured_after_a_restart(outbox: Outbox, tmp_path: Path) -> None:
    """Whoever asked to be left alone is left alone, also by the process that comes after."""
    put(outbox, incident())
    times: list[float] = []
    with receiver() as there:

        def answer(_: object) -> Answer:
            times.append(time.time())
            return Answer(503, {"Retry-After": "2"}) if len(times) == 1 else Answer()

        there.answer = answer
        with notifying(outbox, tmp_path, there.url):
            until(lambda: outbox.counts["webhook", "failed"] == 1)
        assert 1.0 < outbox.rest_s("webhook") <= 2.2
        again = Outbox(tmp_path / "outbox")
        with notifying(again, tmp_path, there.url):
            there.wait_for(2)
        again.close()
    assert times[1] - times[0] >= 1.9


def test_a_clock_that_was_set_back_does_not_silence_a_target(outbox: Outbox, tmp_path: Path) -> None:
    """A rest that seems to last for a year is one of five minutes and the jitter."""
    put(outbox, incident())
    found = outbox.next("webhook")
    assert found is not None
    outbox.failed(found[0], "later", dead=False, rest_s=365 * 86_400)
    assert pytest.approx(330) == outbox.rest_s("webhook")


def test_one_that_always_fails_holds_up_only_its_own_incident(outbox: Outbox, tmp_path: Path) -> None:
    """Notices of other incidents go on; the later one of the same incident waits for its turn."""
    put(outbox, incident("poison"), incident("a"), incident("b"))
    put(outbox, closed("poison"), change=Change.RESOLVED)
    with receiver() as there:
        there.answer = lambda got: Answer(500) if b'"id":"poison"' in got.body else Answer()
        with notifying(outbox, tmp_path, there.url):
            until(lambda: outbox.counts["webhook", "delivered"] == 2)
        assert not any(b"incident.resolved" in got.body for got in there.got)
    assert 2 == outbox.states(["webhook"])[0].waiting


def test_an_old_notice_is_given_up(outbox: Outbox, tmp_path: Path) -> None:
    """After its time a notice that failed again is a dead letter, which can be sent once more."""
    put(outbox, incident())
    with receiver(Answer(503)) as there, notifying(outbox, tmp_path, there.url, give_up_s=0.001):
        until(lambda: outbox.states(["webhook"])[0].dead == 1)
        assert 1 == outbox.resend(target="webhook")
        until(lambda: outbox.counts["webhook", "delivered"] == 1)
    assert 1 == len(set(keys(there)))


def test_a_refused_notice_is_a_dead_letter_and_the_next_one_is_sent(outbox: Outbox, tmp_path: Path) -> None:
    """It is kept with its reason."""
    put(outbox, incident("a"), incident("b"))
    with receiver(Answer(422, body=b"no such\nchannel")) as there, notifying(outbox, tmp_path, there.url):
        until(lambda: outbox.counts["webhook", "delivered"] == 1)
    letters = outbox.find(WantedDeliveries(state=DeliveryState.DEAD))
    assert [("a", "HTTP status 422: no such channel", 1)] == [(e.incident, e.reason, e.attempts) for e in letters]


def test_what_one_body_is_refused_for_keeps_back_no_other(outbox: Outbox, tmp_path: Path) -> None:
    """An OTLP backend that rejects a record gets the span all the same, once; the rejection is a dead letter."""
    rejected = ExportLogsServiceResponse()
    rejected.partial_success.rejected_log_records = 1
    outbox.put([Put(target="otlp", notice=told(), mark="a")])
    with receiver(Answer(200, body=rejected.SerializeToString()), always=Answer(200)) as there:
        notifier = Notifier(outbox, [target("otlp", tmp_path, there.url)], lambda: 0.5)
        notifier.start()
        until(lambda: outbox.counts["otlp", "dead"] == 1)
        notifier.stop()
        assert ["/v1/logs", "/v1/traces"] == [got.path for got in there.got]


def test_a_target_sends_no_more_in_a_minute_than_it_may(outbox: Outbox, tmp_path: Path) -> None:
    """The rest waits; nothing is lost."""
    put(outbox, *[incident(f"i{number}") for number in range(6)])
    with receiver() as there, notifying(outbox, tmp_path, there.url, per_minute=4):
        there.wait_for(4)
        with pytest.raises(AssertionError, match="only 4 came"):
            there.wait_for(5, patience_s=1.0)
    assert 2 == outbox.states(["webhook"])[0].waiting
    assert outbox.counts["webhook", "held_back"] >= 1


def test_a_slow_target_holds_up_no_other(outbox: Outbox, tmp_path: Path) -> None:
    """Each target has its own line."""
    gate = threading.Event()
    with receiver(always=Answer(wait=gate)) as slow, receiver() as quick:
        targets = [target("webhook", tmp_path, slow.url), target("alertmanager", tmp_path, quick.url)]
        outbox.put([Put(target=each.name, notice=told(), mark="m") for each in targets])
        notifier = Notifier(outbox, targets)
        notifier.start()
        slow.wait_for(1)
        quick.wait_for(1)
        gate.set()
        notifier.stop()


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError(f"no body, {KEY}"), "no body, …"), (KeyError(KEY), "KeyError")]
)
def test_a_notice_that_cannot_be_told_is_a_dead_letter(
    error: Exception, reason: str, outbox: Outbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever an exporter raises, the line goes on, and a secret in it is not told."""

    def broken(notice: Notice, attempt: Attempt) -> Sequence[HttpRequest]:
        raise error

    put(outbox, incident())
    notifier = Notifier(outbox, [replace(target("webhook", tmp_path, "http://127.0.0.1:1"), requests=broken)])
    notifier.start()
    until(lambda: outbox.states(["webhook"])[0].dead == 1)
    notifier.stop()
    assert reason in outbox.find(WantedDeliveries())[0].reason
    assert KEY not in caplog.text


def test_a_secret_that_is_gone_is_waited_for(outbox: Outbox, tmp_path: Path) -> None:
    """A file that is being exchanged makes trouble, not a dead letter; the new secret signs."""
    put(outbox, incident())
    other = "whsec_" + "b" * 40
    with receiver() as there:
        to = target("webhook", tmp_path, there.url)
        (tmp_path / "webhook.secret").unlink()
        notifier = Notifier(outbox, [to], lambda: 0.0)
        notifier.start()
        until(lambda: "cannot be read" in (notifier.states()[0].trouble or ""))
        (tmp_path / "webhook.secret").write_text(f"{other}\n{KEY}\n")
        got = there.wait_for(1)[0]
        notifier.stop()
    for secret in (other, KEY):
        Webhook(secret).verify(got.body, dict(got.headers))


def test_a_process_killed_while_it_delivers_loses_nothing(outbox: Outbox, tmp_path: Path) -> None:
    """kill -9 in mid-attempt: every notice arrives, none with another key than it was put with."""
    put(outbox, *[incident(f"i{number}") for number in range(12)])
    expected = {each.notice_id for each in outbox.find(WantedDeliveries())}
    with receiver() as there:
        for taken in (4, 12):
            command = [sys.executable, "-c", SENDER, str(tmp_path), there.url, KEY]
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
            ) as process:
                until(lambda taken=taken: len(set(keys(there))) >= taken)  # type: ignore[misc]
                if taken == 12:
                    until(lambda: outbox.states(["webhook"])[0].waiting == 0)
                os.kill(process.pid, signal.SIGKILL)
    assert expected == set(keys(there))


def test_a_hundred_thousand_notices_and_a_dead_endpoint(tmp_path: Path) -> None:
    """Memory and disk stay bounded, and all within the declared bound is delivered when the endpoint is back."""
    bound, many, port = 300, 100_000, free_port()
    outbox, first_one = Outbox(tmp_path / "outbox", Bounds(notices=bound)), told(of=incident(diagnosis=None))
    with notifying(outbox, tmp_path, f"http://127.0.0.1:{port}", per_minute=60_000):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for first in range(0, many, 1_000):
            outbox.put([put_of(number, first_one) for number in range(first, first + 1_000)])
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        disk = sum(path.stat().st_size for path in (tmp_path / "outbox").iterdir())
        kept = outbox.states(["webhook"])[0]
        with receiver(port=port) as there:
            until(lambda: outbox.states(["webhook"])[0].waiting == 0)
            arrived = set(keys(there))
    counts = outbox.counts
    outbox.close()
    assert (bound, bound) == (kept.waiting, kept.dead)
    assert many == counts["webhook", "queued"]
    assert many == counts["webhook", "delivered"] + kept.dead + counts["webhook", "discarded"]
    assert bound == len(arrived)
    assert grown < 64 << 10, f"{grown} KiB more"
    assert disk < 16 << 20, f"{disk} bytes"
