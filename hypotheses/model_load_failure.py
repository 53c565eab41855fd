"""Did the engine's start-up end before it was ready, because it could not load the model?

A missing or damaged weight file, another version of the format, or a driver that does not fit the CUDA runtime ends
the start. Nothing serves then, and what was tried is written in the engine's log alone.
"""

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import ERROR, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    Test,
    either,
    engine_is_down,
    necessary,
    occurs,
    separating,
    shifted_by,
)  # fmt: skip

SEEN_BY = frozenset({"engine_log"})
FAILURES = frozenset({Events.MODEL_LOAD_FAILURE, Events.DRIVER_MISMATCH})
SETTLED = frozenset({Events.ENGINE_READY})

TOLD = occurs(*sorted(FAILURES), seen_by=SEEN_BY)


def _failed_to_load() -> Test:
    """A failure was logged in the incident; of a start-up alone, which has nothing to compare, at any time."""

    def read(evidence: Evidence) -> Reading:
        if evidence.windows is None and any(e.name in FAILURES for e in evidence.events):
            return Reading(Outcome.HELD, "the start-up ended with it")
        return TOLD.read(evidence)

    return Test(TOLD.statement, read)


def _stays_down() -> Test:
    """After the last failure to load no start-up of the incident came to its end."""

    def read(evidence: Evidence) -> Reading:
        windows = evidence.windows
        told = [e for e in evidence.events if e.name in FAILURES | SETTLED]
        told = [e for e in told if windows is None or e.unix_nano < windows.incident.end]
        if not any(e.name in FAILURES for e in told):
            return Reading(Outcome.UNTESTABLE, "no failure to load was logged", missing=tuple(SEEN_BY))
        ready = told[-1].name in SETTLED
        why = next((e.attributes.get("exception.message", "") for e in told[::-1] if e.name in FAILURES), "")[:200]
        text = "the engine became ready after all" if ready else f"the engine did not become ready: {why or 'not told'}"
        return Reading(Outcome.FAILED if ready else Outcome.HELD, text)

    return Test("the engine did not become ready after it", read)


HYPOTHESIS = Hypothesis(
    id="model_load_failure",
    claim="The engine could not load its model: a weight file, its format, or the GPU's driver does not fit.",
    explains=frozenset({Kind.AVAILABILITY, Kind.ERRORS}),
    cause=ERROR,
    predictions=(
        necessary("loading_failed", _failed_to_load()),
        necessary("requests_fail", either(shifted_by(ERROR, UP, at_least=0.02), where_measured=[engine_is_down()])),
        separating("it_stays_down", _stays_down()),
        separating("the_driver_does_not_fit", occurs(Events.DRIVER_MISMATCH, seen_by=SEEN_BY)),
        separating("the_engine_died_of_it", occurs(Events.ENGINE_DEAD, seen_by=SEEN_BY)),
    ),
    rivals=("gpu_memory_exhaustion", "gpu_hardware_fault"),
    experiment=Experiment(
        id="weights_integrity",
        why="Checksums against the publisher's tell a damaged file, driver against runtime a mismatch.",
        command="sha256sum *.safetensors; nvidia-smi --query-gpu=driver_version --format=csv; systemctl is-active "
        "nvidia-fabricmanager; python3 -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'",
        expect="a checksum differs from the publisher's, or CUDA is not available to the engine",
    ),
    remedy="Fetch the damaged file again. Error 803 or 804: match driver and container; 802: start the fabric manager.",
)
