"""Alerts and the watcher: what they tell, which incidents they open, continue and end, and when these began."""

from dataclasses import replace

import pandas as pd
import pytest

from correlator.model.alerts import Alert, Outcome
from correlator.model.errors import InputError
from correlator.model.evidence import Evidence, Kind
from correlator.model.incidents import ENGINE, Incident, State
from correlator.watch.alerts import AlertSettings, Rule, kind_of
from correlator.watch.decide import ALERTS, OPEN_LIMIT
from correlator.watch.loop import take, tick
from correlator.watch.settings import Change, WatchSettings
from tests.correlator.join.synthetic import service, slower
from tests.correlator.join.telemetry import at
from tests.correlator.watch.world import SETTINGS, World

NOTHING = Evidence(requests=pd.DataFrame(), series=pd.DataFrame())
ALONE = SETTINGS.model_copy(update={"change": Change(enabled=False, window_s=120, baseline_s=600)})


def alert(
    name: str = "ChatLatencyHigh",
    starts: float = 1000,
    ends: float | None = None,
    fingerprint: str = "f",
    **labels: str,
) -> Alert:
    over = None if ends is None else at(ends)
    told = {"tollens_where": "rag"} | labels
    return Alert(name=name, fingerprint=fingerprint, starts=at(starts), ends=over, labels=told)


def world(evidence: Evidence = NOTHING, settings: WatchSettings = ALONE) -> World:
    return World(evidence, settings=settings)


def tell(world: World, second: float, *alerts: Alert) -> list[tuple[Outcome, str | None]]:
    return [(taken.outcome, taken.incident) for taken in take(world.watcher, alerts, at(second))]


def only(world: World) -> Incident:
    (incident,) = world.incidents
    return incident


def opened(*alerts: Alert) -> World:
    watched = world()
    tell(watched, 1010, *(alerts or (alert(),)))
    return watched


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("HighRequestLatency", Kind.LATENCY),
        ("VLLMTimeToFirstTokenSlow", Kind.LATENCY),
        ("LatencyErrorBudgetBurn", Kind.LATENCY),
        ("api_5xx_ratio", Kind.ERRORS),
        ("TooManyFailures", Kind.ERRORS),
        ("ChatDown", Kind.AVAILABILITY),
        ("LowThroughput", Kind.THROUGHPUT),
        ("AnswersTruncated", Kind.QUALITY),
        ("ErrorBudgetBurn", None),
        ("DownloadQueue", None),
        ("KubePodCrashLooping", None),
    ],
)
def test_words_of_a_name_tell_the_kind(name: str, kind: Kind | None) -> None:
    """Names as they are usual; one that says nothing of the kind is not guessed at."""
    assert kind is kind_of(Alert(name=name, fingerprint="f", starts=0), ())


def test_a_label_comes_before_rules_and_rules_before_words() -> None:
    """The first rule counts whose labels match as a whole; an unknown kind in the label is no kind."""
    rules = (Rule(labels={"alertname": "Chat.*", "team": "rag"}, symptom=Kind.ERRORS),)
    assert Kind.ERRORS is kind_of(alert(alertname="ChatLatencyHigh", team="rag"), rules)
    assert Kind.LATENCY is kind_of(alert(alertname="ChatLatencyHigh", team="rag2"), rules)
    assert Kind.QUALITY is kind_of(alert(alertname="ChatX", team="rag", tollens_symptom="quality"), rules)
    assert Kind.LATENCY is kind_of(alert(tollens_symptom="slowness"), ())


def test_a_rule_that_is_no_expression_is_refused() -> None:
    """Settings are judged when they are read, not when an alert comes."""
    with pytest.raises(ValueError, match="regular expression"):
        AlertSettings.model_validate({"symptoms": [{"labels": {"alertname": "("}, "symptom": "latency"}]})


