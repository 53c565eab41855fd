"""What a check of `tollens doctor` says, and how the running service is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import httpx

ASK_S = 3.0
T = TypeVar("T")


class State(StrEnum):
    """`off` is a part that this machine lacks: what it would have seen stays unknown."""

    OK = "ok"
    OFF = "off"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at, how it stands, and what that means."""

    name: str
    state: State
    text: str


def asked(host: str, port: int, path: str, read: Callable[[httpx.Response], T], timeout_s: float = ASK_S) -> T | None:
    """What the API at this address answers; None where it does not, or not what was expected."""
    try:
        return read(httpx.get(f"http://{host}:{port}{path}", timeout=timeout_s, trust_env=False))
    except (httpx.HTTPError, KeyError, TypeError, ValueError):
        return None
