"""Worlds for `slow_weight_storage`."""

from correlator.model.evidence import Fact
from correlator.model.findings import Verdict
from correlator.model.names import Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, fact, served, window

START = event(Events.ENGINE_START, -20)
FAILING = served(errors=0.6)


def load(seconds: float, gib: float, kind: str, after: float = -1.0) -> tuple[Fact, ...]:
    """What a start-up log says of its weights, `after` seconds from the onset."""
    told = (("engine.weights_load_s", seconds), ("engine.checkpoint_gib", gib), ("engine.checkpoint_filesystem", kind))
    return tuple(fact(name, str(value), after) for name, value in told)


CASES = {
    "a_large_model_on_nfs": Case(
        window(served(), then=FAILING, events=(START,), facts=load(258, 61, "nfs")), Verdict.SUPPORTED
    ),
    "as_slow_from_a_local_disk": Case(
        window(served(), then=FAILING, events=(START,), facts=load(600, 61, "ext4")), Verdict.INCONCLUSIVE
    ),
    "quick_from_nfs": Case(
        window(served(), then=FAILING, events=(START,), facts=load(31, 61, "nfs")),
        Verdict.REFUTED,
        by="weights_load_slowly",
    ),
    "slow_but_short": Case(
        window(served(), then=FAILING, events=(START,), facts=load(5, 0.5, "nfs")),
        Verdict.REFUTED,
        by="weights_load_slowly",
    ),
    "nothing_started": Case(
        window(served(), then=FAILING, facts=load(258, 61, "nfs", -1000)), Verdict.REFUTED, by="it_started"
    ),
    "nobody_suffered_but_the_search": Case(
        window(served(), then=served(retrieval=0.6), events=(START,), facts=load(31, 61, "nfs")),
        Verdict.REFUTED,
        by="weights_load_slowly",
    ),
    "the_engine_s_log_is_missing": Case(
        window(served(), then=FAILING, watched=ALL_SOURCES - {"engine_log"}), Verdict.UNTESTABLE, missing="engine_log"
    ),
    "the_log_does_not_say_how_long": Case(
        window(served(), then=FAILING, events=(START,)), Verdict.UNTESTABLE, missing="engine.weights_load_s"
    ),
}
