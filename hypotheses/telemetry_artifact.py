"""Is the symptom in the telemetry rather than in the service?

Refused batches, lost spans, changed sampling and averages over the wrong scope move a graph without moving the
service. Two sources that measure independently cannot both be wrong in the same way.
"""

from correlator.model.evidence import Kind as _Kind
from correlator.model.names import CLOCK_SKEW, TELEMETRY_LOST, TELEMETRY_REFUSED, TRACED_SHARE, Events
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    by_kind,
    either,
    necessary,
    occurs,
    records_lost,
    second_source_disagrees,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

REFUSED = shifted_by(TELEMETRY_REFUSED, UP, at_least=0.02)
RESAMPLED = either(shifted(TRACED_SHARE, DOWN, at_least=1.5), shifted(TRACED_SHARE, UP, at_least=1.5))
"""A sampler is set to another share, not to a few per cent more; less may be chance in few requests."""
CLOCKS_PARTED = shifted_by(CLOCK_SKEW, UP, at_least=0.01)
"""Ten times what hosts that keep time by NTP on one network differ by."""
TOLD = occurs(Events.TELEMETRY_DROPPED, Events.TELEMETRY_REFUSED, seen_by=frozenset({"collector_log"}))
"""The Collector's log says what it dropped, but not how much it passed on: there is no share to compare."""
COUNTED_ANEW = occurs(Events.COUNTER_RESET, seen_by=frozenset({"process_metrics"}))
DISTURBED = either(
    shifted_by(TELEMETRY_LOST, UP, at_least=0.02),
    where_measured=[REFUSED, TOLD, RESAMPLED, CLOCKS_PARTED, COUNTED_ANEW, records_lost(at_least=0.02)],
)
MISSING = either(shifted_by(TELEMETRY_LOST, UP, at_least=0.02), where_measured=[REFUSED])
"""Where that is all there is to explain, no second source needs to show that the service is well."""

HYPOTHESIS = Hypothesis(
    id="telemetry_artifact",
    claim="The symptom is made by lost, refused or mis-scoped telemetry; the service is as it was.",
    explains=frozenset(_Kind),
    cause=TELEMETRY_LOST,
    predictions=(
        necessary("telemetry_was_disturbed", DISTURBED),
        necessary("a_second_source_disagrees", by_kind(second_source_disagrees(), {_Kind.TELEMETRY: MISSING})),
        separating("loss_is_large", shifted_by(TELEMETRY_LOST, UP, at_least=0.1)),
        separating("batches_were_refused", either(REFUSED, where_measured=[TOLD])),
        separating("sampling_changed", RESAMPLED),
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
