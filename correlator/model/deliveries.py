"""Deliveries: notices on their way to targets, waiting to be taken, or dead letters that can be sent again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from correlator.model.notices import Change

PAGE_LIMIT = 500
"""Most deliveries on a page."""


class DeliveryState(StrEnum):
    """What was taken is not kept."""

    WAITING = "waiting"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """`notice_id` is the key that a receiver tells repetitions by; `reason` is why the latest attempt failed."""

    id: int
    target: str
    incident: str
    notice_id: str
    change: Change
    state: DeliveryState
    queued: int
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetState:
    """`trouble` is why the latest attempt failed; None after one that was taken, or before any."""

    name: str
    waiting: int
    dead: int
    bytes: int
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDeliveries:
    """Which deliveries, latest queued first; `before` is the id of the last one of the page before."""

    state: DeliveryState | None = None
    target: str | None = None
    before: int | None = None
    limit: int = 100
