"""`nvidia-smi -q`: sections by indentation, `Key : Value` lines, a block for each GPU; and `-q -x`, the same as XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree

from collector.files._gpu_fields import Told
from collector.files._local_clock import naive_unix_nano
from collector.files._smi_paths import Report, closed, normal
from correlator.model.records import Problem

_BLOCK = re.compile(r"^(.*?)\bGPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_PAIR = re.compile(r"^(\s*)(\S.*?)\s+: ?(.*?)\s*$")
_SECTION = re.compile(r"^(\s*)(\S.*?)\s*$")
REPORT = re.compile(r"=+\s*NVSMI LOG\s*=+")
XML = re.compile(r"<nvidia_smi_log>|<!DOCTYPE nvidia_smi_log")


def blocks(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Told | Problem]:
    """Each GPU of a text report. What stands before every line alike (a quote mark, a prefix) only moves the indent."""
    report: Report | None = None
    stack: list[tuple[int, str]] = []
    unix_nano, index, cut = None, 0, 0
    for line, text in lines:
        if REPORT.search(text):
            yield from closed(report)
            report, unix_nano, index = None, None, 0
        elif match := _BLOCK.match(text):
            yield from closed(report)
            report = Report(line, unix_nano, index, {"pci.bus_id": match[2]})
            stack, index, cut = [], index + 1, len(match[1])
        elif pair := _PAIR.match(text[cut:] if report else text):
            key = normal(pair[2])
            if report is None:
                if key.endswith("timestamp"):
                    unix_nano = naive_unix_nano(pair[3])
                continue
            _down_to(stack, len(pair[1]))
            report.add((*(section for _, section in stack), key), pair[3])
            stack.append((len(pair[1]), key))
        elif report and (section := _SECTION.match(text[cut:])):
            _down_to(stack, len(section[1]))
            stack.append((len(section[1]), normal(section[2])))
    yield from closed(report)


def _down_to(stack: list[tuple[int, str]], indent: int) -> None:
    while stack and stack[-1][0] >= indent:
        stack.pop()


def elements(name: str, lines: Iterable[tuple[int, str]]) -> Iterator[Told | Problem]:
    """Each GPU of one XML document or of several in a row; a cut document gives the GPUs that are whole."""
    reader: _Document | None = None
    for line, text in lines:
        if "<?xml" in text or (reader is None and ("<nvidia_smi_log" in text or "<!DOCTYPE" in text)):
            reader = _Document()
            text = text[text.find("<") :]
        if reader is None:
            continue
        try:
            yield from reader.feed(line, text + "\n")
        except ElementTree.ParseError as error:
            yield Problem(name, f"XML is broken here ({error}); the GPUs before it are used", "truncated", line)
            reader = None
        if reader is not None and reader.ended:
            reader = None
    if reader is not None:
        yield Problem(name, "XML ends before </nvidia_smi_log>; the GPUs that are whole are used", "truncated")


class _Document:
    """One XML document as its lines come; a GPU's tree is dropped once it is read."""

    def __init__(self) -> None:
        self._parser: ElementTree.XMLPullParser[Any] = ElementTree.XMLPullParser(["end"])
        self._unix_nano: int | None = None
        self._driver = ""
        self._index = 0
        self.ended = False

    def feed(self, line: int, text: str) -> Iterator[Told]:
        """GPUs that are whole with this line. Raises ParseError."""
        self._parser.feed(text)
        for event in self._parser.read_events():
            element: Any = event[-1]  # an end event carries its element
            if element.tag == "timestamp":
                self._unix_nano = naive_unix_nano(element.text or "")
            elif element.tag == "driver_version":
                self._driver = (element.text or "").strip()
            elif element.tag == "nvidia_smi_log":
                self.ended = True
            elif element.tag == "gpu" and element.get("id"):
                yield self._gpu(line, element)
                element.clear()

    def _gpu(self, line: int, element: ElementTree.Element) -> Told:
        first = {"pci.bus_id": element.get("id", ""), "driver_version": self._driver}
        report = Report(line, self._unix_nano, self._index, first)
        self._index += 1
        for path, value in _leaves(element, ()):
            report.add(path, value)
        return report.told()


def _leaves(element: ElementTree.Element, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for child in element:
        below = (*path, normal(str(child.tag)))
        if len(child):
            yield from _leaves(child, below)
        else:
            yield below, (child.text or "").strip()
