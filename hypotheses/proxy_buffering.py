"""Does a proxy hold answers back, or give them up at an age of its own?

A buffering hop lets nothing through until it is full: the first token comes late though the engine sent it, and the
rest then come in bursts. A proxy's read time-out shorter than the model ends every long answer at the same age.
"""

from correlator.model.names import CLIENT_PER_TOKEN, FIRST_TOKEN_HELD, LATENCY, PROXY_ERROR, TIME_TO_FIRST_TOKEN
from hypotheses import (
    DOWN,
    UP,
    Experiment,
    Hypothesis,
    Kind,
    accounts_for,
    by_kind,
    end_at_one_age,
    necessary,
    not_grown,
    separating,
    shifted,
    shifted_by,
)  # fmt: skip

GIVEN_UP = shifted_by(PROXY_ERROR, UP, at_least=0.02)
AT_ONE_AGE = end_at_one_age(PROXY_ERROR, LATENCY)

HYPOTHESIS = Hypothesis(
    id="proxy_buffering",
    claim="A proxy between client and engine holds answers back or ends them at an age of its own.",
    explains=frozenset({Kind.LATENCY, Kind.ERRORS}),
    cause=FIRST_TOKEN_HELD,
    predictions=(
        necessary(
            "answers_are_held_back_or_given_up",
            by_kind(shifted_by(FIRST_TOKEN_HELD, UP, at_least=0.5), {Kind.ERRORS: GIVEN_UP}),
        ),
        necessary("accounts_for_it", by_kind(accounts_for(FIRST_TOKEN_HELD), {Kind.ERRORS: accounts_for(PROXY_ERROR)})),
        necessary(
            "the_engine_was_in_time",
            by_kind(not_grown(TIME_TO_FIRST_TOKEN, within=1.4), {Kind.ERRORS: AT_ONE_AGE}),
        ),
        separating("further_tokens_then_come_in_bursts", shifted(CLIENT_PER_TOKEN, DOWN, at_least=1.25)),
        separating("most_errors_are_the_proxys", accounts_for(PROXY_ERROR, at_least=0.8)),
    ),
    upstream_of=("retry_storm",),
    rivals=("client_pool_exhaustion", "keepalive_mismatch", "retry_storm"),
    experiment=Experiment(
        id="direct_and_through_the_proxy",
        why="The same streamed request on both ways shows which hop holds tokens back.",
        command=(
            "for host in ENGINE_HOST PROXY_HOST; do curl -sN -o /dev/null -w '%{time_starttransfer} %{time_total}\\n' "
            "--json @streamed.json $host/v1/chat/completions; done"
        ),
        expect="time to the first byte differs by what was held back; the total hardly does",
        cost=1,
    ),
    remedy="Turn response buffering off for the route (proxy_buffering off); raise its read time-out over the model's.",
)
