"""Errors as problem details (RFC 9457): one shape for everything that goes wrong, and nothing secret in it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from correlator.model.errors import InputError

MEDIA_TYPE = "application/problem+json"
ERRORS = 20
"""Faults of one request that are told."""


class Fault(BaseModel):
    """One field that is not as it must be."""

    field: str
    expected: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(default="about:blank", description="about:blank: the title says it all.")
    title: str
    status: int
    detail: str = ""
    errors: list[Fault] = Field(default_factory=list, description="The fields at fault, of a request that was invalid.")


class Busy(Exception):
    """No thread is free for this; try again after `retry_after_s` seconds."""

    def __init__(self, detail: str, retry_after_s: int = 5) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


def problem(
    status: int, detail: str = "", headers: Mapping[str, str] | None = None, errors: list[Fault] | None = None
) -> Response:
    """The answer for an error."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors or [])
    return JSONResponse(body.model_dump(), status, headers, media_type=MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, object]]:
    """These errors as OpenAPI responses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def install(app: FastAPI) -> None:
    """Every error of the app becomes a problem."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(InputError, _input)
    app.add_exception_handler(Busy, _busy)
    app.add_exception_handler(Exception, _failed)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "" if error.detail == HTTPStatus(error.status_code).phrase else str(error.detail)
    return problem(error.status_code, detail, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [
        Fault(
            field=".".join(str(part) for part in fault["loc"]), expected=str(fault["msg"]).removeprefix("Value error, ")
        )
        for fault in error.errors()[:ERRORS]
    ]
    kind = request.headers.get("content-type", "")
    untold = request.method == "POST" and "json" not in kind
    hint = "; expected the header Content-Type: application/json" if untold else ""
    return problem(422, f"the request is not as it must be{hint}", errors=faults)


async def _input(request: Request, error: Exception) -> Response:
    return problem(422, str(error))


async def _busy(request: Request, error: Exception) -> Response:
    assert isinstance(error, Busy)
    return problem(503, str(error), {"Retry-After": str(error.retry_after_s)})


async def _failed(request: Request, error: Exception) -> Response:
    return problem(500, "the request failed; the log says why")
