"""Damaged input by the million: receivers, spool recovery and readers end with an answer, never with a crash.

TOLLENS_FUZZ says how many inputs in total, TOLLENS_SEED which. `PLACES` shares them out by what one costs.
"""

import gzip
import os
import random
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collector.receiving.requests import Malformed, TooMany, checked_json, checked_protobuf
from correlator.model.errors import InputError
from correlator.model.records import Signal
from correlator.model.segments import decode, encode
from tests.collector.files.support import read_bytes
from tests.collector.telemetry import KINDS, SOUND

TOTAL = int(os.environ.get("TOLLENS_FUZZ", "3000"))
SEED = int(os.environ.get("TOLLENS_SEED", "0"))
MARK = b"\x01fuzzed\xff"
LARGEST = 6_000
TOKENS = (b"", b"\0", b"\n", b'"', b"{", b"[" * 40, b"}", b"NaN", b"1e999", b"-1", b"9" * 25, b"\xff\xff\xff\xff\x0f")
DATA = Path(__file__).parents[1] / "data"


def damaged(chance: random.Random, sound: bytes, others: list[bytes]) -> bytes:
    """The bytes with a few pieces flipped, cut, doubled, or replaced by a token or a piece of another input."""
    content = bytearray(sound)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 6))):
        start = chance.randint(0, len(content))
        stop = min(len(content), start + chance.choice((0, 1, 1, 2, 8, 60)))
        piece, other = bytes(content[start:stop]), chance.choice(others)
        at = chance.randint(0, len(other))
        flipped = bytes(byte ^ 1 << chance.randrange(8) for byte in piece)
        borrowed = other[at : at + chance.choice((1, 20, 200))]
        made_up = chance.randbytes(chance.choice((1, 4, 16)))
        content[start:stop] = chance.choice((flipped, flipped, flipped, b"", piece * 2, borrowed, made_up, *TOKENS[:4]))
        if chance.random() < 0.2:
            content[start:start] = chance.choice(TOKENS)
    return bytes(content[: chance.randint(0, len(content))] if chance.random() < 0.05 else content)


def protobuf(content: bytes) -> str:
    """As a request of each signal: sound, in part, or refused; what is kept can be read."""
    seen = Counter[str]()
    for signal in Signal:
        try:
            KINDS[signal].FromString(checked_protobuf(signal, content).payload)
            seen["kept"] += 1
        except (Malformed, TooMany):
            seen["refused"] += 1
    return "kept" if seen["kept"] else "refused"


def json_(content: bytes) -> str:
    """As a request in OTLP JSON."""
    for signal in Signal:
        try:
            KINDS[signal].FromString(checked_json(signal, content).payload)
            return "kept"
        except (Malformed, TooMany):
            pass
    return "refused"


def segment(content: bytes) -> str:
    """As a segment of the spool: every byte is accounted for."""
    try:
        found = decode(content)
    except InputError:
        return "refused"
    assert min(len(content), found.sound_bytes) + found.torn_bytes == len(content)
    return "kept" if found.payloads else "refused"


def file(content: bytes) -> str:
    """As a file of unknown format: batches or problems, and no reader gave up on it."""
    batches, problems = read_bytes(content, "1796000000.x")
    assert batches or problems
    assert [] == [problem for problem in problems if "gave up" in problem.reason]
    return "kept" if batches else "refused"


def requests() -> list[bytes]:
    return [*SOUND.values(), *(path.read_bytes()[:LARGEST] for path in sorted(DATA.glob("otlp/*/*.pb")))]


def documents() -> list[bytes]:
    captures = sorted(DATA.glob("captures/s01*/*.jsonl.gz"))
    return [line[:LARGEST] for path in captures for line in gzip.decompress(path.read_bytes()).splitlines()[:3]]


def segments() -> list[bytes]:
    payloads = list(SOUND.values())
    return [encode(MARK, payloads * 3), encode(MARK, payloads[:1]), encode(MARK, [b"", b"x" * 500])]


def files() -> list[bytes]:
    """The beginnings of what was recorded, and a few examples."""
    captures = sorted(DATA.glob("captures/s01*/*.gz")) + sorted(DATA.glob("captures/s01*/scrape/*.gz"))[:1]
    heads = [gzip.decompress(path.read_bytes())[:LARGEST] for path in captures]
    return [*heads, *members(sorted(DATA.glob("h100-pairs/*.tar.xz"))[0]), *requests()[:2], *EXAMPLES]


def members(archive: Path) -> list[bytes]:
    """The beginning of one file of each kind."""
    with tarfile.open(archive) as pair:
        kinds = {Path(member.name).suffix: member for member in pair.getmembers() if member.isfile()}
        parts = [pair.extractfile(member) for member in kinds.values()]
        return [part.read(LARGEST) for part in parts if part is not None]


EXAMPLES = [
    b"2026-11-30 05:06:07,123 ERROR app: refused\nTraceback (most recent call last):\n  File\nKeyError: 1\n",
    b'{"ts":"2026-11-30T05:06:07Z","level":"error","msg":"x","trace_id":"' + b"a" * 32 + b'"}\n',
]
PLACES: dict[str, tuple[float, Callable[[bytes], str], Callable[[], list[bytes]]]] = {
    "protobuf": (0.5, protobuf, requests),
    "segment": (0.42, segment, segments),
    "json": (0.06, json_, documents),
    "file": (0.02, file, files),
}


@pytest.mark.parametrize("place", PLACES)
def test_damaged_input_is_answered(place: str) -> None:
    """Each gives a result or a refusal; both happen, so the damage is neither too small nor too large."""
    share, taken, sound = PLACES[place]
    chance = random.Random(f"{SEED} {place}")
    answers = Counter(tried(taken, content) for content in inputs(chance, sound(), int(TOTAL * share)))
    print(place, dict(answers))
    assert {"kept", "refused"} == set(answers)


def inputs(chance: random.Random, sound: list[bytes], number: int) -> Iterator[bytes]:
    return (damaged(chance, chance.choice(sound), sound) for _ in range(number))


def tried(taken: Callable[[bytes], str], content: bytes) -> str:
    try:
        return taken(content)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} for {content!r}") from error
