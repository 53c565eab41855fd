"""Numbers, times and names as people read them, and text made safe to show.

Everything that came with telemetry (services, messages, trace ids) is hostile until it went through `clean`.
"""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from correlator.model.worth import ENDLESS

if TYPE_CHECKING:  # the model's evidence needs pandas; printing does not
    from correlator.model.evidence import Interval, Window

UNKNOWN = "unknown"
TEXT_LIMIT = 1000
"""Characters of one text that are shown."""


def clean(text: str, limit: int = TEXT_LIMIT) -> str:
    """One line of visible characters: no control, direction-changing or half characters, bounded."""
    line = " ".join(_printable(text[: limit + 1]).split())
    return line if len(text) <= limit else line[: limit - 1] + "…"


def block(text: str, limit: int = TEXT_LIMIT) -> str:
    """Like `clean`, but lines and their indentation stay: for commands."""
    lines = (_printable(line) for line in text[:limit].splitlines())
    return "\n".join(lines) + ("…" if len(text) > limit else "")


def _printable(text: str) -> str:
    return "".join(" " if c.isspace() else c for c in text if c.isspace() or _visible(c))


def _visible(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"}


def plain_name(name: str) -> str:
    """`ledger.pool_wait` → `pool wait`."""
    return clean(name.removeprefix("ledger.").replace("_", " "))


def quantity(value: float | None, unit: str = "", *, signed: bool = False) -> str:
    """A value with its unit (UCUM, or "ratio"); the sign is always shown when `signed`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if unit == "ratio":
        return f"×{significant(value)}"
    if unit == "s" and abs(value) < 1e-9:  # less than the clock's step: rounding, not time
        return "0 s"
    sign = "-" if value < 0 else "+" if signed and value > 0 else ""
    return sign + _magnitude(abs(value), unit)


def _magnitude(value: float, unit: str) -> str:
    if unit == "s":
        return seconds(value)
    if unit == "1":
        return percent(value) if value <= 1 else significant(value)
    return f"{_trimmed(value) if unit else significant(value)} {_counted(unit)}".rstrip()


def _counted(unit: str) -> str:
    """`{token}/s` → `tokens/s`."""
    head, brace, tail = unit.partition("}")
    return clean(head.removeprefix("{") + "s" + tail if brace else unit)


def capital(sentence: str) -> str:
    """The same with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]


def seconds(value: float) -> str:
    """Seconds in the unit that needs the fewest digits."""
    if value == 0 or value >= 0.9995:
        return f"{_trimmed(value)} s"
    return f"{_trimmed(value * 1e3)} ms" if value >= 1e-4 else f"{_trimmed(value * 1e6)} µs"


def _trimmed(value: float) -> str:
    text = significant(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def significant(value: float) -> str:
    """Three significant digits, thousands marked, no exponent where people would not write one."""
    size = abs(value)
    if size and not 1e-4 <= size < 1e12:
        return f"{value:.2e}"
    decimals = 0 if size >= 99.95 or size == 0 else 2 - math.floor(math.log10(size))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals > 2 else text


def percent(value: float | None) -> str:
    """A share of 1 in percent; one decimal below ten, and never a false 0% or 100%."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if abs(value) < 0.001:
        return "under 0.1%" if abs(value) > 1e-12 else "0%"
    if 0.995 <= value < 1:
        return "over 99%"
    return f"{value * 100:.0f}%" if abs(value) >= 0.0995 else f"{value * 100:.1f}%"


def interval(effect: Interval) -> str:
    """`×2.10 (1.62 to 2.71)`: the value and its 90% interval; a unitless effect is no percentage.

    What was read off events has no interval; the ratio to what hardly ever occurred before may have no upper end.
    """
    unit = "" if effect.unit == "1" else effect.unit
    value, low, high = (quantity(x, unit) for x in (effect.value, effect.low, effect.high))
    if effect.low == effect.high:
        return value
    upper = "and more" if effect.high >= ENDLESS else f"to {high.removeprefix('×')}"
    return f"{value} ({low.removeprefix('×')} {upper})"


def effect(change: Interval) -> str:
    """`×2.10 (90% interval 1.62 to 2.71)`: the same for a sentence."""
    return interval(change).replace("(", "(90% interval ")


def share(part: Interval | None) -> str:
    """A share of the symptom with its interval."""
    return "" if part is None else f"{percent(part.value)} ({percent(part.low)} to {percent(part.high)})"


def moment(unix_nano: int) -> str:
    """`2026-11-30 03:35:16 UTC`."""
    return f"{_utc(unix_nano):%Y-%m-%d %H:%M:%S} UTC"


def stretch(window: Window) -> str:
    """`2026-11-30 03:35:16 to 03:36:30 UTC (74 s)`."""
    start, end = _utc(window.start), _utc(window.end)
    until = f"{end:%H:%M:%S}" if end.date() == start.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{start:%Y-%m-%d %H:%M:%S} to {until} UTC ({seconds(window.seconds)})"


def _utc(unix_nano: int) -> datetime:
    return datetime.fromtimestamp(unix_nano // 1_000_000_000, UTC)


def clock(unix_nano: int) -> str:
    """`03:35:16`, UTC."""
    return f"{_utc(unix_nano):%H:%M:%S}"
