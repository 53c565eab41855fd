"""What must hold on recorded incidents: the true cause first, no innocent accused, silence where nothing happened."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from correlator.model.findings import Verdict
from correlator.wiring import Request, diagnose
from exporters.json_object import to_object
from hypotheses._registry import all_hypotheses
from tests import recorded
from tests.recorded import CAUSES, HEALTHY, INCIDENTS, answered

NONE = "none_of_these"
GIVEN = pytest.mark.parametrize("given", [True, False], ids=["windows given", "windows found"])
RESTARTED = {"cold_start", "recent_change"}
NOT_EXCLUDED = {"s03_kv_preemption": RESTARTED, "s17_prefix_off": RESTARTED}
"""Besides the cause: the engine was restarted between these windows, so a restart did happen there."""
LEFT_OUT = {
    "no traces": recorded.NO_TRACES,
    "no metrics": recorded.NO_METRICS,
    "engine log only": recorded.ENGINE_LOG,
}
REDUCED = pytest.mark.parametrize("files", LEFT_OUT.values(), ids=LEFT_OUT.keys())


def as_json(*paths: object) -> dict:
    """The JSON object of a diagnosis as the command prints it, without the time it took."""
    found = to_object(diagnose(Request(paths=[str(path) for path in paths])))
    return json.loads(json.dumps({**found, "elapsed_s": None}))


def test_the_recordings_are_found() -> None:
    """Five incidents of different causes and a healthy one, so that no rule below passes on nothing."""
    assert (5, 5, 1) == (len(INCIDENTS), len({CAUSES[c] for c in INCIDENTS}), len(HEALTHY))


@GIVEN
@pytest.mark.parametrize("capture", INCIDENTS)
def test_the_true_cause_is_first_and_supported(capture: str, given: bool) -> None:
    """The cause that was brought about is first, supported and at least 60 % probable."""
    assert answered(capture, given).accuses(CAUSES[capture])


@GIVEN
@pytest.mark.parametrize("capture", CAUSES)
def test_no_other_label_passes(capture: str, given: bool) -> None:
    """The check above fails for every label but the true one: it can tell causes apart."""
    labels = [hypothesis.id for hypothesis in all_hypotheses()]
    assert [c for c in [CAUSES[capture]] if c != "none"] == [c for c in labels if answered(capture, given).accuses(c)]


@GIVEN
@pytest.mark.parametrize("capture", INCIDENTS)
def test_the_onset_is_found(capture: str, given: bool) -> None:
    """The symptom is one of latency and began within two blocks of the recorded change."""
    symptom = answered(capture, given).evidence.symptom
    recorded_onset = recorded.true_windows(capture).incident.start
    assert symptom is not None
    assert "latency" == symptom.kind
    assert abs(symptom.onset - recorded_onset) <= 20e9


@GIVEN
@pytest.mark.parametrize("capture", INCIDENTS)
def test_impossible_causes_are_refuted_or_untestable(capture: str, given: bool) -> None:
    """A cause that was not brought about is refuted or untestable, not merely improbable."""
    open_ = answered(capture, given).judged(Verdict.SUPPORTED, Verdict.INCONCLUSIVE)
    assert {CAUSES[capture]} == open_ - {NONE} - NOT_EXCLUDED.get(capture, set())


@GIVEN
@pytest.mark.parametrize("capture", INCIDENTS)
def test_only_the_truth_is_supported(capture: str, given: bool) -> None:
    """No second cause is supported beside the true one."""
    assert {CAUSES[capture]} == answered(capture, given).judged(Verdict.SUPPORTED)


@GIVEN
@pytest.mark.parametrize("capture", HEALTHY)
def test_a_healthy_hour_accuses_nobody(capture: str, given: bool) -> None:
    """Where nothing was changed there is no symptom, no supported cause, and none of these is first."""
    healthy = answered(capture, given)
    assert healthy.evidence.symptom is None
    assert NONE == healthy.findings[0].hypothesis
    assert set() == healthy.judged(Verdict.SUPPORTED)


@GIVEN
@REDUCED
@pytest.mark.parametrize("capture", CAUSES)
def test_with_less_telemetry_nobody_innocent_is_supported(capture: str, files: frozenset[str], given: bool) -> None:
    """With traces, or metrics, or all but the engine log gone, no wrong cause is supported."""
    assert answered(capture, given, files).judged(Verdict.SUPPORTED) <= {CAUSES[capture]}


@GIVEN
@REDUCED
@pytest.mark.parametrize("capture", INCIDENTS)
def test_with_less_telemetry_the_truth_is_supported_or_untestable(
    capture: str, files: frozenset[str], given: bool
) -> None:
    """The true cause is still supported, or untestable naming the signal that is missing; never refuted."""
    truth = answered(capture, given, files).of(CAUSES[capture])
    assert truth.verdict is Verdict.SUPPORTED or (truth.verdict is Verdict.UNTESTABLE and truth.missing)


@GIVEN
@pytest.mark.parametrize(
    ("capture", "files"),
    [
        ("s01_token_inflation", recorded.NO_TRACES),
        ("s01_token_inflation", recorded.NO_METRICS),
        ("s03_kv_preemption", recorded.NO_TRACES),
        ("s03_kv_preemption", recorded.NO_METRICS),
        ("s09_retrieval_slow", recorded.NO_METRICS),
        ("s17_prefix_off", recorded.NO_TRACES),
        ("s17_prefix_off", recorded.NO_METRICS),
        ("s22_cpu_contention_b", recorded.NO_TRACES),
    ],
)
def test_with_less_telemetry_that_still_tells_the_truth_is_found(
    capture: str, files: frozenset[str], given: bool
) -> None:
    """Where the remaining files hold the signals of the cause, the answer is as with all of them."""
    assert answered(capture, given, files).accuses(CAUSES[capture])


@pytest.mark.parametrize("capture", INCIDENTS)
def test_an_untestable_cause_says_what_would_settle_it(capture: str) -> None:
    """Every cause that the engine log alone cannot test names missing signals and an experiment."""
    blind = answered(capture, files=recorded.ENGINE_LOG)
    unsaid = [h for h in blind.judged(Verdict.UNTESTABLE) if not (blind.of(h).missing and blind.of(h).experiment)]
    assert [] == unsaid


@pytest.mark.parametrize("capture", INCIDENTS)
@pytest.mark.parametrize("shift", [-15.0, 15.0])
def test_a_wrong_onset_does_not_mislead(capture: str, shift: float) -> None:
    """With the onset given 15 s too early or too late the true cause is still first and supported."""
    assert answered(capture, True, onset_shift_s=shift).accuses(CAUSES[capture])


@pytest.mark.parametrize("capture", CAUSES)
def test_probabilities_are_of_one_world(capture: str) -> None:
    """Every hypothesis appears once, in order of probability, and the probabilities add up to one."""
    findings = answered(capture).findings
    assert sorted(h.id for h in all_hypotheses()) == sorted(f.hypothesis for f in findings)
    assert sorted((f.probability for f in findings), reverse=True) == [f.probability for f in findings]
    assert 1.0 == pytest.approx(sum(f.probability for f in findings))


def test_the_whole_way_gives_the_same_findings() -> None:
    """A diagnosis from the paths agrees with the one put together here from its steps."""
    capture = INCIDENTS[0]
    found = as_json(*recorded.paths(capture))
    steps = answered(capture).findings
    assert [(f.hypothesis, f.verdict, pytest.approx(f.probability)) for f in steps] == [
        (f["hypothesis"], f["verdict"], f["probability"]) for f in found["findings"]
    ]


def test_same_input_same_answer() -> None:
    """Two processes with different hash seeds print the same JSON, but for the time they took."""
    paths = recorded.paths("s03_kv_preemption", {"traces.jsonl.gz", "vllm.log.gz"})
    printed = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "correlator", "diagnose", "--json", *paths]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, capture_output=True, check=True, env=environment)
        printed.append({**json.loads(done.stdout), "elapsed_s": None})
    assert printed[0] == printed[1]


def test_the_truth_file_is_not_read(tmp_path: Path) -> None:
    """Without truth.json, or with a lying one, the answer is the same: it is only counted as unsupported."""
    capture = "s09_retrieval_slow"
    shutil.copytree(recorded.FOLDER / capture, tmp_path / capture, ignore=shutil.ignore_patterns("scrape", "metrics*"))
    truth = tmp_path / capture / "truth.json"
    lie = truth.read_text().replace("retrieval_slow", "traffic_surge").replace("179601", "179600")
    answers = []
    for content in (truth.read_text(), lie, None):
        truth.write_text(content) if content else truth.unlink()
        answer = as_json(tmp_path / capture)
        problems = answer["coverage"].pop("problems")
        messages = [m for m in answer["coverage"].pop("messages") if "truth.json" in m]
        assert (1 if content else 0) == len(messages) == problems.get("unsupported", 0)
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2]
    assert "retrieval_slow" == answers[0]["findings"][0]["hypothesis"]
