"""Are fewer of the drafted tokens accepted than before?

A draft model guesses several tokens, the model checks them in one step. What it rejects was work for nothing: with
fewer accepted a step brings fewer tokens, so each takes longer, though nothing else changed.
"""

from correlator.model.names import (
    BATCH_SIZE,
    DECODE,
    SPEC_ACCEPTANCE,
    SPEC_LENGTH,
    SPEC_REJECTED,
)  # fmt: skip
from hypotheses import (
    DOWN,
    Experiment,
    Hypothesis,
    Kind,
    changed,
    either,
    engine_accounts,
    necessary,
    not_grown,
    separating,
    shifted,
    slower_with,
    tokens_slower,
)  # fmt: skip

DRAFT = ("engine.speculative_config", "engine.version", "engine.model", "model", "engine.quantization")
SHORTER = shifted(SPEC_LENGTH, DOWN, at_least=1.1)

HYPOTHESIS = Hypothesis(
    id="speculative_acceptance_drop",
    claim="Fewer drafted tokens are accepted, so each step of speculative decoding brings fewer tokens.",
    explains=frozenset({Kind.LATENCY, Kind.THROUGHPUT}),
    cause=SPEC_REJECTED,
    predictions=(
        necessary("fewer_are_accepted", either(shifted(SPEC_ACCEPTANCE, DOWN, at_least=1.1), where_measured=[SHORTER])),
        necessary("tokens_take_longer", tokens_slower(at_least=1.1)),
        necessary("dose_response", slower_with(SPEC_REJECTED)),
        necessary("decode_accounts_for_it", engine_accounts(DECODE)),
        separating("a_step_brings_fewer_tokens", SHORTER),
        separating("the_batch_did_not_grow", not_grown(BATCH_SIZE, within=1.25)),
        separating("draft_or_model_changed", changed(*DRAFT, kind="draft, model or engine")),
    ),
    rivals=("model_change", "batch_past_sweet_spot", "cuda_graphs_disabled"),
    experiment=Experiment(
        id="speculation_off",
        why="A canary without speculation shows whether drafting still pays.",
        command="curl -s localhost:8000/metrics | grep spec_decode   # then one canary without --speculative-config",
        expect="the canary is as fast or faster, and accepted over drafted tokens is below the baseline's",
        cost=2,
        risk=1,
    ),
    remedy="Restore draft model and sampling settings, draft fewer tokens, or turn speculation off at large batches.",
)
