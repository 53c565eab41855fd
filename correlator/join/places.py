"""Evidence of one service: its requests, beside the state of the whole system."""

from __future__ import annotations

from dataclasses import replace

from correlator.model.errors import InputError
from correlator.model.evidence import Evidence

UNNAMED = "unnamed service"
ENGINE = "serving engine"
"""Where a symptom is when only the state of the system was measured, no requests."""
PLACES = 20
"""Services told apart; those with the fewest requests are left out."""


def places(evidence: Evidence) -> list[str]:
    """Services that answered requests in either window, the busiest first; the engine where there are none."""
    requests = evidence.requests
    if "service" not in requests or requests.empty:
        return [ENGINE] if len(evidence.series) else []
    compared = requests[requests["period"] != ""] if evidence.windows else requests
    return [str(name) or UNNAMED for name in compared["service"].value_counts().index[:PLACES]]


def at(evidence: Evidence, place: str) -> Evidence:
    """Only the requests of this service. InputError when it answered none, naming those that did."""
    known = places(evidence)
    if place not in known:
        raise InputError(f"no requests of service {place!r} in this time; there are: {', '.join(known) or 'none'}")
    if place == ENGINE or len(known) == 1:
        return evidence
    service = evidence.requests["service"].astype(str).replace("", UNNAMED)
    return replace(evidence, requests=evidence.requests[service == place])
