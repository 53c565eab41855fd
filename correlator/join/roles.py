"""What a span is: the part of the ledger its own time belongs to, from conventions of several generations."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from correlator.join.arrays import Ints

SERVER, CLIENT, RETRIEVAL, RERANK, POOL_WAIT, STORE_WAIT, DEPENDENCY, OTHER = (
    "llm_server", "llm_client", "retrieval", "rerank", "pool_wait", "store_wait", "dependency", "")  # fmt: skip
ROLES = (POOL_WAIT, SERVER, RERANK, RETRIEVAL, CLIENT, STORE_WAIT, DEPENDENCY, OTHER)
"""Of several that a span tells, the first is meant."""

_OPERATIONS = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), CLIENT),
    **dict.fromkeys(("retrieval", "embeddings", "embedding"), RETRIEVAL),
    "rerank": RERANK,
}
_KINDS = {"llm": CLIENT, "reranker": RERANK, "retriever": RETRIEVAL, "embedding": RETRIEVAL}
_DATABASES = dict.fromkeys(
    (
        "qdrant", "milvus", "weaviate", "pinecone", "chroma", "chromadb", "pgvector", "marqo", "lancedb",
        "elasticsearch", "opensearch", "vespa",
    ),
    RETRIEVAL,
)  # fmt: skip
_WAITS = re.compile(r"(?:pool|connection).?(?:wait|acquire|checkout)|acquire.?connection")
_RERANKS = re.compile(r"re-?rank")
_SEARCHES = re.compile(r"retriev|vector.?search|similarity.?search")


def roles(spans: pd.DataFrame) -> pd.Series:
    """Role of each span by its own attributes and name; "" where nothing tells (it then takes its parent's)."""
    operation = _told(spans["operation"], lambda text: _OPERATIONS.get(text, OTHER))
    answers = (operation == ROLES.index(CLIENT)) & (spans["kind"] == "Server").to_numpy(dtype=bool)
    timed = spans[["ledger.queue", "ledger.prefill", "request_latency"]].notna().to_numpy().any(axis=1)
    told = (
        operation,
        _told(spans["name"], _by_name),
        _told(spans["span_kind"], lambda text: _KINDS.get(text, OTHER)),
        _told(spans["db"], lambda text: _DATABASES.get(text, OTHER)),
        np.where(spans["vector"] != "", ROLES.index(RETRIEVAL), ROLES.index(OTHER)),
        np.where(timed | answers, ROLES.index(SERVER), ROLES.index(OTHER)),
    )
    return named(np.minimum.reduce(told), spans.index)


def numbered(names: pd.Series) -> Ints:
    """The place of each role in ROLES."""
    return _told(names, str)


def named(numbers: Ints, index: pd.Index) -> pd.Series:
    """Roles by their places in ROLES."""
    return pd.Series(pd.array(ROLES, dtype="str").take(numbers), index)


def _told(texts: pd.Series, role: Callable[[str], str]) -> Ints:
    """The place in ROLES of what each text says, lowercased; equal texts are looked at once."""
    codes, known = pd.factorize(texts)
    places = np.array([ROLES.index(role(text.lower())) for text in known], dtype=np.int64)
    return np.asarray(places[codes])


def _by_name(name: str) -> str:
    if _WAITS.search(name):
        return POOL_WAIT
    if name == "llm_request":
        return SERVER
    if _RERANKS.match(name):
        return RERANK
    return RETRIEVAL if _SEARCHES.match(name) else OTHER
