"""A refused body is read before it is answered, so that the answer is not lost with a connection that is reset."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from correlator.api.guards import DRAINED, Limited, Token

PART = 64 * 1024
ANSWER = PlainTextResponse("served")
GUARDS = [
    pytest.param(Limited(ANSWER, 1000, {}), 413, id="too large"),
    pytest.param(Token(ANSWER, SecretStr("right")), 401, id="no token"),
]


def refused(guard: Limited | Token, parts: int) -> tuple[int, int]:
    """The status, and how many parts of the body were read before it was sent."""
    read, answered = 0, (0, 0)

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b" " * PART, "more_body": read < parts}

    async def send(message: Message) -> None:
        nonlocal answered
        if message["type"] == "http.response.start":
            answered = (message["status"], read)

    headers = [(b"content-length", str(parts * PART).encode())]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/diagnose", "headers": headers}
    asyncio.run(guard(scope, receive, send))
    return answered


@pytest.mark.parametrize(("guard", "status"), GUARDS)
def test_the_body_is_read_first(guard: Limited | Token, status: int) -> None:
    """All of a small one."""
    assert (status, 3) == refused(guard, 3)


@pytest.mark.parametrize(("guard", "status"), GUARDS)
def test_an_endless_body_is_not_read_to_its_end(guard: Limited | Token, status: int) -> None:
    """No more than the bound."""
    assert (status, DRAINED // PART) == refused(guard, 10_000)


def test_a_body_that_did_not_say_its_length_is_read_first() -> None:
    """What comes beyond the limit is dropped before the refusal, and no more than the bound."""
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b" " * PART, "more_body": read < 10_000}

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()

    async def send(message: Message) -> None:
        pytest.fail("nothing is to be answered here")

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    with pytest.raises(HTTPException, match="at most 1000 bytes"):
        asyncio.run(Limited(served, 1000, {})(scope, receive, send))
    assert 1 + DRAINED // PART == read
