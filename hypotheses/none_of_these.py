"""The answer when no cause of the catalogue fits, and on a healthy window.

It is never tested and never dropped: it keeps the probability that the others leave.
"""

from correlator.model.evidence import Kind as _Kind
from hypotheses import Experiment, Hypothesis

HYPOTHESIS = Hypothesis(
    id="none_of_these",
    claim="Nothing in this catalogue explains it, or nothing is wrong.",
    explains=frozenset(_Kind),
    predictions=(),
    experiment=Experiment(
        id="widen_the_view",
        why="The part of the ledger that grew, and the signals listed as missing, say where to look.",
        command="tollens diagnose PATH --json | jq '.ledger, (.coverage.signals | keys)'",
        expect="a part of the ledger that grew, or a signal that was not collected",
        cost=1,
    ),
    remedy="Collect what is listed as missing, or widen the windows.",
)
