"""Samples the GPUs of this host through NVML: memory, load, clocks, power, heat, errors, links, processes, MIG, Xid.

Without driver or library the part is off and says so; a GPU that falls off the bus is an event, the others go on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collector.gpu.events import Xid
from collector.gpu.faults import Faults
from collector.gpu.nvml import NVMLError
from collector.gpu.otlp import Attributes, Batch, Reading, event_request, metrics_request
from collector.gpu.outbox import Outbox
from collector.gpu.processes import Owners
from collector.gpu.session import Session
from collector.gpu.settings import DcgmiSettings, GpuSettings
from collector.sink import Sink
from correlator.model.records import Signal

__all__ = ["DcgmiSettings", "GpuDevice", "GpuSettings", "GpuState", "NvmlSampler"]

SCOPE = "gpu_nvml"
SLICE_S = 0.2
"""Longest wait for an Xid before asking whether to stop."""
XIDS_A_SAMPLE = 100
"""Xids told between two samples; of a storm no more is worth keeping."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU or MIG device; `missing` maps each absent reading to NVML's reason, `errors` counts passing ones."""

    resource: dict[str, object]
    missing: dict[str, str]
    errors: dict[str, int]


@dataclass(frozen=True, slots=True)
class GpuState:
    """`available` is None before the first try; False comes with a reason and never means that all is well.

    Keys of `counts`: samples, skipped_samples, xids, xid_storms (rest of a storm not told), xid_failures (waiting
    failed), faults, reopened, internal_errors, and those of Outbox.
    """

    available: bool | None
    reason: str
    unix_nano: int | None
    devices: tuple[GpuDevice, ...]
    given_up: dict[int, str]
    counts: dict[str, int]


class NvmlSampler:
    """Samples from `start` to `stop`, in a thread of its own."""

    def __init__(self, settings: GpuSettings, sink: Sink, unix_nano: Callable[[], int] = time.time_ns) -> None:
        self._settings, self._unix_nano = settings, unix_nano
        self._outbox = Outbox(sink)
        self._host: Attributes = {"host.name": settings.host_name}
        self._thread = threading.Thread(target=self._run, name=SCOPE, daemon=True)
        self._stopping = threading.Event()
        self._session: Session | None = None
        self._faults = Faults()
        self._available: bool | None = None
        self._reason = ""
        self._last_unix_nano: int | None = None
        self._counts: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to sample; once only."""
        self._thread.start()

    def stop(self, grace_s: float = 5.0) -> None:
        """Take no further sample and let what was taken reach the sink."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(grace_s)
        self._outbox.drain(grace_s)

    def state(self) -> GpuState:
        """What is sampled now, and what is not."""
        session = self._session
        devices = session.devices if session else ()
        given_up = dict(session.given_up) if session else {}
        return GpuState(
            self._available,
            self._reason,
            self._last_unix_nano,
            tuple(GpuDevice(dict(d.resource), dict(d.missing), dict(d.errors)) for d in devices),
            {index: str(NVMLError(error)) for index, (_, error) in given_up.items()},
            {**self._counts, **self._outbox.counts},
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._sample_until_broken()
            except NVMLError as error:
                self._tell(False, str(error))
            except Exception:
                self._counts["internal_errors"] += 1
                _LOG.exception("sampling failed in an unexpected way")
                self._tell(False, "unexpected error, see the log")
            self._stopping.wait(self._settings.interval_s if self._available else self._settings.retry_s)

    def _sample_until_broken(self) -> None:
        """Sample with one open NVML, until it should be opened anew. Raises NVMLError."""
        session = self._session = Session(self._host, Owners(self._settings.proc))
        try:
            opened = due = time.monotonic()
            while not self._stopping.is_set():
                self._sample(session)
                self._tell_faults(session)
                if session.has_changed() or (session.given_up and time.monotonic() - opened > self._settings.retry_s):
                    self._counts["reopened"] += 1
                    return
                missed = max(0, int((time.monotonic() - due) // self._settings.interval_s))
                self._counts["skipped_samples"] += missed
                due += (missed + 1) * self._settings.interval_s
                self._listen(session, due)
        finally:
            self._session = None
            session.close()

    def _sample(self, session: Session) -> None:
        batches = [(d.resource, self._unix_nano(), r) for d, r in session.sample(time.monotonic()) if r]
        self._counts["samples"] += 1
        self._last_unix_nano = self._unix_nano()
        self._tell(bool(batches), "" if batches else "no GPU answers", batches)

    def _tell(self, available: bool, reason: str, batches: Sequence[Batch] = ()) -> None:
        """Give the readings to the sink, and with them whether there are any GPUs to read."""
        if (available, reason) != (self._available, self._reason):
            _LOG.log(
                logging.INFO if available else logging.WARNING,
                "GPU sampling is %s",
                "on" if available else f"off: {reason}",
            )
        self._available, self._reason = available, reason
        told = Reading("tollens_gpu_available", "1", int(available), attributes={"reason": reason} if reason else {})
        payload = metrics_request(SCOPE, [*batches, (self._host, self._unix_nano(), [told])])
        self._outbox.sample(Signal.METRICS, payload)

    def _tell_faults(self, session: Session) -> None:
        for fault in self._faults.new(session):
            self._counts["faults"] += 1
            self._event(fault.resource, fault.event, fault.reason, {"reason": fault.reason})

    def _listen(self, session: Session, until: float) -> None:
        """Spend the time until then (monotonic s) waiting for Xids."""
        left = XIDS_A_SAMPLE if not session.xids.deaf else 0
        while not self._stopping.is_set() and (pause := until - time.monotonic()) > 0:
            if left == 0:
                self._stopping.wait(pause)
                continue
            try:
                xid = session.xids.wait(min(pause, SLICE_S))
            except NVMLError:
                self._counts["xid_failures"] += 1
                left = 0
                continue
            if xid is not None:
                left -= 1
                self._counts["xid_storms"] += left == 0
                self._tell_xid(xid)

    def _tell_xid(self, xid: Xid) -> None:
        self._counts["xids"] += 1
        attributes = {"xid": xid.code} | ({} if xid.instance is None else {"gpu_instance_id": xid.instance})
        self._event(xid.device.resource if xid.device else self._host, "xid", f"Xid {xid.code}", attributes)

    def _event(self, resource: Attributes, event: str, what: str, attributes: Attributes) -> None:
        body = f"{what} on GPU {resource.get('gpu', '?')} ({resource.get('hw.id', 'unknown')})"
        _LOG.warning("%s", body)
        device = {"hw.id": resource["hw.id"]} if "hw.id" in resource else {}
        payload = event_request(SCOPE, resource, self._unix_nano(), f"tollens.{event}", body, {**attributes, **device})
        self._outbox.event(Signal.LOGS, payload)
