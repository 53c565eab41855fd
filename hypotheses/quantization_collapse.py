"""Did the answers fall apart when the precision of weights or cache was lowered?

Most models bear 8 or 4 bits; some do not: a few channels with outliers overflow or vanish, and answers become loops of
one token, or plain wrong. It begins with the start that brought the precision in, and every question meets it.
"""

from correlator.model.names import ANSWER_SHORTFALL, DEGENERATE, INPUT_TOKENS, OUTPUT_TOKENS
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    answers_are_worse,
    began_with_change,
    changed,
    hits_all_alike,
    necessary,
    not_grown,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

FACTS = ("engine.quantization", "engine.dtype", "engine.cache_dtype")

HYPOTHESIS = Hypothesis(
    id="quantization_collapse",
    claim="The model does not bear the precision in which its weights or its cache are held.",
    explains=frozenset({Kind.QUALITY}),
    cause=ANSWER_SHORTFALL,
    predictions=(
        necessary("the_precision_changed", changed(*FACTS, kind="the precision")),
        necessary("answers_are_worse", answers_are_worse()),
        necessary("it_began_with_the_change", began_with_change(*FACTS)),
        separating("all_are_hit_alike", hits_all_alike()),
        separating("prompts_cost_the_same", not_grown(INPUT_TOKENS, within=1.25)),
        separating("answers_run_in_loops", shifted_by(DEGENERATE, UP, at_least=0.02)),
        separating("answers_do_not_end", shifted(OUTPUT_TOKENS, UP, at_least=1.4)),
    ),
    upstream_of=("output_truncation",),
    rivals=("chat_template_duplication", "model_change", "semantic_drift", "output_truncation"),
    experiment=Experiment(
        id="quantization_error",
        why="The unquantized weights beside the quantized ones, layer by layer, show where they part.",
        command="# relative L2 error per layer of the quantized weights (AWQ, GPTQ, GGUF) against the FP16 ones; then "
        "the same 20 prompts at temperature 0 to a copy served without --quantization and with --kv-cache-dtype auto",
        expect="a few layers err by far more than the rest, and the unquantized copy answers well",
        cost=2,
    ),
    remedy="Serve the previous precision; leave layers with outliers unquantized, or calibrate the quantization anew.",
)
