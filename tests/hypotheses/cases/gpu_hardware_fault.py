"""Worlds for `gpu_hardware_fault`."""

from correlator.model.evidence import Event
from correlator.model.findings import Verdict
from correlator.model.names import Events
from tests.hypotheses.evidence import ALL_SOURCES, Case, event, served, window

WATCHED = ALL_SOURCES | {"kernel_log"}


def xid(code: int, after: float) -> Event:
    """An Xid `after` seconds from the onset."""
    told = event(Events.XID, after)
    return Event(told.name, told.unix_nano, "GPU-1", "", {"xid": str(code)})


def failing(*events: Event, watched: frozenset[str] = WATCHED) -> Case:
    """Requests that fail, with these events."""
    return Case(
        window(served(), then=served(errors=0.4), events=events, watched=watched), Verdict.REFUTED, by="a_fault_is_told"
    )


def supported(*events: Event) -> Case:
    """As `failing`, supported."""
    return Case(failing(*events).evidence, Verdict.SUPPORTED)


CASES = {
    "double_bit_errors_at_the_onset": supported(xid(48, 1)),
    "the_gpu_fell_off_the_bus_shortly_before": supported(xid(79, -10), event(Events.GPU_LOST, -5)),
    "a_program_touched_memory_it_may_not": failing(xid(31, 1)),
    "no_fault_was_told": failing(),
    "a_fault_long_before": failing(xid(79, -110)),
    "nobody_would_have_told": Case(failing(watched=ALL_SOURCES).evidence, Verdict.UNTESTABLE, missing="kernel_log"),
}
