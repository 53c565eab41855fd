"""What the tests of the spool share: reading it back, and waiting for it."""

import time

from correlator.model.segments import read_segment, segment_names


def spooled(folder):
    """All requests in the segments of a spool, by their order, as (signal, payload)."""
    return [
        (name.signal, payload)
        for name in segment_names(folder)
        for payload in read_segment(folder / str(name)).payloads
    ]


def payloads(folder):
    return [payload for _, payload in spooled(folder)]


def ready(folder):
    return [name for name in segment_names(folder) if name.sealed]


def wait_until(true, timeout_s=20.0):
    """Return as soon as `true()`; fail after the time-out."""
    end = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)
