"""A segment gives back what was put in, and of a damaged one all that is sound and nothing else."""

import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.model.errors import InputError
from correlator.model.records import Signal
from correlator.model.segments import (
    FRAME_BYTES,
    HEADER_BYTES,
    QUARANTINE,
    SegmentName,
    decode,
    encode,
    parse_name,
    read_segment,
    segment_names,
    set_aside,
    waiting_since,
)

MARK = b"\x93mark\x00\xfe\x17"
marks = st.binary(min_size=8, max_size=8)
payload_lists = st.lists(st.binary(max_size=40), max_size=6)


def is_part_of(few, many):
    """Whether `few` are some of `many`, in their order."""
    rest = iter(many)
    return all(any(one == other for other in rest) for one in few)


@given(mark=marks, payloads=payload_lists)
def test_round_trip(mark, payloads):
    """Any list of requests comes back whole, with nothing torn or lost."""
    content = encode(mark, payloads)
    contents = decode(content)
    assert tuple(payloads) == contents.payloads
    assert (len(content), 0, 0) == (contents.sound_bytes, contents.torn_bytes, contents.lost_bytes)


@given(payloads=payload_lists, cut=st.integers(0, 400))
def test_a_torn_tail_costs_only_the_last(payloads, cut):
    """A segment cut anywhere gives all requests that are whole, and says how many bytes lie behind them."""
    content = encode(MARK, payloads)[:cut]
    whole, end = [], HEADER_BYTES
    for payload in payloads:
        end += FRAME_BYTES + len(payload)
        if end <= cut:
            whole.append(payload)
    contents = decode(content)
    assert tuple(whole) == contents.payloads
    assert (len(content), 0) == (contents.sound_bytes + contents.torn_bytes, contents.lost_bytes)


@given(mark=marks, payloads=payload_lists, place=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_costs_one_request(mark, payloads, place, bit):
    """Any flipped bit costs the request it hits, or none in the header; nothing is made up."""
    content = bytearray(encode(mark, payloads))
    place %= len(content)
    content[place] ^= 1 << bit
    contents = decode(bytes(content))
    assert is_part_of(contents.payloads, payloads)
    hit = 0 if place < HEADER_BYTES else 1
    assert len(payloads) - hit == len(contents.payloads)
    assert bool(hit) == bool(contents.lost_bytes + contents.torn_bytes)


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read(content):
    """Bytes that are no segment hold no requests."""
    assert () == decode(content).payloads


@given(payloads=payload_lists, noise=st.binary(max_size=60), seed=st.randoms())
def test_holes_are_counted(payloads, noise, seed):
    """Noise between two frames is counted as lost, at the end as torn, and costs no request."""
    frames = [encode(MARK, [payload])[HEADER_BYTES:] for payload in payloads]
    place = seed.randint(0, len(frames))
    frames.insert(place, noise)
    contents = decode(encode(MARK, [])[:HEADER_BYTES] + b"".join(frames))
    lost, torn = (len(noise), 0) if place < len(payloads) else (0, len(noise))
    assert (tuple(payloads), lost, torn) == (contents.payloads, contents.lost_bytes, contents.torn_bytes)


def test_a_segment_within_a_request_is_not_read():
    """Behind a damaged frame, frames of another mark inside its payload are not taken for requests."""
    inner = encode(b"stranger", [b"made up"])
    content = bytearray(encode(MARK, [inner, b"next"]))
    content[HEADER_BYTES + FRAME_BYTES] ^= 1
    assert (b"next",) == decode(bytes(content)).payloads


def test_a_damaged_header_costs_nothing():
    """With the whole header gone, the mark of the first frame takes its place."""
    content = bytes(HEADER_BYTES) + encode(MARK, [b"one", b"two"])[HEADER_BYTES:]
    assert (MARK, (b"one", b"two")) == (decode(content).mark, decode(content).payloads)


def test_another_version_is_refused(tmp_path):
    """An intact header of another version is an error that names the file: nothing is taken for damaged."""
    magic = b"TOLLENS\x02"
    path = tmp_path / "segment"
    path.write_bytes(magic + MARK + zlib.crc32(magic + MARK).to_bytes(4, "little"))
    with pytest.raises(InputError, match=r"segment: .*another version"):
        read_segment(path)


@given(signal=st.sampled_from(Signal), number=st.integers(0, 10**20 - 1), sealed=st.booleans())
def test_names_say_signal_and_number(signal, number, sealed):
    """A segment's name is read as it was written."""
    name = SegmentName(number, signal, sealed)
    assert name == parse_name(str(name))


def test_names_tell_the_order(tmp_path):
    """Segments are listed by number, across signals, and other files are left out."""
    names = [SegmentName(number, signal, True) for number, signal in enumerate([*Signal, *Signal] * 2)]
    for name in [*reversed(names), "lock", "quarantine", "traces-1.ready", "traces-00000000000000000001.ready.new"]:
        (tmp_path / str(name)).touch()
    assert names == segment_names(tmp_path)


def test_what_is_set_aside_is_its_owners_alone(tmp_path):
    """Requests hold prompts: in quarantine, as in segments, nobody else may read them."""
    assert 1 == set_aside(tmp_path, SegmentName(1, Signal.LOGS, sealed=True), MARK, [b"secret"])
    (kept,) = (tmp_path / QUARANTINE).iterdir()
    assert (0o600, (b"secret",)) == (kept.stat().st_mode & 0o777, read_segment(kept).payloads)


def test_since_when_segments_wait(tmp_path):
    """The oldest that is sealed tells it, by when it was written; one that still grows does not wait."""
    assert None is waiting_since(tmp_path / "missing")
    for name, second in (("logs", 0), ("traces", 1)):
        sealed = SegmentName(second, Signal(name), sealed=second == 1)
        (tmp_path / str(sealed)).touch()
        os.utime(tmp_path / str(sealed), (second, second))
    assert 1_000_000_000 == waiting_since(tmp_path)
