"""Application logs whose stamps leave the year out (klog, syslog): `app_log`, but read after the files that
know the year."""

from collector.files import app_log
from collector.files._app_text import has_no_year
from collector.files._contract import Reader, Source
from collector.files._log_lines import LINE_LIMIT, text_of

SURER = 0.01  # than `app_log`, which reads the same lines


def accepts(source: Source) -> float:
    """A little surer than `app_log` where most lines that begin a record have no year; else 0."""
    score = app_log.accepts(source)
    if not score:
        return 0.0
    texts = [text_of(line[:LINE_LIMIT]) for line in source.head.split(b"\n")[:500]]
    yearless = sum(map(has_no_year, texts))
    return score + SURER if 2 * yearless > sum(map(app_log.begins, texts)) else 0.0


READER = Reader(id="yearless_log", accepts=accepts, read=app_log.read, needs_year=True)
