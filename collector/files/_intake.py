"""Each source to its reader, sources without a year last, and what readers need not care about."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from statistics import median_low

from collector.files._contract import Options, Reader
from collector.files._copies import Copies
from collector.files._otlp import first_time
from collector.files._registry import readers
from collector.files._walk import Found, walk
from correlator.model.records import Batch, Problem

MAX_PROBLEMS = 20  # of one kind told one by one for a file; the others are counted
MAX_TIMES = 10_000  # batches whose time is remembered for the median


def read_all(paths: Sequence[str], options: Options, progress: Callable[[str], None]) -> Iterator[Batch | Problem]:
    """Sources with a year as they are met, then the others with the median time of the first."""
    copies, times = Copies(), list[int]()
    waiting: list[tuple[Found, Reader]] = []
    with ExitStack() as spools:
        for match in _matches(paths, spools):
            if isinstance(match, Problem):
                yield match
            elif match[1].needs_year:
                waiting.append(match)
            else:
                progress(match[0].source.name)
                yield from _timed(_read(*match, options, copies), times)
        if times and options.near_unix_nano is None:
            options = replace(options, near_unix_nano=median_low(times))
        for match in waiting:
            progress(match[0].source.name)
            yield from _read(*match, options, copies)


def _matches(paths: Sequence[str], spools: ExitStack) -> Iterator[tuple[Found, Reader] | Problem]:
    likely = list(readers())
    for found in walk(paths, spools):
        if isinstance(found, Problem):
            yield found
            continue
        reader = choose(found, likely)
        yield reader if isinstance(reader, Problem) else (found, reader)


def _timed(items: Iterator[Batch | Problem], times: list[int]) -> Iterator[Batch | Problem]:
    """The items as they are; the first time of each batch is noted."""
    for item in items:
        if isinstance(item, Batch) and len(times) < MAX_TIMES:
            times.extend(filter(None, [first_time(item)]))
        yield item


def choose(found: Found, likely: list[Reader]) -> Reader | Problem:
    """The reader that is surest of the source, or why there is none; the one chosen is asked first next time."""
    source = found.source
    if not source.head:
        return Problem(source.name, (found.faults or ["file is empty"])[0], kind="unreadable")
    best, best_score = likely[0], 0.0
    for reader in likely:
        score = reader.accepts(source)
        if (score, reader.id) > (best_score, best.id):
            best, best_score = reader, score
        if score >= 1:
            break
    if best_score > 0:
        likely.remove(best)
        likely.insert(0, best)
        return best
    if b"\0" in source.head:
        return Problem(source.name, "binary content of no known format", kind="unreadable")
    known = ", ".join(sorted(reader.id for reader in likely))
    return Problem(source.name, f"content of no known format (known: {known})", kind="unsupported")


def _read(found: Found, reader: Reader, options: Options, copies: Copies) -> Iterator[Batch | Problem]:
    return _bounded(_all(found, reader, options, copies))


def _all(found: Found, reader: Reader, options: Options, copies: Copies) -> Iterator[Batch | Problem]:
    """One source; an error inside its reader, a copied span or damaged compression becomes a Problem."""
    name, before, is_empty = found.source.name, copies.dropped, True
    try:
        for item in reader.read(found.source, options):
            is_empty = False
            yield copies.without(item) if isinstance(item, Batch) else item
    except Exception as error:  # a reader's own fault must not cost the other files
        reason = f"{reader.id} gave up after what was read so far ({type(error).__name__}: {error})"
        yield Problem(name, reason, kind="unreadable")
        is_empty = False
    if is_empty:
        yield Problem(name, f"{reader.id} found no record in it", kind="unreadable")
    if copies.dropped > before:
        reason = "span with the same trace and span id as an earlier one; the copy is left out"
        yield Problem(name, reason, kind="duplicate", count=copies.dropped - before)
    for fault in found.faults:
        yield Problem(name, fault, kind="truncated")


def _bounded(items: Iterator[Batch | Problem]) -> Iterator[Batch | Problem]:
    """The first problems of each kind as they are, the others of one file as one with their count."""
    told, kept_back = Counter[str](), Counter[str]()
    source = ""
    for item in items:
        if isinstance(item, Batch):
            yield item
            continue
        source = item.source
        told[item.kind] += 1
        if told[item.kind] <= MAX_PROBLEMS:
            yield item
        else:
            kept_back[item.kind] += item.count
    for kind, count in kept_back.items():
        yield Problem(source, "more of the same kind, not listed one by one", kind, count=count)
