"""Evidence of one service: its requests, beside the state of the whole system."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from correlator.model.errors import InputError
from correlator.model.evidence import Evidence
from correlator.model.incidents import ENGINE

UNNAMED = "unnamed service"
PLACES = 20
"""Services told apart; those with the fewest requests are left out."""


def places(evidence: Evidence) -> list[str]:
    """Services that answered requests in either window, the busiest first; the engine where there are none."""
    requests = evidence.requests
    if requests.empty:
        return [ENGINE] if len(evidence.series) else []
    compared = requests[requests["period"] != ""] if evidence.windows else requests
    return [str(name) for name in services(compared).value_counts().index[:PLACES]]


def at(evidence: Evidence, place: str) -> Evidence:
    """Only the requests of this service. InputError when it answered none, naming those that did."""
    if place == ENGINE:
        return evidence
    its = services(evidence.requests) == place
    if not its.any():
        known = ", ".join(places(evidence)) or "none"
        raise InputError(f"no requests of service {place!r} in this time; there are: {known}")
    return evidence if its.all() else replace(evidence, requests=evidence.requests[its])


def services(requests: pd.DataFrame) -> pd.Series:
    """The service that answered each request."""
    if "service" not in requests:
        return pd.Series(UNNAMED, index=requests.index)
    return requests["service"].astype(str).replace("", UNNAMED)
