"""Schemathesis: whatever the OpenAPI document allows is answered as it says, whatever it forbids is refused."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import settings
from schemathesis.checks import CHECKS
from starlette.types import Receive, Scope, Send

from tests.correlator.api.served import Client, Made

CLIENT = Client(Made())
REFUSED_BY_RIGHT = ["positive_data_acceptance"]
"""The document cannot say that an end comes after its start, or which cursor was given."""


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """The application, its lifespan left to the fixture: schemathesis would begin and end it with every call."""
    if scope["type"] != "lifespan":
        await CLIENT.app(scope, receive, send)
        return
    for step in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{step}.complete"})


@pytest.fixture(scope="module", autouse=True)
def served() -> Iterator[None]:
    with CLIENT:
        yield


@schemathesis.openapi.from_asgi("/api/v1/openapi.json", app).parametrize()
@settings(max_examples=25, deadline=None)
def test_the_document_is_true(case: schemathesis.Case) -> None:
    """Status, content type, body and headers of every answer are as documented, and nothing fails inside."""
    case.call_and_validate(excluded_checks=CHECKS.get_by_names(REFUSED_BY_RIGHT))
