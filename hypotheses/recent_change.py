"""Did the last deploy do it?

The commonest suspicion and the commonest wrong answer: a change shortly before the onset proves nothing by itself.
It counts only where the symptom is confined to what changed while the unchanged rest was spared.
"""

from correlator.model.evidence import Kind as _Kind
from correlator.model.names import Events
from hypotheses import Experiment, Hypothesis, changed, confined_to_changed, necessary, occurs, separating

HYPOTHESIS = Hypothesis(
    id="recent_change",
    claim="What was deployed or restarted just before the onset causes the symptom, and only it shows it.",
    explains=frozenset(_Kind) - {_Kind.TELEMETRY},
    predictions=(
        necessary(
            "something_changed",
            occurs(
                Events.DEPLOY,
                Events.INSTANCE_START,
                Events.ENGINE_START,
                seen_by=frozenset({"instance_ids", "engine_log", "process_metrics"}),
                often=False,
            ),
        ),
        necessary("only_what_changed_is_hit", confined_to_changed()),
        separating("version_changed", changed("service.version", "engine.version", kind="version")),
        separating("confined", confined_to_changed()),
    ),
    rivals=("model_change", "telemetry_artifact"),
    experiment=Experiment(
        id="compare_old_and_new",
        why="An instance that did not change, under the same traffic, is the only fair witness.",
        command="# keep one instance on the old version; compare its latency with the new ones over the same minutes",
        expect="the old instance is spared if the change is the cause",
        cost=2,
    ),
    remedy="Roll back what changed; roll out to one instance first next time.",
)
