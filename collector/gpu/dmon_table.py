"""The table that `dcgmi dmon` prints → values by entity: columns are cut where the header's tags begin.

An entity (`GPU 0`, `GPU-CI 3`) contains a blank and a field may be missing for it, so white space tells nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from collector.gpu.dcgm_fields import BY_TAG, DcgmField, is_blank

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ENTITY = re.compile(r"(?:GPU|GPU-I|GPU-CI|vGPU|SW|Switch|CPU|Core)(?: \d+)?(?: LINK)? \d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """What one entity tells at one moment."""

    entity: str
    values: tuple[tuple[DcgmField, float], ...]


@dataclass(slots=True)
class Table:
    """Reads line by line; `faults` counts lines and cells that were not as expected, `fault` is the last such line."""

    faults: int = 0
    fault: str = ""
    _columns: list[tuple[int, int | None, DcgmField | None]] = field(default_factory=list)  # start, end, field

    def row(self, line: str) -> Row | None:
        """The row on this line; None for a header, a line of units, an empty line and what is none of these."""
        text = line.rstrip()
        if text.startswith("#"):
            self._columns = _columns(text)
            return None
        if not text or text.split(None, 1)[0].upper() == "ID":
            return None
        entity = " ".join(text[: self._columns[0][0]].split()) if self._columns else ""
        if not _ENTITY.fullmatch(entity):
            self.faults += 1
            self.fault = text[:200]
            return None
        return Row(entity, tuple(self._values(text)))

    def _values(self, text: str) -> list[tuple[DcgmField, float]]:
        cells = [(known, text[start:end].strip()) for start, end, known in self._columns if known]
        read = [(known, self._value(cell)) for known, cell in cells if cell and cell != "N/A"]
        return [(known, value) for known, value in read if value is not None and not is_blank(value)]

    def _value(self, cell: str) -> float | None:
        if _NUMBER.fullmatch(cell):
            return float(cell)
        self.faults += 1
        return None


def _columns(header: str) -> list[tuple[int, int | None, DcgmField | None]]:
    tags = [(match.start(), match[0]) for match in re.finditer(r"\S+", header)]
    found = [(start, tag) for start, tag in tags if tag.lstrip("#") not in ("", "Entity")]
    ends = [*(start for start, _ in found), None][1:]
    return [(start, end, BY_TAG.get(tag)) for (start, tag), end in zip(found, ends, strict=True)]
