"""Reading in a process of its own, begun ahead: it takes a second of Python, and the engine starts meanwhile."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Self

from collector.files._contract import Options
from correlator.model.errors import TollensError
from correlator.model.orphan import SUPERVISED
from correlator.model.records import Batch, Problem


class ReadingError(TollensError):
    """The process that reads ended before all was read; its own words are on standard error."""


class Aside:
    """Readings that were begun. Leaving the context ends those that still run."""

    def __init__(self) -> None:
        self._begun: list[tuple[Sequence[str], subprocess.Popen[bytes]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, process in self._begun:
            process.kill()
            process.stdout.close()  # type: ignore[union-attr]
            process.wait()

    def begin(self, paths: Sequence[str], options: Options) -> None:
        """Start reading `paths`; the process waits when nobody takes what it read."""
        command = [sys.executable, "-P", "-m", "collector.files", json.dumps(asdict(options)), *paths]
        ours = os.environ | {SUPERVISED: str(os.getpid())}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:  # Ctrl-C is sent to both: this process answers it and ends that one, which is born with it blocked
            process = subprocess.Popen(command, stdin=sys.stdin, stdout=subprocess.PIPE, env=ours)
            self._begun.append((paths, process))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def read(
        self, paths: Sequence[str], options: Options, progress: Callable[[str], None] | None = None
    ) -> Iterator[Batch | Problem]:
        """Like `collector.files.read`, once for each beginning. ReadingError when the process ended early."""
        process = next(process for begun, process in self._begun if begun is paths)
        for item in _taken(process):
            if not isinstance(item, str):
                yield item
            elif progress:
                progress(item)


def _taken(process: subprocess.Popen[bytes]) -> Iterator[str | Batch | Problem]:
    assert process.stdout is not None
    try:
        while (item := pickle.load(process.stdout)) is not None:
            yield item
    except (EOFError, pickle.UnpicklingError):
        raise ReadingError(f"reading ended early, exit code {process.wait()}") from None
