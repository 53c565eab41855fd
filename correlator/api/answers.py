"""Answers with an entity tag, so that a console that polls costs little: unchanged is 304 without a body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from fastapi import Request
from fastapi.responses import Response

UNCHANGED = {304: {"description": "Unchanged since the answer that had this ETag"}}


def tagged(request: Request, body: Mapping[str, object]) -> Response:
    """The object as JSON with its ETag; 304 when the client has it already."""
    content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if _known(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)


def _known(asked: str, tag: str) -> bool:
    tags = {part.strip().removeprefix("W/") for part in asked.split(",")}
    return tag in tags or "*" in tags
