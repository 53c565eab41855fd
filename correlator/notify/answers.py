"""What an answer says, in a few words, without what it repeats of the secrets in a request."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from correlator.model.notices import HttpRequest

MAX_ANSWER_BYTES = 64 << 10
SAID = 200
"""Characters of an answer that are kept to say why it refused."""
SHORTEST_SECRET = 6
"""Shorter values of a request are no secrets: to hide them would hide words."""
SHORTEST_PART = 12
"""The same of what stands between two signs of a URL, where words are frequent."""
_PARTS = re.compile(r"[/?&=:\s]+")


def said(answer: str, private: Collection[str]) -> str:
    """What the answer says, cut only when nothing private is left: half a secret would not be found."""
    text = "".join(sign if sign.isprintable() else " " for sign in hidden(answer, private))
    return f": {' '.join(text.split())[:SAID]}" if text.strip() else ""


def hidden(text: str, private: Collection[str]) -> str:
    """The text without these words, and without their parts that stand between the signs of a URL."""
    parts = [part for word in private for part in _PARTS.split(word) if len(part) >= SHORTEST_PART]
    for word in sorted({*private, *parts}, key=len, reverse=True):
        if len(word) >= SHORTEST_SECRET:
            text = text.replace(word, "…")
    return text


def private(request: HttpRequest, secret: str) -> Collection[str]:
    """What an answer may repeat of secret, address and headers, which nobody else should see."""
    url = urlsplit(request.url)
    values = [secret, request.url, url.path, url.query]
    for value in (*secret.split(), *request.headers.values()):
        values += [value, *value.split()]
    return values
