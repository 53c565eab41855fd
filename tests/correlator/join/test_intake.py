"""What collectors tell of themselves: when they were there, what they refused; silence is not zero."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pytest

from collector.pulse import Key, beat
from correlator.join.build import build
from correlator.join.intake import Intake, read_intake
from correlator.model import names as n
from correlator.model import pulse
from correlator.model.evidence import Coverage, Window, Windows, with_windows
from correlator.model.records import Batch, Signal
from correlator.store import Store
from correlator.store.refusals import tell_refused
from tests.correlator.join.telemetry import T0 as ONSET
from tests.correlator.join.telemetry import at, request, traces
from tests.correlator.store.support import emptied

SECOND = 1_000_000_000
BEFORE, AFTER = Window(ONSET - 300 * SECOND, ONSET), Window(ONSET, ONSET + 300 * SECOND)
WINDOWS = Windows(BEFORE, AFTER, given=True)
LATER = AFTER.end + 3_600 * SECOND
EVERY = 10


def beats(
    first: int, last: int, without: tuple[int, int] = (0, 0), who: str = "a", grown: Mapping[Key, int] | None = None
) -> Iterator[Batch]:
    """A beat every ten seconds, in seconds from the onset, but for a stretch of silence."""
    resource = {"service.name": pulse.COLLECTOR, "service.instance.id": who}
    for second in range(first, last, EVERY):
        if not without[0] < second < without[1]:
            payload = beat(resource, grown or {}, at(second - EVERY), at(second))
            yield Batch(Signal.METRICS, payload)


@pytest.fixture(autouse=True)
def _nothing_from_before(store: Store) -> None:
    emptied(store)


def intake(store: Store, *sent: Iterable[Batch], now: int = LATER) -> Intake:
    for batches in sent:
        store.load(batches)
    return read_intake(store, WINDOWS, now)


def seconds(found: Intake) -> list[tuple[float, float]]:
    return [((o.start - ONSET) / SECOND, (o.end - ONSET) / SECOND) for o in found.outages]


def test_beats_without_a_gap_make_losses_known(store: Store) -> None:
    """Where a collector was there all the time, no refusals told means none."""
    assert Intake(known=True) == intake(store, beats(-400, 400))


def test_a_store_without_beats_knows_nothing(store: Store) -> None:
    """A database that others fill has no beats: nothing is known of losses, and nothing is an outage."""
    assert Intake() == intake(store)


def test_before_its_first_beat_nothing_is_known(store: Store) -> None:
    """A collector that was set up during the baseline says nothing of the time before, which is no outage either."""
    assert Intake() == intake(store, beats(-100, 400))


@pytest.mark.parametrize(
    ("silence", "expected"),
    [
        ((100, 120), []),
        ((100, 200), [(100, 200)]),
        ((-400, -200), [(-300, -200)]),
        ((-50, 50), [(-50, 50)]),
        ((250, 1_000), [(250, 300)]),
    ],
    ids=["a late beat", "in the incident", "from before the baseline", "around the onset", "until after the end"],
)
def test_silence_is_an_outage(store: Store, silence: tuple[int, int], expected: list[tuple[float, float]]) -> None:
    """Longer than half a minute without a beat: a stretch of which nobody knows, in problems and in words."""
    found = intake(store, beats(-500, 1_200, without=silence))
    assert expected == seconds(found)
    assert (not expected) == found.known
    assert len(expected) == found.problems.get("collector_down", 0)
    assert len(expected) == sum("the collector was down from 20" in message for message in found.messages)


def test_one_that_never_came_back_is_down_until_now(store: Store) -> None:
    """The stretch after the last beat counts, up to what could be loaded by now and no further."""
    found = intake(store, beats(-400, 110), now=at(200))
    assert [(100, 185)] == seconds(found)
    assert [] == seconds(intake(store, now=at(140)))


def test_a_beat_that_is_not_loaded_yet_is_no_outage(store: Store) -> None:
    """A window that ends now ends before the beats that are still on their way."""
    found = intake(store, beats(-400, 280), now=at(295))
    assert Intake(known=True) == found


def test_one_of_several_that_was_gone_is_seen(store: Store) -> None:
    """Another collector's beats do not hide it; one taken away for good is no outage while others are there."""
    found = intake(store, beats(-400, 400), beats(-400, 400, without=(50, 150), who="b"), beats(-400, -100, who="c"))
    assert [(50, 150)] == seconds(found)