def test_an_alert_opens_an_incident_and_ends_it() -> None:
    """Kind and place of the alert, open from its start to its end; told again in between it stays one."""
    watched = world()
    ((outcome, id_),) = tell(watched, 1010, alert())
    assert (Outcome.OPENED, only(watched).id) == (outcome, id_)
    assert [(Outcome.UPDATED, id_)] == tell(watched, 1070, alert())
    incident = only(watched)
    assert ("alert:ChatLatencyHigh", Kind.LATENCY, "rag", at(1000), State.OPEN) == (
        incident.detector,
        incident.kind,
        incident.where,
        incident.onset,
        incident.state,
    )
    assert incident.baseline.end == at(400)
    assert [(Outcome.RESOLVED, id_)] == tell(watched, 1300, alert(ends=1290))
    assert (State.CLOSED, at(1290), ()) == (only(watched).state, only(watched).closed, only(watched).alerts)
    assert [(Outcome.UNKNOWN, None)] == tell(watched, 1310, alert(ends=1290))


def test_several_alerts_of_one_kind_and_place_are_one_incident_that_ends_with_the_last() -> None:
    """Two pods fire, one recovers: it is not over."""
    watched = opened(alert(fingerprint="a"), alert(fingerprint="b", name="OtherLatency"))
    assert ("a", "b") == only(watched).alerts
    tell(watched, 1100, alert(fingerprint="a", ends=1090))
    assert (State.OPEN, ("b",)) == (only(watched).state, only(watched).alerts)
    tell(watched, 1200, alert(fingerprint="b", ends=1190))
    assert State.CLOSED is only(watched).state


def test_an_alert_is_part_of_what_the_watcher_saw_first_and_does_not_end_it() -> None:
    """The watcher's own incident goes on until the watcher has seen it well."""
    slow = service(seconds=1800, rate=3, memory=0.3, fault=slower(3, 900, 1800))
    watched = world(slow, SETTINGS.model_copy(update={"change": Change(window_s=120, baseline_s=600)}))
    watched.run(930, 1110)
    first = only(watched)
    assert [(Outcome.UPDATED, first.id)] == tell(watched, 1120, alert(starts=1100))
    tell(watched, 1150, alert(starts=1100, ends=1140))
    assert ("change", State.OPEN, ()) == (only(watched).detector, only(watched).state, only(watched).alerts)


def test_while_an_alert_fires_health_elsewhere_does_not_end_its_incident() -> None:
    """Telemetry shows a healthy service: the incident stays until the alert ends, or is not told for long."""
    watched = world(service(seconds=3600, rate=3), ALONE.model_copy(update={"abandon_after_s": 2000.0}))
    tell(watched, 1010, alert())
    watched.run(1030, 2400)
    assert State.OPEN is only(watched).state
    watched.run(2400, 3200)
    assert (State.CLOSED, "given up: its alert was not told again") == (only(watched).state, only(watched).note)


def test_the_echo_of_an_incident_that_its_alert_ended_is_not_news() -> None:
    """The latest window still holds what was bad when the alert ended; what goes on beyond it opens another."""
    slow = service(seconds=2400, rate=3, memory=0.3, fault=slower(3, 1040, 2400))
    watched = world(slow, SETTINGS.model_copy(update={"change": Change(window_s=120, baseline_s=600)}))
    tell(watched, 1060, alert(starts=1050))
    tell(watched, 1100, alert(starts=1050, ends=1095))
    watched.run(1110, 1200)
    assert [State.CLOSED] == [incident.state for incident in watched.incidents]
    watched.run(1230, 1300)
    assert {State.CLOSED, State.OPEN} == {incident.state for incident in watched.incidents}


def test_an_alert_that_comes_back_while_it_overlaps_is_the_same_incident() -> None:
    """Another alert of the same that began before the end opens it again."""
    watched = opened()
    tell(watched, 1300, alert(ends=1290))
    tell(watched, 1310, alert(fingerprint="g", starts=1200))
    states = {incident.state for incident in watched.incidents}
    assert {State.OPEN, State.MERGED} == states


