"""Spans that came before: the same trace and span id again is a copy, whatever file it is in."""

from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from collector.files._otlp import SHAPES, drop, record_lists
from correlator.model.records import Batch, Signal

WINDOW = 250_000  # spans a generation; two generations are remembered, some 50 MB at most


@dataclass(slots=True)
class Copies:
    """Remembers at least the last WINDOW spans; a copy that comes later than 2 · WINDOW is not noticed."""

    dropped: int = 0
    _recent: set[bytes] = field(default_factory=set)
    _older: set[bytes] = field(default_factory=set)

    def without(self, batch: Batch) -> Batch:
        """The batch without spans that came before."""
        if batch.signal is not Signal.TRACES:
            return batch
        try:
            request = SHAPES[batch.signal].request.FromString(batch.payload)
        except DecodeError:  # the store refuses it and says so
            return batch
        dropped = sum(drop(spans, self._known) for spans in record_lists(batch.signal, request))
        self.dropped += dropped
        return Batch(batch.signal, request.SerializeToString()) if dropped else batch

    def _known(self, span: Any) -> bool:
        identity = span.trace_id + span.span_id
        if identity in self._recent or identity in self._older:
            return True
        if len(self._recent) >= WINDOW:
            self._older, self._recent = self._recent, set()
        self._recent.add(identity)
        return False
