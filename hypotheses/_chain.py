"""Mediation: of two supported causes, the upstream one is the root and the other the way it works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from correlator.model.evidence import Evidence
from correlator.model.findings import Outcome, Role, Verdict
from correlator.model.names import LATENCY
from hypotheses._judge import Judged
from hypotheses._relations import rises_with


def roles(judged: Sequence[Judged], evidence: Evidence) -> dict[str, tuple[Role, tuple[str, ...]]]:
    """Role of each supported hypothesis, and the supported ones through which a root works."""
    supported = {j.hypothesis.id: j for j in judged if j.verdict is Verdict.SUPPORTED}
    upstream = {
        down: [
            up
            for up in supported
            if _reaches(supported, up, down) and _linked(supported[up], supported[down], evidence)
        ]
        for down in supported
    }
    out = {}
    for name, item in supported.items():
        via = tuple(down for down, ups in upstream.items() if name in ups)
        role = Role.MECHANISM if upstream[name] else Role.BYSTANDER if _dwarfed(item, supported) else Role.ROOT
        out[name] = (role, via)
    return out


def _reaches(supported: Mapping[str, Judged], up: str, down: str) -> bool:
    if up == down:
        return False
    seen, todo = set(), [up]
    while todo:
        current = todo.pop()
        for following in supported[current].hypothesis.upstream_of if current in supported else ():
            if following == down:
                return True
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return False


def _linked(up: Judged, down: Judged, evidence: Evidence) -> bool:
    """The downstream cause really follows the upstream one, as far as the data can say."""
    causes = (down.hypothesis.cause, up.hypothesis.cause)
    if causes[0] is None or causes[1] is None:
        return True
    return rises_with(causes[0], causes[1]).read(evidence).outcome is not Outcome.FAILED


def _dwarfed(item: Judged, supported: Mapping[str, Judged]) -> bool:
    """Another supported cause accounts for more, beyond both intervals, and through other parts of the ledger."""
    if item.share is None:
        return False
    mine = _parts(item)
    return any(
        other.share is not None and other.share.low > item.share.high and not mine & _parts(other)
        for other in supported.values()
    )


def _parts(item: Judged) -> set[str]:
    tests = (p.test for p in item.hypothesis.predictions if p.test.measures_share)
    return {s.name for test in tests for s in test.signals} - {LATENCY.name}
