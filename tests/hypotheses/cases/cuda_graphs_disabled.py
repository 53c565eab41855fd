"""Worlds for `cuda_graphs_disabled`."""

from correlator.model.findings import Verdict
from correlator.model.names import CUDA_GRAPHED, TIME_PER_OUTPUT_TOKEN
from tests.hypotheses.added import with_levels
from tests.hypotheses.evidence import Case, fact, seen, served, switched, unseen, window
from tests.hypotheses.gpu import gpu, on_gpu

SLOWER = served(time_per_output_token=0.011)
EAGER = switched("engine.enforce_eager", "False", "True")
SIZES = (fact("engine.max_cudagraph_capture_size", "8", -100), fact("engine.enforce_eager", "False", -100))
CAPTURED = (fact("engine.max_cudagraph_capture_size", "512", -100),)
SWITCHED = on_gpu(window(served(), then=SLOWER, facts=(*EAGER, *CAPTURED)), then=gpu(sm=0.3, power=250))

CASES = {
    "eager_mode_was_turned_on": Case(SWITCHED, Verdict.SUPPORTED),
    "the_batch_left_the_captured_sizes": Case(
        on_gpu(window(served(), then=SLOWER, facts=SIZES), before=gpu(batch=7), then=gpu(batch=11)), Verdict.SUPPORTED
    ),
    "fewer_sizes_are_captured": Case(
        on_gpu(
            window(
                served(),
                then=SLOWER,
                facts=(*SIZES[1:], *switched("engine.max_cudagraph_capture_size", "512", "4")),
            )
        ),
        Verdict.SUPPORTED,
    ),
    "fewer_steps_were_seen_to_replay_a_graph": Case(
        with_levels(
            on_gpu(window(served(), then=SLOWER, facts=(*SIZES[1:], *CAPTURED))), **{CUDA_GRAPHED.name: (0.98, 0.4)}
        ),
        Verdict.SUPPORTED,
    ),
    "tokens_take_longer_with_graphs_as_before": Case(
        on_gpu(window(served(), then=SLOWER, facts=(*SIZES[1:], *CAPTURED))),
        Verdict.REFUTED,
        by="steps_run_without_graphs",
    ),
    "eager_mode_was_turned_off": Case(
        on_gpu(window(served(), then=SLOWER, facts=(*switched("engine.enforce_eager", "True", "False"), *CAPTURED))),
        Verdict.REFUTED,
        by="steps_run_without_graphs",
    ),
    "eager_mode_costs_nothing": Case(
        on_gpu(window(served(), then=served(queue=0.5), facts=(*EAGER, *CAPTURED))),
        Verdict.REFUTED,
        by="tokens_take_longer",
    ),
    "nobody_says_how_the_engine_was_started": Case(
        on_gpu(window(served(), then=SLOWER)), Verdict.UNTESTABLE, missing="engine.enforce_eager"
    ),
    "time_per_token_was_not_measured": Case(
        seen(unseen(SWITCHED, TIME_PER_OUTPUT_TOKEN)), Verdict.UNTESTABLE, missing=TIME_PER_OUTPUT_TOKEN
    ),
}
