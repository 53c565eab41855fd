"""Content encodings of OTLP/HTTP, undone up to a limit: a bomb costs no more than an honest body."""

from __future__ import annotations

import zlib

import zstandard

ENCODINGS = ("gzip", "zstd", "identity")

_WINDOW_BYTES = 8 << 20  # what RFC 8878 asks every decoder to support
_SLICE_BYTES = 512  # at most 128 blocks of 128 KiB


class TooLong(ValueError):
    """There is more in it than the limit allows."""


class Corrupt(ValueError):
    """Not one whole stream of its encoding."""


def decompressed(encoding: str, body: bytes, limit_bytes: int) -> bytes:
    """The body without its encoding, one of ENCODINGS. Raises TooLong or Corrupt."""
    if encoding == "gzip":
        return _gunzipped(body, limit_bytes)
    return _unzstd(body, limit_bytes) if encoding == "zstd" else body


def _gunzipped(body: bytes, limit_bytes: int) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    try:
        out = stream.decompress(body, limit_bytes + 1)
    except zlib.error:
        raise Corrupt("the body is not gzip") from None
    return _whole(out, stream.eof, stream.unused_data, limit_bytes)


def _unzstd(body: bytes, limit_bytes: int) -> bytes:
    stream, out = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj(), bytearray()
    view, place = memoryview(body), 0
    try:
        while place < len(view) and not stream.eof and len(out) <= limit_bytes:
            out += stream.decompress(view[place : place + _SLICE_BYTES])
            place += _SLICE_BYTES
    except zstandard.ZstdError:
        raise Corrupt(f"the body is not zstd with a window of at most {_WINDOW_BYTES >> 20} MiB") from None
    return _whole(bytes(out), stream.eof, stream.unused_data or view[place:], limit_bytes)


def _whole(out: bytes, ended: bool, rest: bytes | memoryview, limit_bytes: int) -> bytes:
    if len(out) > limit_bytes:
        raise TooLong(f"the decompressed body is larger than {limit_bytes} bytes")
    if not ended or len(rest):
        raise Corrupt("the compressed body is cut off" if not ended else "the body goes on behind its compressed end")
    return out
