"""The services of the API over a store, as the product wires them."""

from pathlib import Path

from collector.files import read
from correlator import serve
from correlator.api import Services
from correlator.chores import Chore
from correlator.model.records import Batch
from correlator.store import Store
from correlator.store.incidents import Incidents

CAPTURE = Path(__file__).parents[2] / "data" / "captures" / "s01_token_inflation"
SOURCES = [
    str(CAPTURE / name) for name in ("traces.jsonl.gz", "metrics.jsonl.gz", "logs.jsonl.gz", "vllm.log.gz", "scrape")
]


def filled(store: Store) -> Store:
    store.load(item for item in read(SOURCES) if isinstance(item, Batch))
    return store


def services(store: Store, incidents: Incidents | None = None) -> Services:
    return serve.services(
        store, incidents or Incidents(store), Chore("loading", 1, lambda counts: None), lambda alerts: []
    )
