"""What nvidia-smi prints, in any of its forms: CSV of a query, the table, `-q` as text or XML.

Its clock has no zone; the other files of the same input tell it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from collector.files._contract import Options, Reader, Source
from collector.files._gpu_fields import Told
from collector.files._gpu_samples import Undated, dated, requests
from collector.files._log_lines import LogLines, text_of
from collector.files._share import score
from collector.files._smi_csv import header_of, lacks_header, rows
from collector.files._smi_report import REPORT, XML, blocks, elements
from collector.files._smi_table import TABLE, tables
from correlator.model.records import Batch, Problem

SURE, PERHAPS = 0.97, 0.4
"""Rows that have lost their header are told from other CSV by their stamp alone."""
_HEAD_LINES = 400
_ROWS = {
    "csv": re.compile(r"\s*(?:\d{4}/\d\d/\d\d [\d:.]+|GPU-\S+|[\dA-F.:]+(?: [%A-Za-z]+)?|N/A|NVIDIA [^,]+|P\d+), "),
    "table": re.compile(r"\s*[|+]"),
    "report": re.compile(r"\s*(?:==|GPU [\dA-F]{8}:)|\s+\S.*\s: |\s{4,}[A-Z][\w ]+$"),
    "xml": re.compile(r"\s*<"),
}


def accepts(source: Source) -> float:
    """By the header of a query, the table's or the report's title, and the share of lines of that form."""
    form = _form(source)
    if form in _ROWS:
        return score(source, SURE, lambda text: _ROWS[form].match(text) or (form == "csv" and header_of(text)))
    return score(source, PERHAPS, lacks_header) if form else 0.0


def read(source: Source, options: Options) -> Iterator[Batch | Problem]:
    """Readings named as the NVML sampler names them."""
    units: dict[str, str] = {}
    with source.open() as stream:
        lines = ((number, text_of(raw)) for number, raw in LogLines(stream))
        told = _told(source.name, _form(source), lines, units)
        yield from requests(source, READER.id, dated(source, options, told, Undated(None)), units)


def _told(name: str, form: str, lines: Iterable[tuple[int, str]], units: dict[str, str]) -> Iterator[Told | Problem]:
    if form in ("csv", "headless"):
        return rows(name, lines, units)
    if form == "xml":
        return elements(name, lines)
    return (blocks if form == "report" else tables)(name, lines)


def _form(source: Source) -> str:
    """Which of its forms this is; "" for none."""
    texts = [text_of(line[:4_096]) for line in source.head.split(b"\n")[:_HEAD_LINES]]
    for text in texts:
        if XML.search(text):
            return "xml"
        if REPORT.search(text):
            return "report"
        if TABLE.search(text):
            return "table"
        if header_of(text):
            return "csv"
    return "headless" if any(map(lacks_header, texts[:20])) else ""


READER = Reader(id="nvidia_smi", accepts=accepts, read=read, needs_year=True)
