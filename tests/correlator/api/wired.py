"""The services of the API over a store, as the product wires them."""

from pathlib import Path

from collector.files import read
from correlator.api import Services
from correlator.api.reading import held, signals, trace
from correlator.model.records import Batch
from correlator.store import Store
from correlator.store.incidents import Incidents
from correlator.wiring import diagnosed, hypotheses

CAPTURE = Path(__file__).parents[2] / "data" / "captures" / "s01_token_inflation"
SOURCES = [
    str(CAPTURE / name) for name in ("traces.jsonl.gz", "metrics.jsonl.gz", "logs.jsonl.gz", "vllm.log.gz", "scrape")
]


def filled(store: Store) -> Store:
    store.load(item for item in read(SOURCES) if isinstance(item, Batch))
    return store


def services(store: Store) -> Services:
    incidents = Incidents(store)
    return Services(
        diagnose=lambda asked: diagnosed(store, asked.windows, asked.symptom, asked.where),
        list_incidents=incidents.find,
        get_incident=incidents.get,
        trace=lambda id: trace(store, id),
        hypotheses=hypotheses,
        signals=held(lambda: signals(store), 15),
        ready=lambda: None,
    )
