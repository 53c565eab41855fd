"""LoRA adapters as vLLM's metrics name them: when each was activated, and which requests asked for one meanwhile."""

from __future__ import annotations

from collections import defaultdict
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
            for name in (name for name in asked if name not in held and position):
                yield Event(Events.LORA_ACTIVATED, int(row.time), row.service, "", {"adapter": name})
            slots = int(row.slots) if row.slots.isdigit() and int(row.slots) else LIMIT
            held = [*(name for name in held if name not in asked), *asked][-max(slots, len(asked)) :]


def with_adapters(requests: pd.DataFrame, events: Iterable[Event]) -> pd.DataFrame:
    """Requests with 1 where they asked for an adapter that had not answered yet since its activation."""
    at: dict[str, list[int]] = defaultdict(list)
    for event in events:
        if event.name == Events.LORA_ACTIVATED and "adapter" in event.attributes:
            at[event.attributes["adapter"]].append(event.unix_nano)
    if not at or "model" not in requests or not requests["model"].isin(at).any():
        return requests
    mark = np.where(requests["model"].fillna("") == "", np.nan, 0.0)
    for name, moments in at.items():
        mine = (requests["model"] == name).to_numpy()
        starts, ends = (requests[c].to_numpy(dtype=np.int64) for c in ("start", "end"))
        for moment in moments:
            asked = mine & (starts >= moment - LATE_NS)
            if asked.any():
                mark[asked & (starts <= ends[asked].min())] = 1.0
    return requests.assign(**{n.ADAPTER_NEW.name: mark})
