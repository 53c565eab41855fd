"""Do the two ends of a connection disagree on how long it may idle?

The client pings more often than the server allows (GOAWAY, too_many_pings), or believes a connection alive that the
server or a balancer between them has dropped: then what fails is the first call after a silence.
"""

from correlator.model.names import CONNECTION_ERROR, IDLE_BEFORE, Events
from hypotheses import (
    UP,
    Experiment,
    Hypothesis,
    Kind,
    absent,
    accounts_for,
    either,
    necessary,
    occurs,
    rises_with,
    separating,
    shifted_by,
)  # fmt: skip

PINGS = occurs(Events.KEEPALIVE_REFUSED, seen_by=frozenset({"application_log", "error_texts"}))
AFTER_SILENCE = rises_with(CONNECTION_ERROR, IDLE_BEFORE)
RESTARTS = (Events.ENGINE_START, Events.ENGINE_DEAD, Events.INSTANCE_START, Events.DEPLOY, Events.OOM_KILL)

HYPOTHESIS = Hypothesis(
    id="keepalive_mismatch",
    claim="Connections are dropped since client and server disagree on keep-alive or on how long one may idle.",
    explains=frozenset({Kind.ERRORS, Kind.AVAILABILITY}),
    cause=CONNECTION_ERROR,
    predictions=(
        necessary("connections_break_more_often", shifted_by(CONNECTION_ERROR, UP, at_least=0.02)),
        necessary("accounts_for_the_errors", accounts_for(CONNECTION_ERROR)),
        necessary("pings_are_refused_or_silence_precedes", either(PINGS, AFTER_SILENCE)),
        separating("pings_are_refused", PINGS),
        separating("calls_after_a_silence_fail", AFTER_SILENCE),
        separating(
            "nothing_restarted",
            absent(*RESTARTS, seen_by=frozenset({"instance_ids", "engine_log", "process_metrics"})),
        ),
    ),
    upstream_of=("retry_storm",),
    rivals=("retry_storm", "recent_change", "proxy_buffering"),
    experiment=Experiment(
        id="grpc_keepalive",
        why="A connection left alone for longer than any limit in between, then used again, shows who drops it.",
        command=(
            "GRPC_TRACE=http_keepalive,connectivity_state GRPC_VERBOSITY=debug python client.py 2>&1 "
            "| grep -iE 'goaway|too_many_pings|keepalive'   # with a pause of 10 minutes between two calls"
        ),
        expect="a GOAWAY with too_many_pings, or the second call fails and a third succeeds on a new connection",
        cost=2,
    ),
    remedy="Ping half as often as the server allows (default: every 5 min); retire idle connections before it does.",
)
