"""Work that the correlator does again and again in threads of its own: loading, retention."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Chore:
    """`work` is done every `every_s` seconds and told where to count. `trouble` is why it failed last, or None."""

    name: str
    every_s: float
    work: Callable[[Counter[str]], None]
    counts: Counter[str] = field(default_factory=Counter)
    trouble: str | None = None

    def once(self) -> None:
        """Do it now. What goes wrong is kept as `trouble`, counted, and logged when it is news."""
        try:
            self.work(self.counts)
            self.trouble = None
        except Exception as error:
            self.counts["failed"] += 1
            trouble = str(error) or type(error).__name__
            if self.trouble != trouble:
                LOG.exception("%s failed; it is tried again in %g s", self.name, self.every_s)
            self.trouble = trouble

    def until(self, stopped: threading.Event) -> None:
        """Do it again and again."""
        while not stopped.is_set():
            self.once()
            stopped.wait(self.every_s)

    def start(self, stopped: threading.Event) -> threading.Thread:
        """The same in a thread."""
        thread = threading.Thread(target=self.until, args=(stopped,), name=self.name, daemon=True)
        thread.start()
        return thread
