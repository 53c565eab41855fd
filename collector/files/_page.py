"""Prometheus text and OpenMetrics: lines → pages, one page a scrape."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO

from collector.files._lines import lines
from collector.files._series import Sample, parse_sample
from collector.files._times import SECOND, time_in, written_unix_nano

MAX_SAMPLES = 200_000  # of one page; one that is longer is cut
_META = re.compile(r'#\s*(HELP|TYPE|UNIT)\s+("(?:[^"\\]|\\.)*"|\S+)\s*(.*)')
_DATED = re.compile(r"#\W*(?:(?:scraped?|time|timestamp|date|at)\b\W*)*[\dTtZz:.,+_ -]+", re.IGNORECASE)
_EOF = re.compile(r"#\s*EOF")
_ESCAPED = re.compile(r'\\([\\n"])')
_SUFFIXES = {
    "counter": ("_total", "_created"),
    "gauge": (),
    "histogram": ("_bucket", "_sum", "_count", "_created"),
    "gaugehistogram": ("_bucket", "_gsum", "_gcount"),
    "summary": ("_sum", "_count", "_created"),
    "info": ("_info",),
    "stateset": (),
    "unknown": (),
    "untyped": (),
}

Fault = Callable[[int, str, str], None]  # line, field, reason


@dataclass(slots=True)
class Page:
    """One scrape. `unix_nano` is the time that a comment above it gives, if any."""

    unix_nano: int | None = None
    openmetrics: bool = False
    types: dict[str, str] = field(default_factory=dict)
    helps: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    undated: set[int] = field(default_factory=set)

    def family(self, name: str) -> tuple[str, str]:
        """(family, suffix) of a sample's name; a name that no type explains is its own family."""
        if name in self.types:
            return name, ""
        family, mark, suffix = name.rpartition("_")
        if mark and f"_{suffix}" in _SUFFIXES[self.types.get(family, "unknown")]:
            return family, f"_{suffix}"
        return name, ""

    def unix_nano_of(self, text: str) -> int:
        """The time written behind a sample, in ns. Raises ValueError where it is none."""
        return written_unix_nano(text, SECOND if self.openmetrics else SECOND // 1000)

    def continued(self, unix_nano: int | None) -> "Page":
        """An empty page with the same families."""
        return Page(unix_nano, self.openmetrics, dict(self.types), dict(self.helps), dict(self.units))

    def note(self, kind: str, name: str, text: str) -> None:
        """Keep what a HELP, TYPE or UNIT line says. Raises ValueError on a type that does not exist."""
        if kind == "TYPE" and text not in _SUFFIXES:
            raise ValueError(f"expected a metric type ({', '.join(_SUFFIXES)}), found {text[:40]!r}")
        {"HELP": self.helps, "TYPE": self.types, "UNIT": self.units}[kind][name] = text

    def has(self, kind: str, name: str) -> bool:
        """Has this page, which already holds samples, said this of the family before?"""
        return bool(self.samples) and name in {"HELP": self.helps, "TYPE": self.types}.get(kind, ())


def pages(stream: BinaryIO, fault: Fault) -> Iterator[Page]:
    """The scrapes of a stream: a new one begins after `# EOF`, at a dated comment, or where a family or an
    undated series comes again."""
    page = Page()
    for number, raw in lines(stream):
        if raw is None:
            fault(number, "", "line is too long")
            continue
        text = raw.decode(errors="replace").strip()
        if not text:
            continue
        try:
            following = _step(page, text, number)
        except ValueError as error:
            fault(number, (text.partition("{")[0].split() or [text])[0][:60], str(error))
            continue
        if following is not None:
            yield page
            page = following
    yield page


def _step(page: Page, text: str, number: int) -> Page | None:
    """Take in one line; the next page if the line belongs to it or ends this one."""
    if not text.startswith("#"):
        return _add(page, parse_sample(text, number))
    if meta := _meta(text):
        kind, name, words = meta
        following = Page() if page.has(kind, name) else None
        (following or page).note(kind, name, words)
        return following
    if _EOF.fullmatch(text):
        page.openmetrics = True
        return Page()
    unix_nano = time_in(text) if _DATED.fullmatch(text) else None
    return None if unix_nano is None else Page(unix_nano)


@lru_cache(maxsize=10_000)
def _meta(text: str) -> tuple[str, str, str] | None:
    match = _META.fullmatch(text)
    return match and (match[1], match[2].strip('"'), _ESCAPED.sub(_unescaped, match[3]))


def _add(page: Page, sample: Sample) -> Page | None:
    following = None
    if len(page.samples) >= MAX_SAMPLES:
        if sample.time is None:
            raise ValueError(f"expected at most {MAX_SAMPLES} samples a scrape")
        following = page = page.continued(page.unix_nano)
    elif sample.time is None and id(sample.series) in page.undated:
        following = page = page.continued(None)
    page.samples.append(sample)
    if sample.time is None:
        page.undated.add(id(sample.series))
    return following


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