def test_alerts_about_tollens_open_nothing() -> None:
    """What it sends to Alertmanager, or rules say about it, would open incidents about themselves."""
    watched = world()
    assert [(Outcome.OWN, None)] * 2 == tell(watched, 1010, alert("TollensIncident"), alert("TollensDown", ends=1000))
    assert [] == watched.incidents


def test_a_flood_of_alerts_is_bounded_and_refused_aloud() -> None:
    """Further incidents find no room; further alerts of one incident are part of it."""
    watched = world()
    many = [alert(fingerprint=f"f{k}", tollens_where=f"s{k}") for k in range(OPEN_LIMIT + 5)]
    assert 5 == [outcome for outcome, _ in tell(watched, 1010, *many)].count(Outcome.REFUSED)
    assert (5, OPEN_LIMIT) == (watched.counts["alerts_refused"], len(watched.incidents))
    same = opened(*(alert(fingerprint=f"f{k}") for k in range(ALERTS + 5)))
    assert ALERTS == len(only(same).alerts)


def test_labels_that_name_nobody_mean_the_whole_system() -> None:
    """Where no label leads to a service, all requests are looked at."""
    watched = world()
    tell(watched, 1010, replace(alert(), labels={"pod": "vllm-0"}))
    assert ENGINE == only(watched).where


def test_a_diagnosis_begins_where_the_signal_changed_and_not_where_the_alert_fired() -> None:
    """The alert came four minutes late and told no kind: onset and kind are those of the telemetry."""
    watched = world(service(seconds=1800, rate=3, memory=0.3, fault=slower(3, 900, 1800)))
    tell(watched, 1150, alert("SomethingIsWrong", starts=1140))
    assert only(watched).kind is None
    tick(watched.watcher, at(1150))
    incident = only(watched)
    assert (Kind.LATENCY, True) == (incident.kind, abs(incident.onset - at(900)) <= 20e9)
    windows, kind, where = watched.asked[-1]
    assert (Kind.LATENCY, "rag", incident.onset, incident.onset) == (
        kind,
        where,
        windows.baseline.end,
        windows.incident.start,
    )


def test_where_nothing_was_heard_the_incident_says_so_and_it_is_tried_again() -> None:
    """A diagnosis that is not possible is no silence; when telemetry comes it is made."""
    watched = world(service(seconds=1300, rate=3))
    tell(watched, 1010, replace(alert(), labels={"tollens_where": "nobody"}))
    tick(watched.watcher, at(1020))
    assert "no requests of service 'nobody'" in only(watched).failure
    other = world(service(seconds=1300, rate=3))
    other.answers = [InputError("the incident window holds no data"), *other.answers]
    tell(other, 1010, alert())
    tick(other.watcher, at(1020))
    assert "the incident window holds no data" == only(other).failure
    tick(other.watcher, at(1090))
    assert ("", True) == (only(other).failure, only(other).diagnosis is not None)


def test_what_ended_before_it_could_be_diagnosed_still_is_once() -> None:
    """A short alert deserves its answer."""
    watched = world(service(seconds=1300, rate=3))
    tell(watched, 1010, alert())
    tell(watched, 1015, alert(ends=1014))
    tick(watched.watcher, at(1030))
    assert (State.CLOSED, True) == (only(watched).state, only(watched).diagnosis is not None)
    tick(watched.watcher, at(1200))
    assert 1 == len(watched.asked)


def test_an_alert_during_a_diagnosis_is_not_forgotten() -> None:
    """Its end comes while the diagnosis is made: the incident is closed, and diagnosed."""
    watched = world(service(seconds=1300, rate=3))
    tell(watched, 1010, alert())
    answer = watched.watcher.diagnose

    def slow(*asked: object) -> object:
        tell(watched, 1040, alert(ends=1035))
        return answer(*asked)

    watched.watcher = replace(watched.watcher, diagnose=slow)
    tick(watched.watcher, at(1030))
    assert (State.CLOSED, True) == (only(watched).state, only(watched).diagnosis is not None)
