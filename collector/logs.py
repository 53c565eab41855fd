"""What a process of the live service logs: to standard error, a line each, times in UTC."""

from __future__ import annotations

import logging
import sys
import time

QUIET = ("httpx", "httpcore", "grpc", "asyncio", "uvicorn")
FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s"


class _OneLine(logging.Formatter):
    """Time in UTC, level, logger, text; what has several lines, such as a traceback, in one."""

    def converter(self, seconds: float | None) -> time.struct_time:
        """UTC."""
        return time.gmtime(seconds)

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\\n")


def to_stderr() -> None:
    """From now on; libraries speak up only with warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine(FORMAT, "%Y-%m-%dT%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
