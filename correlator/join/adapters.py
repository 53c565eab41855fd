"""LoRA adapters as vLLM's metrics name them: when each was activated, and which requests asked for one meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from correlator.join.within import RECORDED
from correlator.model import names as n
from correlator.model.evidence import Event
from correlator.model.names import Events
from correlator.store import Store

SHOWN = "vllm:lora_requests_info"
LIMIT = 50_000
"""States read (scrapes in which some adapter was in use); what lies beyond is not looked at."""
LATE_NS = 15_000_000_000
"""A scrape shows an adapter at most this much after it was asked for."""


def activations(store: Store, inside: str) -> Iterator[Event]:
    """Adapters asked for that an engine's slots did not hold, from its second state on.

    The label sets of earlier states stay on the page; the one with the latest value (a Unix time) is in force. It names
    adapters with requests at the time; the slots keep those used last, as many as `max_lora` (vLLM evicts the one that
    was used least recently).
    """
    states = store.query(
        f"""SELECT cityHash64(ResourceAttributes, Attributes['engine']) AS engine, any(ServiceName) AS service,
                   toUnixTimestamp64Nano(TimeUnix) AS time,
                   argMax(concat(Attributes['running_lora_adapters'], ',', Attributes['waiting_lora_adapters']), Value)
                   AS adapters, argMax(Attributes['max_lora'], Value) AS slots
            FROM otel_metrics_gauge WHERE MetricName = '{SHOWN}' AND {RECORDED} AND {inside}
            GROUP BY engine, time ORDER BY engine, time LIMIT {LIMIT}"""
    )
    for _, engine in states.groupby("engine"):
        held: list[str] = []
        for position, row in enumerate(engine.itertuples()):
            asked = sorted(set(filter(None, row.adapters.replace(" ", "").split(","))))
            told = {"engine": str(row.engine), "slots": row.slots, "held": ",".join(held)}
            for name in (name for name in asked if name not in held and position):
                yield Event(Events.LORA_ACTIVATED, int(row.time), row.service, "", {"adapter": name, **told})
            slots = int(row.slots) if row.slots.isdigit() and int(row.slots) else LIMIT
            held = [*(name for name in held if name not in asked), *asked][-max(slots, len(asked)) :]


def with_adapters(requests: pd.DataFrame, events: Iterable[Event], share: float = 1.0) -> pd.DataFrame:
    """Requests with 1 where they asked for an adapter that was not there yet, and with 1 where one was being loaded for
    somebody while they were under way.

    Scrapes miss most activations. Where all requests of a single engine are known (`share` of the traces was read),
    they tell by themselves which adapters its slots held.
    """
    told = [e for e in events if e.name == Events.LORA_ACTIVATED and "adapter" in e.attributes]
    names = {name for e in told for name in (e.attributes["adapter"], *e.attributes.get("held", "").split(",")) if name}
    if not told or "model" not in requests or not requests["model"].isin(names).any():
        return requests
    engines = {(e.attributes.get("engine"), e.attributes.get("slots", "")) for e in told}
    slots = next(iter(engines))[1] if len(engines) == 1 and share == 1 else ""
    known = slots.isdigit() and int(slots) > 0
    mark = _by_slots(requests, names, int(slots)) if known else _by_moments(requests, told)
    mark = np.where(requests["model"].fillna("") == "", np.nan, mark)
    return requests.assign(**{n.ADAPTER_NEW.name: mark, n.ADAPTER_LOADING.name: meanwhile(requests, mark)})


def _by_moments(requests: pd.DataFrame, told: Iterable[Event]) -> np.ndarray:
    """1 for those who asked for an adapter that had not answered yet since its activation was seen."""
    mark = np.zeros(len(requests))
    starts, ends = (requests[c].to_numpy(dtype=np.int64) for c in ("start", "end"))
    for event in told:
        asked = (requests["model"] == event.attributes["adapter"]).to_numpy() & (starts >= event.unix_nano - LATE_NS)
        if asked.any():
            mark[asked & (starts <= ends[asked].min())] = 1.0
    return mark


def _by_slots(requests: pd.DataFrame, names: set[str], slots: int) -> np.ndarray:
    """1 for those whose adapter was in none of the slots, which keep those used last, or had not answered yet.

    What the slots hold at the first request is unknown: nobody is marked until as many adapters were asked for.
    """
    mark, held, asked = np.zeros(len(requests)), dict[str, int](), set[str]()
    ordered = requests.reset_index(drop=True).sort_values("start", kind="stable")
    for place, name, start, end in zip(ordered.index, ordered["model"], ordered["start"], ordered["end"], strict=True):
        if name not in names:
            continue
        ready, full = held.pop(name, None), len(asked) >= slots
        mark[place] = float((ready is None and full) or (ready is not None and start < ready))
        held[name] = (end if full else start) if ready is None else min(ready, end)
        asked.add(name)
        if len(held) > slots:
            del held[next(iter(held))]
    return mark


def meanwhile(requests: pd.DataFrame, mark: np.ndarray) -> np.ndarray:
    """1 for those under way together with somebody who waited for an adapter: the engine stops for all to load it."""
    starts, ends = (requests[c].to_numpy(dtype=np.int64) for c in ("start", "end"))
    waiting = mark > 0
    begun = np.searchsorted(np.sort(starts[waiting]), ends, side="right")
    over = np.searchsorted(np.sort(ends[waiting]), starts, side="left")
    return np.where(np.isnan(mark), np.nan, (begun > over).astype(float))
