"""Worlds for `recent_change`."""

from correlator.model.findings import Verdict
from correlator.model.names import Events
from tests.hypotheses.evidence import Case, event, served, switched, window

DEPLOY = (event(Events.DEPLOY, 1),)
VERSION = switched("service.version", "1.4.0", "1.5.0")

CASES = {
    "only_the_new_version_is_slow": Case(
        window(served(), then=served(new_version=0.5, new_version_slower=3), events=DEPLOY, facts=VERSION),
        Verdict.SUPPORTED,
    ),
    "only_the_new_version_fails": Case(
        window(
            served(per_block=30),
            then=served(per_block=30, new_version=0.5, new_version_errors=0.4),
            events=DEPLOY,
            facts=VERSION,
        ),
        Verdict.SUPPORTED,
    ),
    "old_and_new_fail_alike": Case(
        window(served(), then=served(new_version=0.5, errors=0.4), events=DEPLOY, facts=VERSION),
        Verdict.REFUTED,
        by="only_what_changed_is_hit",
    ),
    "old_and_new_are_slow_alike": Case(
        window(served(), then=served(new_version=0.5, queue=0.6), events=DEPLOY, facts=VERSION),
        Verdict.REFUTED,
        by="only_what_changed_is_hit",
    ),
    "nothing_was_deployed": Case(window(served(), then=served(queue=0.6)), Verdict.REFUTED, by="something_changed"),
    "everything_was_deployed_at_once": Case(
        window(served(), then=served(new_version=1.0, new_version_slower=3), events=DEPLOY, facts=VERSION),
        Verdict.UNTESTABLE,
        missing="an instance that did not change",
    ),
    "nobody_would_have_seen_a_deploy": Case(
        window(served(), then=served(new_version=0.5, new_version_slower=3), watched=frozenset()),
        Verdict.UNTESTABLE,
        missing="instance_ids",
    ),
    "the_new_version_is_slower_and_so_is_the_old_a_little": Case(
        window(
            served(),
            then=served(new_version=0.5, new_version_slower=3, queue=0.13),
            events=DEPLOY,
            facts=VERSION,
        ),
        Verdict.INCONCLUSIVE,
    ),
}
