"""What is on its way to targets, and dead letters sent again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from correlator.api.answers import UNCHANGED, tagged
from correlator.api.diagnosis import Count, Moment
from correlator.api.problems import documented
from correlator.api.services import Services
from correlator.api.workers import Workers
from correlator.model.deliveries import PAGE_LIMIT, Delivery, DeliveryState, WantedDeliveries
from correlator.model.moments import rfc3339
from correlator.model.notices import Change

READ = documented(401, 422, 500, 503) | UNCHANGED
LARGEST = (1 << 63) - 1
Id = Annotated[int, Path(ge=1, le=LARGEST)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DeliveryShown(_Body):
    """A notice that waits for a target, or that was given up."""

    id: int
    target: str
    incident: str
    notice_id: str = Field(description="The key by which a receiver knows repetitions; the same in every attempt.")
    change: Change
    state: DeliveryState = Field(description="`dead`: refused, too old, or without room; it can be sent again.")
    queued: Moment
    attempts: Count
    reason: str = Field(description="Why the latest attempt failed; empty before any.")


class TargetShown(_Body):
    """A configured target."""

    name: str
    waiting: Count
    dead: Count
    bytes: Count
    trouble: str | None = Field(description="Why the latest attempt failed; null when it was taken.")


class DeliveryPage(_Body):
    """Deliveries, latest queued first; `next` is the cursor of the following page, null on the last."""

    targets: list[TargetShown]
    deliveries: list[DeliveryShown]
    next: int | None


class Resend(_Body):
    """Whose dead letters are to be sent again."""

    target: Name


class Resent(_Body):
    """How many dead letters wait again."""

    resent: Count


def deliveries(services: Services, readers: Workers) -> APIRouter:
    """Everything under `/api/v1/deliveries`."""
    router = APIRouter(prefix="/api/v1/deliveries")
    outgoing = services.outgoing

    @router.get("", response_model=DeliveryPage, responses=READ)
    async def list_deliveries(
        request: Request,
        state: DeliveryState | None = None,
        target: Name | None = None,
        cursor: Annotated[int | None, Query(ge=1, le=LARGEST, description="`next` of the page before.")] = None,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
    ) -> Response:
        """How targets stand, and the notices that wait for them or were given up."""
        wanted = WantedDeliveries(state=state, target=target, before=cursor, limit=limit)
        found = await readers.run(outgoing.find, wanted)
        targets = [asdict(one) for one in await readers.run(outgoing.targets)]
        return tagged(request, {"targets": targets, **_page(found, limit)})

    @router.post("/resend", response_model=Resent, responses=documented(400, 401, 413, 422, 500, 503))
    async def resend_deliveries(body: Resend) -> dict[str, int]:
        """Send all dead letters of a target again, with their old keys."""
        return {"resent": await readers.run(outgoing.resend, None, body.target)}

    @router.post("/{id}/resend", response_model=Resent, responses=documented(401, 404, 422, 500, 503))
    async def resend_delivery(id: Id) -> dict[str, int]:
        """Send one dead letter again, with its old key."""
        resent = await readers.run(outgoing.resend, id, None)
        if not resent:
            raise HTTPException(404, f"there is no dead letter {id}")
        return {"resent": resent}

    return router


def _page(found: Sequence[Delivery], limit: int) -> dict[str, object]:
    shown = [asdict(one) | {"queued": rfc3339(one.queued)} for one in found]
    return {"deliveries": shown, "next": found[-1].id if len(found) == limit else None}
