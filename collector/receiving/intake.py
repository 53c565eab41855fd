"""What both receivers do with a request: let it in within the limits, check it, keep it, count it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from collector.receiving.answers import Reason, Refused
from collector.receiving.metrics import Metrics
from collector.receiving.requests import Checked, Malformed, TooMany, checked_json, checked_protobuf
from collector.receiving.security import guard
from collector.receiving.settings import ReceiverSettings
from collector.sink import Full, Sink
from correlator.model.records import Signal

_BUSY_S = 1.0


@dataclass(slots=True)
class Admission:
    """The place of one request in the intake; `hold` before keeping bytes of it."""

    intake: Intake
    protocol: str
    signal: Signal
    held_bytes: int = 0

    def hold(self, size: int) -> None:
        """Reckon with `size` further bytes. Raises Refused where all requests together would hold too many."""
        limit = self.intake.limits.bytes_in_flight
        if self.intake.bytes_in_flight + size > limit:
            raise Refused(Reason.BUSY, f"requests in flight hold {limit} bytes already", _BUSY_S)
        self.held_bytes += size
        self.intake.bytes_in_flight += size


class Intake:
    """The way to the sink, shared by the receivers of one asyncio loop. Raises ConfigError for a bad token file."""

    def __init__(self, sink: Sink, settings: ReceiverSettings, registry: CollectorRegistry) -> None:
        self.limits = settings.limits
        self.guard = guard(settings)
        self.requests = 0
        self.bytes_in_flight = 0
        self.metrics = Metrics.on(registry, lambda: self.requests, lambda: self.bytes_in_flight)
        self._sink = sink
        self._full_until = 0.0
        self._json = asyncio.Semaphore(1)  # a document takes many times its size

    def ready(self) -> bool:
        """Whether a request would be kept, as far as the last ones tell."""
        return time.monotonic() >= self._full_until

    @contextmanager
    def admit(self, protocol: str, signal: Signal, authorization: str | bytes | None) -> Iterator[Admission]:
        """Room for one request, until its answer. Raises Refused, and counts whatever ends otherwise than well."""
        admission = Admission(self, protocol, signal)
        self.metrics.requests.labels(protocol, signal).inc()
        self.requests += 1
        try:
            self._refuse_early(authorization)
            yield admission
        except Refused as refused:
            self.count_refused(protocol, signal, refused.reason)
            raise
        except (OSError, asyncio.CancelledError):  # also where gRPC itself refuses the message, such as one in zstd
            self.count_refused(protocol, signal, Reason.CUT_OFF)
            raise
        except Exception:
            self.count_refused(protocol, signal, Reason.INTERNAL)
            raise
        finally:
            self.requests -= 1
            self.bytes_in_flight -= admission.held_bytes

    def count_refused(self, protocol: str, signal: str, reason: Reason) -> None:
        """Count a request, or a connection, that is turned away."""
        self.metrics.refused.labels(protocol, signal, reason.label).inc()

    def _refuse_early(self, authorization: str | bytes | None) -> None:
        if not self.guard.admits(authorization):
            raise Refused(Reason.UNAUTHENTICATED, "expected the right bearer token in Authorization")
        if self.requests > self.limits.requests:
            raise Refused(Reason.BUSY, f"{self.limits.requests} requests are in flight already", _BUSY_S)

    async def take_protobuf(self, admission: Admission, payload: bytes) -> Checked:
        """Check and keep a serialized request whose bytes are held; done when it would survive a crash."""
        return await self._keep(admission, _checked(admission.signal, payload))

    async def take_json(self, admission: Admission, text: bytes) -> Checked:
        """Check and keep a request in OTLP JSON whose bytes are held."""
        async with self._json:
            checked = await asyncio.to_thread(_checked_json, admission.signal, text)
        admission.hold(len(checked.payload))
        return await self._keep(admission, checked)

    async def _keep(self, admission: Admission, checked: Checked) -> Checked:
        if checked.records:
            await self._put(admission.signal, checked.payload)
        labels = admission.protocol, admission.signal
        self.metrics.records.labels(*labels).inc(checked.records)
        self.metrics.bytes.labels(*labels).inc(len(checked.payload))
        self.metrics.rejected.labels(*labels).inc(checked.rejected)
        return checked

    async def _put(self, signal: Signal, payload: bytes) -> None:
        try:
            kept = asyncio.wrap_future(self._sink.put(signal, payload))
            # Shielded: who has been handed to the sink is kept, whether or not the sender still waits.
            await asyncio.wait_for(asyncio.shield(kept), self.limits.keep_s)
        except TimeoutError:
            raise Refused(Reason.NOT_KEPT, "keeping the request took too long", _BUSY_S) from None
        except Exception as error:  # kept in the future that the frames of its traceback hold, which hold the request
            raise self._not_kept(error.with_traceback(None)) from None
        self._full_until = 0.0

    def _not_kept(self, error: Exception) -> Refused:
        if not isinstance(error, Full):
            return Refused(Reason.NOT_KEPT, f"the request could not be kept: {type(error).__name__}", _BUSY_S)
        self._full_until = time.monotonic() + error.retry_after_s
        return Refused(Reason.FULL, f"no room: {error}", error.retry_after_s)


def _checked(signal: Signal, payload: bytes) -> Checked:
    try:
        return checked_protobuf(signal, payload)
    except Malformed as error:
        raise Refused(Reason.MALFORMED, str(error)) from None
    except TooMany as error:
        raise Refused(Reason.TOO_LARGE, str(error)) from None


def _checked_json(signal: Signal, text: bytes) -> Checked:
    try:
        return checked_json(signal, text)
    except Malformed as error:
        raise Refused(Reason.MALFORMED, str(error)) from None
    except TooMany as error:
        raise Refused(Reason.TOO_LARGE, str(error)) from None
