"""What a diagnosis says of an engine that died or never became ready, with only its log at hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from correlator.join.engine_down import outages
from correlator.model import names as n
from correlator.model.evidence import Kind, Window
from correlator.model.findings import Diagnosis, Verdict
from correlator.wiring import Request, diagnose
from tests.cases.inputs import calls, failed, seen_by_client, stats
from tests.cases.s05_memory import FREE_ROSE, FREE_TOO_LOW
from tests.correlator.join.telemetry import T0, at
from tests.hypotheses.files_a import line, ready, started
from tests.test_formats import evidence

DAMAGED = "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
ECC = "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
DIED = "EngineDeadError: EngineCore encountered an issue."


def fails(seconds: float, raised: str) -> list[str]:
    """The last lines of a start."""
    told = ("EngineCore failed to start.", raised)
    last = line(seconds + 2, "ERROR RuntimeError: Engine core initialization failed. See root cause above.")
    return [*(line(seconds, f"ERROR {text}") for text in told), last]


def dies(seconds: float, raised: str) -> list[str]:
    """The last lines of an engine that served."""
    told = ("EngineCore encountered a fatal error.", raised, DIED)
    return [line(seconds, f"ERROR {text}") for text in told]


def serves(since: float, until: float) -> list[str]:
    """A line of figures every ten seconds."""
    return [stats(t, 300.0 + t % 7, 4, 0, 30.0) for t in range(int(since), int(until), 10)]


def found(
    folder: Path, log: Iterable[str], spans: bytes = b"", windows: tuple[Window, Window] | None = None
) -> Diagnosis:
    (folder / "vllm.log").write_text("".join(log))
    if spans:
        (folder / "calls.binpb").write_bytes(spans)
    baseline, incident = windows or (None, None)
    return diagnose(Request(paths=[str(folder)], baseline_window=baseline, incident_window=incident))


def supported(diagnosis: Diagnosis) -> list[str]:
    return [f.hypothesis for f in diagnosis.findings if f.verdict is Verdict.SUPPORTED]


UP = [*started(-60), ready(-20), *serves(0, 120)]
LOOP = [text for k in range(1, 5) for text in (*started(120 + 30 * k), *fails(140 + 30 * k, ECC))]


@pytest.mark.parametrize(
    ("log", "cause", "onset"),
    [
        pytest.param([*started(0), *fails(40, DAMAGED)], "model_load_failure", 40, id="a first start fails"),
        pytest.param([*started(0), *fails(1, DAMAGED)], "model_load_failure", 0, id="it fails at once"),
        pytest.param([*started(0), *fails(40, FREE_ROSE[1])], "gpu_cotenant", 40, id="others give memory back"),
        pytest.param([*started(0), *fails(40, FREE_TOO_LOW[1])], "gpu_memory_exhaustion", 40, id="too little memory"),
        pytest.param(
            [text for k in range(8) for text in (*started(60 * k), *fails(60 * k + 40, DAMAGED))],
            "model_load_failure",
            40,
            id="no start of many succeeds",
        ),
        pytest.param([*UP, *dies(120, ECC), *LOOP], "gpu_hardware_fault", 120, id="it dies and does not come back"),
        pytest.param([*UP, *dies(120, OOM)], "gpu_memory_exhaustion", 120, id="the log ends with its death"),
        pytest.param(
            [*serves(0, 120), *dies(121, ECC), *(line(t, "INFO waits") for t in range(125, 200, 5))],
            "gpu_hardware_fault",
            120,
            id="its start is not in the log",
        ),
    ],
)
def test_the_log_alone_names_the_cause(tmp_path: Path, log: list[str], cause: str, onset: float) -> None:
    """The symptom is that no engine is ready, since its death or failed start, and what ended it is supported."""
    diagnosis = found(tmp_path, log)
    symptom = diagnosis.symptom
    assert symptom is not None
    assert (Kind.AVAILABILITY, n.ENGINE_DOWN, 0.0) == (symptom.kind, symptom.signal, symptom.baseline_value)
    assert symptom.incident_value > 0.9
    assert at(onset) == pytest.approx(symptom.onset, abs=5e9)
    assert [cause] == supported(diagnosis)


def test_causes_of_latency_alone_are_refuted(tmp_path: Path) -> None:
    """An engine that is down is no matter of longer prompts."""
    verdicts = {f.hypothesis: f.verdict for f in found(tmp_path, [*started(0), *fails(40, DAMAGED)]).findings}
    assert Verdict.REFUTED is verdicts["input_token_inflation"]


@pytest.mark.parametrize(
    "log",
    [
        pytest.param([*UP, *serves(120, 300)], id="well"),
        pytest.param(
            [*UP, line(121, "INFO Shutting down"), *started(125), ready(200), *serves(210, 330)], id="restart"
        ),
        pytest.param([*UP, line(121, "INFO Shutting down"), line(122, f"ERROR {DIED}")], id="told to stop"),
        pytest.param([*UP, *started(125), ready(200), *serves(210, 330)], id="restarted without a word"),
        pytest.param([*started(0), *(line(t, "INFO loading") for t in range(5, 100, 5))], id="still loading"),
        pytest.param([*UP, line(120, f"ERROR {OOM}"), *serves(130, 300)], id="an error that it survives"),
    ],
)
def test_an_engine_that_did_not_fail_is_no_symptom(tmp_path: Path, log: list[str]) -> None:
    """Starts, orders, errors it survives and a log that is cut are no failure."""
    assert found(tmp_path, log).symptom is None


def test_an_outage_that_ended_is_found(tmp_path: Path) -> None:
    """From the death to the next ready, with blocks enough for an interval."""
    log = [*UP, *dies(121, OOM), *started(125), ready(200), *serves(210, 330)]
    diagnosis = found(tmp_path, log)
    assert diagnosis.symptom is not None and diagnosis.windows is not None
    assert Kind.AVAILABILITY is diagnosis.symptom.kind
    assert Window(at(120), at(200)) == diagnosis.windows.incident
    assert diagnosis.symptom.change.low < diagnosis.symptom.change.high


def test_a_short_outage_within_the_log_is_none(tmp_path: Path) -> None:
    """Ten seconds are fewer blocks than an interval needs, and it was ready again."""
    assert found(tmp_path, [*UP, *dies(121, OOM), *started(122), ready(131), *serves(140, 330)]).symptom is None


def test_windows_asked_for_are_compared(tmp_path: Path) -> None:
    """With both windows given, a log that ends with the death is no input error."""
    windows = (Window(at(0), at(110)), Window(at(110), at(200)))
    symptom = found(tmp_path, [*UP, *dies(120, OOM)], windows=windows).symptom
    assert symptom is not None
    assert Kind.AVAILABILITY is symptom.kind


def test_requests_tell_more_than_the_log(tmp_path: Path) -> None:
    """Where requests are known the symptom is what they suffer: nothing, or that they fail."""
    log = [*UP, *dies(120, OOM)]
    well = calls(lambda i, t: seen_by_client(i, t, 0.5), 240)
    down = calls(lambda i, t: seen_by_client(i, t, 0.5) if t < 120 else failed(i, t, "refused"), 240)
    assert found(tmp_path, log, well).symptom is None
    symptom = found(tmp_path, log, down).symptom
    assert symptom is not None and n.ERROR is symptom.signal


def test_one_of_two_engines_is_no_outage(tmp_path: Path) -> None:
    """Another engine, by its own log, was ready all the time."""
    (tmp_path / "other.log").write_text("".join([*started(-60), ready(-20), *serves(5, 280)]))
    assert found(tmp_path, [*UP, *dies(120, OOM), *LOOP]).symptom is None


def test_a_healthy_run_is_a_baseline(tmp_path: Path) -> None:
    """Of two recordings, one whose engine served and one whose start fails again and again."""
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        folder.mkdir()
    (before / "vllm.log").write_text("".join(UP))
    loop = (text for k in range(5) for text in (*started(60 * k), *fails(60 * k + 20, DAMAGED)))
    (after / "vllm.log").write_text("".join(loop))
    diagnosis = diagnose(Request(paths=[str(after)], baseline=[str(before)]))
    assert diagnosis.symptom is not None
    assert (Kind.AVAILABILITY, 0.0) == (diagnosis.symptom.kind, diagnosis.symptom.baseline_value)
    assert ["model_load_failure"] == supported(diagnosis)


def test_the_share_of_a_bucket(tmp_path: Path) -> None:
    """A death at second 123 is down for two fifths of that bucket, until the log's end."""
    (tmp_path / "vllm.log").write_text("".join([*UP, *dies(123, OOM), line(140, "INFO waits")]))
    series = evidence(tmp_path).series
    down = series.set_index((series["start"] - T0) / 1e9)[n.ENGINE_DOWN.name]
    assert [0.0, pytest.approx(0.4), 1.0, 1.0, 1.0, 1.0] == down.loc[115:].tolist()
    assert np.isnan(down.reindex([145.0])).all()
    assert [Window(at(120), at(145))] == outages(series)
