"""Likelihood ratios learnt from answers: they follow the counts, are drawn where incidents are few, lower the loss."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
import yaml

from benchmarks.calibrate import DRAWN, MOST, counted, incidents, learnt, loss, main, reweighed
from benchmarks.corpus import NONE, Seen, Told, answered
from correlator.wiring import calibration, judgement
from hypotheses._registry import all_hypotheses
from tests.hypotheses.test_engine import cause_of

CAUSE, RIVAL = "retrieval_slow", "rerank_slow"
PREDICTIONS = {h.id: tuple(p.id for p in h.predictions) for h in all_hypotheses()}


def answer(right: str, held: Sequence[str]) -> Seen:
    """An answer on two causes, of which the predictions of those in `held` held and the others' failed."""
    findings = {
        name: Told(
            "supported" if name in held else "refuted",
            0.0,
            None,
            0.9 if name in held else None,
            dict.fromkeys(PREDICTIONS[name], "held" if name in held else "failed"),
        )
        for name in (CAUSE, RIVAL)
    }
    findings[NONE] = Told("inconclusive", 0.0, None, None, {})
    return Seen(right, 0, "recorded", 1.0, "given", (right,), True, findings)


RIGHT = [answer(CAUSE, [CAUSE]), answer(RIVAL, [RIVAL])]
FIRST = f"{CAUSE}.{PREDICTIONS[CAUSE][0]}"


def drawn(answers: Iterable[Seen], count: int) -> list[Seen]:
    """The same answers to as many draws of each incident."""
    return [replace(one, seed=seed) for one in answers for seed in range(count)]


def patterned(answers: Iterable[Seen], count: int) -> list[Seen]:
    """The same answers to one draw of each incident, of which as many patterns were seen."""
    return [replace(one, pattern=f"pattern {i}") for one in answers for i in range(count)]


def written(path: Path, answers: Iterable[Seen]) -> Path:
    """A corpus of these answers."""
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in answers), encoding="utf-8")
    return path


def called(monkeypatch: pytest.MonkeyPatch, *arguments: Path | str) -> None:
    """The command with these arguments."""
    monkeypatch.setattr(sys, "argv", ["calibrate", *map(str, arguments)])
    main()


def test_outcomes_are_counted_where_the_claim_is_true_and_where_it_is_not() -> None:
    """Each prediction of each cause, by what was at work."""
    counts = counted(drawn(RIGHT, 3))
    assert ({"held": 3}, {"failed": 3}) == (counts[FIRST, True], counts[FIRST, False])


def test_an_incident_counts_once_however_often_it_was_diagnosed() -> None:
    """Of three diagnoses of one incident each is a third of what is counted there."""
    missed = replace(answer(CAUSE, []), pattern="pattern 3")
    counts = counted([*patterned(RIGHT, 2), missed])
    assert pytest.approx({"held": 2 / 3, "failed": 1 / 3}) == counts[FIRST, True]
    assert pytest.approx({"failed": 1}) == counts[FIRST, False]


def test_incidents_are_counted_where_a_claim_is_true_and_where_one_is_not() -> None:
    """By fault and seed: two faults, five seeds each, are ten, of which five have this cause."""
    seen = [*patterned(drawn(RIGHT, 5), 2), *(replace(one, world="faster") for one in drawn(RIGHT, 5))]
    assert (5, 5, 10) == (
        incidents(seen, [FIRST], True),
        incidents(seen, [FIRST], False),
        incidents(seen, [FIRST, f"{RIVAL}.{PREDICTIONS[RIVAL][0]}"], True),
    )


def test_a_prediction_that_tells_apart_gets_a_large_ratio() -> None:
    """What held only where the claim was true speaks for it, within the bound; what failed only elsewhere against."""
    found = learnt(drawn(RIGHT, 40), judgement(), "a test")
    ratios = found.predictions[FIRST]
    assert 10 < ratios.held <= MOST
    assert 1 / MOST <= ratios.failed < 0.1


def test_few_incidents_move_little() -> None:
    """One incident leaves a ratio nearer to the judgement than forty do."""
    one, forty = (learnt(drawn(RIGHT, count), judgement(), "").predictions[FIRST] for count in (1, 4 * int(DRAWN)))
    assert judgement().necessary.held < one.held < forty.held


def test_one_incident_seen_in_many_ways_moves_as_little_as_one() -> None:
    """Forty diagnoses of one incident teach what one of them does, each prediction and all of a kind together."""
    one, many = (learnt(patterned(RIGHT, count), judgement(), "") for count in (1, 4 * int(DRAWN)))
    assert [one.predictions, one.necessary, one.separating] == [many.predictions, many.necessary, many.separating]
    assert many.necessary != learnt(drawn(RIGHT, 4 * int(DRAWN)), judgement(), "").necessary


def test_what_was_learnt_fits_what_it_was_learnt_from() -> None:
    """The loss of the learnt ratios is below that of the judgement."""
    seen = drawn([*RIGHT, answer(NONE, [])], 20)
    assert loss(seen, learnt(seen, judgement(), "")) < loss(seen, judgement())


def test_answers_are_weighed_anew() -> None:
    """Probabilities of the whole answer add up to one, and none comes from the corpus."""
    (one,) = reweighed([RIGHT[0]], judgement())
    assert pytest.approx(1.0) == sum(told.probability for told in one.findings.values())
    assert one.findings[CAUSE].probability > 0.5 > one.findings[RIVAL].probability


def test_a_corpus_becomes_a_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command writes what it learnt, and from how much; a diagnosis that two files hold is one."""
    seen = patterned(drawn(RIGHT, 3), 2)
    called(monkeypatch, written(tmp_path / "one", seen), written(tmp_path / "two", seen[:3]))
    told = yaml.safe_load(capsys.readouterr().out)
    assert "python -m benchmarks.calibrate, 12 diagnoses of 6 incidents, 2 simulated faults" == told["source"]
    assert FIRST in told["predictions"]


CRASHED = replace(RIGHT[0], findings={}, error="OSError()")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(None, "no such file: ", id="missing"),
        pytest.param("", "expected at least one diagnosis", id="empty"),
        pytest.param(json.dumps(asdict(CRASHED)) + "\n", "expected at least one diagnosis", id="only crashes"),
        pytest.param("{}\n", "corpus.jsonl:1: not a diagnosis", id="other JSON"),
        pytest.param(json.dumps(asdict(CRASHED))[:-9], "corpus.jsonl:1: not a diagnosis", id="cut short"),
    ],
)
def test_nothing_to_learn_from_is_an_error(
    content: str | None,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a diagnosis the command ends with 2, says why, and writes no calibration."""
    path = tmp_path / "corpus.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        called(monkeypatch, path)
    out, error = capsys.readouterr()
    assert (2, "") == (ended.value.code, out)
    assert told in error.replace("\n", "")


def test_no_corpus_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command wants to be told what to learn from."""
    with pytest.raises(SystemExit) as ended:
        called(monkeypatch)
    assert (2, "") == (ended.value.code, capsys.readouterr().out)


@pytest.mark.parametrize("id", ["input_token_inflation", "telemetry_artifact"])
def test_weighed_anew_by_the_same_calibration_nothing_changes(id: str) -> None:
    """A corpus holds all that probabilities are made of, also what is doubted because the telemetry is."""
    made = partial(Seen, id, 0, "recorded", 1.0, "given", (id,))
    one = answered(made, cause_of(id))
    (again,) = reweighed([one], calibration())
    said, now = ({name: told.probability for name, told in seen.findings.items()} for seen in (one, again))
    assert pytest.approx(said) == now