def refusals(reason: str, final: bool, count: int = 1) -> Mapping[Key, int]:
    signal = ("signal", "traces")
    labels = (signal, ("reason", reason), ("final", str(final).lower()))
    return {(pulse.ACCEPTED, (signal,)): 9, (pulse.RECORDS, (signal,)): 900, (pulse.REFUSED, labels): count}


def test_what_was_refused_is_told_in_records(store: Store) -> None:
    """A request of unknown content counts as many records as requests of its signal have in the mean."""
    found = intake(store, beats(-400, -300), beats(-300, 300, grown=refusals("malformed", True)), beats(300, 400))
    assert {"rejected": 60 * 100} == found.problems
    assert ("traces: 60 requests were refused by the collector (malformed)",) == found.messages
    assert found.known


def test_what_may_come_again_is_not_lost(store: Store) -> None:
    """Refused for a time is told, but apart from what was refused for good."""
    found = intake(store, beats(-400, 400, grown=refusals("full", False)))
    assert {"refused": 60 * 100} == found.problems
    assert "their senders may have sent them again" in found.messages[0]


def test_what_could_not_be_loaded_is_told(store: Store) -> None:
    """The loader's quarantine lowers confidence, too."""
    store.load(beats(-400, 400))
    tell_refused(store, Signal.LOGS, 3, at(10))
    found = read_intake(store, WINDOWS, LATER)
    assert {"rejected": 3} == found.problems
    assert ("logs: 3 requests could not be loaded and are in quarantine",) == found.messages


def test_refusals_are_a_share_of_what_was_asked(store: Store) -> None:
    """One of ten requests in the incident, none before."""
    quiet = {key: count for key, count in refusals("full", False).items() if key[0] != pulse.REFUSED}
    store.load(beats(-400, 0, grown=quiet))
    store.load(beats(0, 400, grown=refusals("full", False)))
    series = build(store, within=WINDOWS).evidence.series
    share = series.set_index("start")[n.TELEMETRY_REFUSED.name].dropna()
    assert {0.0} == set(share[share.index < ONSET - 10 * SECOND])
    assert {0.1} == set(share[share.index >= ONSET])


def test_arrivals_in_an_outage_are_unknown_not_zero(store: Store) -> None:
    """With requests before and after it, a stretch without a collector has no arrival rate; a quiet one has zero."""
    asked = [s for t in [*range(-290, 100, 5), *range(200, 250, 5)] for s in request(f"t{t}", t, 0.5)]
    store.load([traces(asked)])
    store.load(beats(-400, 400, without=(100, 200)))
    evidence = build(store, within=WINDOWS).evidence
    rates = evidence.series.set_index("start")[n.ARRIVAL_RATE.name]
    assert rates[(rates.index >= at(100)) & (rates.index < at(200))].isna().all()
    assert 0.2 == rates[rates.index >= at(205)].iloc[0]
    assert not evidence.coverage.losses_known


def test_without_a_collector_nothing_was_watched(store: Store) -> None:
    """That nothing was seen to happen in an incident with an outage rules nothing out."""
    extents = {"engine_log": Window(BEFORE.start, AFTER.end)}
    seen = Coverage(extents=extents, outages=(Window(at(-100), at(-50)),))
    store.load([traces([s for t in range(-290, 290, 5) for s in request(f"t{t}", t, 0.5)])])
    evidence = build(store, within=WINDOWS).evidence
    before = with_windows(replace(evidence, coverage=seen), WINDOWS)
    during = with_windows(replace(evidence, coverage=replace(seen, outages=(Window(at(50), at(100)),))), WINDOWS)
    assert frozenset({"engine_log"}) == before.coverage.watched
    assert frozenset() == during.coverage.watched
