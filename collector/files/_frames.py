"""How OTLP protobuf lies in a file, and its pieces: each a request that decodes by itself.

Three framings are in use: bare (what an exporter posts), a varint length before each request, and the
Collector file exporter's four bytes of length, most significant first.
"""

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

MAX_FRAME = 64 << 20
GROUP = 4 << 20
_RESOURCE = b"\x0a"  # field 1, length-delimited: all that a request holds
_OUTER = (0x0A, 0x12)  # the fields the outer messages begin with
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x80-\xff]")

Frames = Callable[[BinaryIO], Iterator[bytes]]


def framing(head: bytes) -> Frames | None:
    """How to cut the file that begins with `head`; None where no OTLP request begins.

    What it returns raises EOFError where the stream ends inside a request, ValueError where none can begin.
    """
    size, width = _decoded(head)
    if _nests(head, MAX_FRAME):
        found = bare
    elif _nests(head[width:], size):
        found = varint
    elif _nests(head[4:], int.from_bytes(head[:4], "big")):
        found = fixed
    else:
        return None
    return found if _NOT_TEXT.search(head) else None


def bare(stream: BinaryIO) -> Iterator[bytes]:
    """One request, in groups of its resources of about GROUP bytes."""
    group = bytearray()
    try:
        for resource in _resources(stream):
            group += resource
            if len(group) >= GROUP:
                yield bytes(group)
                group.clear()
    except (EOFError, ValueError):
        yield bytes(group)
        raise
    yield bytes(group)


def _resources(stream: BinaryIO) -> Iterator[bytes]:
    while tag := stream.read(1):
        if tag != _RESOURCE:
            raise ValueError("expected nothing but resources in a request")
        prefix = _varint_bytes(stream)
        yield tag + prefix + _body(stream, _decoded(prefix)[0])


def varint(stream: BinaryIO) -> Iterator[bytes]:
    """Requests behind a varint of their length."""
    while prefix := _varint_bytes(stream):
        yield _body(stream, _decoded(prefix)[0])


def fixed(stream: BinaryIO) -> Iterator[bytes]:
    """Requests behind four bytes of their length."""
    while prefix := stream.read(4):
        yield _body(stream, int.from_bytes(prefix, "big"))


def _body(stream: BinaryIO, size: int) -> bytes:
    if size > MAX_FRAME:
        raise ValueError(f"expected a request of at most {MAX_FRAME >> 20} MiB, found a length of {size} bytes")
    body = stream.read(size)
    if len(body) < size:
        raise EOFError(f"cut off in the middle of a request ({len(body)} of {size} bytes)")
    return body


def _varint_bytes(stream: BinaryIO) -> bytes:
    out = b""
    while len(out) < 5 and (byte := stream.read(1)):
        out += byte
        if byte[0] < 0x80:
            break
    return out


def _decoded(data: bytes) -> tuple[int, int]:
    """(value, bytes it takes) of the varint at the start of `data`."""
    value = 0
    for index, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, index + 1
    return value, min(len(data), 5)


def _nests(data: bytes, limit: int, levels: int = 3) -> bool:
    """Does a message of `limit` bytes begin here that holds messages, three deep, each within its parent?"""
    if levels == 0:
        return True
    if len(data) < 2 or limit < 2 or data[0] not in _OUTER:
        return False
    size, width = _decoded(data[1:])
    inside = 1 + width + size
    if size == 0:  # an empty resource or scope: its sibling must do
        return _nests(data[inside:], limit - inside, levels)
    return inside <= limit and _nests(data[1 + width :], size, levels - 1)
