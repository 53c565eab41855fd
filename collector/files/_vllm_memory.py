"""The figures of vLLM's own assertion that memory was not given back while it profiled, in any version's words.

Bytes before 0.9, GiB since; some versions tell what is free, some what is used. One tells no figure.
"""

import re

from collector.attributes import Value

_GIB = 2**30
_FIGURES = re.compile(
    r"memory profiling\. ?Initial (free|used) ?memory:? ?([\d.]+)( ?GiB)?, ?current(?:ly)? (?:free|used) ?memory:? ?"
    r"([\d.]+?)(?: ?GiB)?\.?(?:\s|$|This)",
    re.IGNORECASE,
)


def profiled(text: str) -> dict[str, Value]:
    """`gpu.memory.free_before_gib` and `…_after_gib` (or `used_…`); empty without figures."""
    match = _FIGURES.search(text)
    if match is None:
        return {}
    unit = 1 if match[3] else _GIB
    try:
        before, after = (round(float(figure) / unit, 2) for figure in (match[2], match[4]))
    except ValueError:
        return {}
    kind = match[1].lower()
    return {f"gpu.memory.{kind}_before_gib": before, f"gpu.memory.{kind}_after_gib": after}
