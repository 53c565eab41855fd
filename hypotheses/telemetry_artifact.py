"""Is the symptom in the telemetry rather than in the service?

Refused batches, lost spans, changed sampling and averages over the wrong scope move a graph without moving the
service. Two sources that measure independently cannot both be wrong in the same way.
"""

from correlator.model.evidence import Kind as _Kind
from correlator.model.names import TELEMETRY_LOST
from hypotheses import UP, Experiment, Hypothesis, necessary, second_source_disagrees, separating, shifted_by

HYPOTHESIS = Hypothesis(
    id="telemetry_artifact",
    claim="The symptom is made by lost, refused or mis-scoped telemetry; the service is as it was.",
    explains=frozenset(_Kind),
    cause=TELEMETRY_LOST,
    predictions=(
        necessary("telemetry_was_lost", shifted_by(TELEMETRY_LOST, UP, at_least=0.02)),
        necessary("a_second_source_disagrees", second_source_disagrees()),
        separating("loss_is_large", shifted_by(TELEMETRY_LOST, UP, at_least=0.1)),
    ),
    rivals=("recent_change",),
    doubts_telemetry=True,
    experiment=Experiment(
        id="measure_twice",
        why="A measurement that does not pass through the same pipeline tells the service from its telemetry.",
        command="curl -s http://localhost:8888/metrics | grep -E 'refused|dropped|send_failed'   # the Collector",
        expect="refused or failed items grew with the symptom if the pipeline is at fault",
        cost=1,
    ),
    remedy="Fix the pipeline (queue, memory limiter, sampling), then look again at the same window.",
)
