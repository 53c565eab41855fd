"""What outcomes weigh, learnt from answers: it follows them, is drawn to the judgement, lowers the loss."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
import yaml

from benchmarks.calibrate import NUMBERS, learnt, main
from benchmarks.corpus import NONE, Seen, Told, answered
from benchmarks.reweigh import reweighed
from benchmarks.scores import log_loss
from correlator.model.findings import Verdict
from correlator.wiring import calibration, judgement
from hypotheses._probability import Calibration
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
MISLED = [answer(CAUSE, [RIVAL]), answer(RIVAL, [CAUSE])]


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


def loss(seen: Sequence[Seen], weighed: Calibration) -> float:
    """What these probabilities cost."""
    return log_loss(reweighed(seen, weighed))


def learnt_of(seen: Sequence[Seen]) -> float:
    """What a supported verdict weighs after these."""
    return learnt(seen, judgement(), "a test").verdict_weight[Verdict.SUPPORTED]


JUDGED = judgement().verdict_weight[Verdict.SUPPORTED]


def test_a_verdict_that_tells_the_truth_weighs_more_than_was_judged() -> None:
    """Where what was supported was right and the other was not, more is made of it."""
    assert learnt_of(drawn(RIGHT, 40)) > JUDGED


def test_a_verdict_that_misleads_weighs_less() -> None:
    """Where what was supported was wrong, less is made of it."""
    assert learnt_of(drawn(MISLED, 40)) < JUDGED


def test_what_was_never_seen_stays_as_judged() -> None:
    """No cause was a mechanism: its number does not move, nor do those that are not learnt."""
    found, judged = learnt(drawn(RIGHT, 10), judgement(), "a test").model_dump(), judgement().model_dump()
    found["verdict_weight"] |= {Verdict.SUPPORTED: JUDGED}
    assert judged | {"source": "a test"} == found


def test_a_fault_drawn_often_says_no_more_than_another() -> None:
    """Of the one fault thirty incidents and of the other ten: they weigh as twenty of each do."""
    many = [*drawn(RIGHT[:1], 30), *drawn(MISLED[1:], 10)]
    assert pytest.approx(learnt_of([*drawn(RIGHT[:1], 20), *drawn(MISLED[1:], 20)]), rel=0.01) == learnt_of(many)


def test_few_incidents_move_little() -> None:
    """One incident leaves the number nearer to the judgement than forty do."""
    one, forty = (learnt_of(drawn(RIGHT, count)) for count in (1, 40))
    assert JUDGED < one < forty


def test_one_incident_seen_in_many_ways_moves_as_little_as_one() -> None:
    """Forty diagnoses of one incident teach what one of them does."""
    assert pytest.approx(learnt_of(RIGHT), rel=0.01) == learnt_of(patterned(RIGHT, 40))


def test_what_was_learnt_fits_what_it_was_learnt_from() -> None:
    """The loss with the learnt numbers is below that of the judgement."""
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
    assert {"source", *dict(NUMBERS)} == set(told)
    assert told["source"] == Calibration.model_validate(judgement().model_dump() | told).source


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
