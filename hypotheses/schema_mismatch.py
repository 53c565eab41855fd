"""Do two versions of an interface talk past each other?

A field that one side began to send and the other forbids, or one that it stopped sending: valid requests are refused
from the moment a version changed, on this side or that, and going back cures it.
"""

from correlator.model.names import SCHEMA_ERROR
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    began_with_change,
    changed,
    confined_to_changed,
    necessary,
    separating,
    shifted_by,
)  # fmt: skip

VERSIONS = ("service.version", "engine.version", "engine.fingerprint", "model", "engine.model")

HYPOTHESIS = Hypothesis(
    id="schema_mismatch",
    claim="Since a version changed, messages no longer fit the schema that the other side expects.",
    explains=frozenset({Kind.ERRORS, Kind.AVAILABILITY}),
    cause=SCHEMA_ERROR,
    predictions=(
        necessary("validation_fails_more_often", shifted_by(SCHEMA_ERROR, UP, at_least=0.02)),
        necessary("accounts_for_the_errors", accounts_for(SCHEMA_ERROR)),
        necessary("it_began_with_a_version", began_with_change(*VERSIONS)),
        separating("most_errors_are_of_this_kind", accounts_for(SCHEMA_ERROR, at_least=0.8)),
        separating("only_the_new_version_fails", confined_to_changed()),
        separating("an_interface_changed_version", changed("service.version", "engine.version", kind="version")),
    ),
    rivals=("model_change", "context_overflow", "output_truncation"),
    experiment=Experiment(
        id="openapi_contract",
        why="A refused message held against the schemas that both versions publish names the field they disagree on.",
        command=(
            "for host in OLD_HOST NEW_HOST; do curl -s $host/openapi.json | jq -S .components.schemas > $host.json; "
            "done; "
            "diff OLD_HOST.json NEW_HOST.json"
        ),
        expect="the field that the errors name differs between the two schemas",
        cost=1,
    ),
    remedy="Pin or roll back the side that changed; test new versions against recorded messages before rolling out.",
)
