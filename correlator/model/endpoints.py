"""Where requests go out to, as settings tell it: a base URL, and a file with the headers that go with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from correlator.model.errors import ConfigError

MAX_HEADERS_BYTES = 64 << 10
HTTP = ("http", "https")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)")


def base_url(endpoint: str, schemes: Sequence[str] = HTTP) -> str:
    """The endpoint without a slash at its end. ValueError saying what was expected."""
    expected = f"expected {' or '.join(f'{scheme}://host:port' for scheme in schemes)}, a path may follow"
    try:
        url = urlsplit(endpoint)
        sound = url.scheme in schemes and url.hostname and url.port != 0
    except ValueError:
        sound = False
    if not sound or not endpoint.isascii() or not endpoint.isprintable() or " " in endpoint:
        raise ValueError(expected)
    if "@" in url.netloc or url.query or url.fragment:
        raise ValueError(f"{expected}; credentials belong into headers_file")
    return endpoint.rstrip("/")


def read_headers(path: Path | None, option: str) -> list[tuple[str, str]]:
    """The headers in a file, a line `Name: value` each. ConfigError, naming `option`, never showing what is in it."""
    if path is None:
        return []
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_HEADERS_BYTES + 1).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not plain ASCII"
        raise ConfigError(f"{option} {path}: cannot be read: {reason}") from None
    if len(text) > MAX_HEADERS_BYTES:
        raise ConfigError(f"{option} {path}: expected at most {MAX_HEADERS_BYTES} bytes")
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    matches = [(number, _HEADER.fullmatch(line)) for number, line in lines]
    for number, match in matches:
        if match is None:
            raise ConfigError(f"{option} {path}: line {number}: expected `Name: value`")
    return [(match[1], match[2]) for _, match in matches if match]
