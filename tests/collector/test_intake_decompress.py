"""Content encodings: whole streams only, and never more than the limit."""

import gzip
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collector.receiving.decompress import Corrupt, TooLong, decompressed

LIMIT = 1 << 20
COMPRESS = {"gzip": gzip.compress, "zstd": zstandard.compress, "identity": bytes}
REAL = ["gzip", "zstd"]


@pytest.mark.parametrize("encoding", COMPRESS)
@given(body=st.binary(max_size=5000))
def test_what_was_compressed_comes_back(encoding: str, body: bytes) -> None:
    """Every encoding gives back the body."""
    assert body == decompressed(encoding, COMPRESS[encoding](body), LIMIT)


@pytest.mark.parametrize("encoding", REAL)
def test_the_limit_is_exact(encoding: str) -> None:
    """A body as long as the limit passes, one byte more does not."""
    assert LIMIT == len(decompressed(encoding, COMPRESS[encoding](bytes(LIMIT)), LIMIT))
    with pytest.raises(TooLong):
        decompressed(encoding, COMPRESS[encoding](bytes(LIMIT + 1)), LIMIT)


@pytest.mark.parametrize("encoding", REAL)
def test_a_bomb_is_not_unpacked(encoding: str) -> None:
    """200 MB of zeros in a small body take no memory worth speaking of."""
    bomb = COMPRESS[encoding](bytes(200_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(TooLong):
            decompressed(encoding, bomb, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", REAL)
@given(cut=st.integers(0, 10**6))
def test_a_cut_stream_is_corrupt(encoding: str, cut: int) -> None:
    """A stream that ends early is refused, however much of it could be read."""
    whole = COMPRESS[encoding](bytes(range(256)) * 40)
    with pytest.raises(Corrupt):
        decompressed(encoding, whole[: cut % len(whole)], LIMIT)


@pytest.mark.parametrize("encoding", REAL)
def test_nothing_may_follow(encoding: str) -> None:
    """What stands behind the end of the stream is not passed over in silence."""
    for rest in (b"x", b"x" * 2000):
        with pytest.raises(Corrupt):
            decompressed(encoding, COMPRESS[encoding](b"body") + rest, LIMIT)


@pytest.mark.parametrize("encoding", REAL)
@given(body=st.binary(max_size=200))
def test_noise_is_corrupt(encoding: str, body: bytes) -> None:
    """Bytes that were never compressed are refused."""
    with pytest.raises(Corrupt):
        decompressed(encoding, body, LIMIT)


def test_a_wide_window_is_refused() -> None:
    """A zstd frame may not ask for more than 8 MiB of memory by its header."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    body = stream.compress(bytes(100)) + stream.flush()
    with pytest.raises(Corrupt, match="8 MiB"):
        decompressed("zstd", body, LIMIT)
