"""What a span is: the part of the ledger its own time belongs to, from conventions of several generations."""

from __future__ import annotations

import numpy as np
import pandas as pd

SERVER, CLIENT, RETRIEVAL, RERANK, POOL_WAIT, STORE_WAIT, DEPENDENCY, OTHER = (
    "llm_server", "llm_client", "retrieval", "rerank", "pool_wait", "store_wait", "dependency", "")  # fmt: skip

_GENERATES = {"chat", "text_completion", "generate_content", "completion"}
_VECTOR_DATABASES = {
    "qdrant", "milvus", "weaviate", "pinecone", "chroma", "chromadb", "pgvector", "marqo", "lancedb",
    "elasticsearch", "opensearch", "vespa",
}  # fmt: skip


def roles(spans: pd.DataFrame) -> pd.Series:
    """Role of each span by its own attributes and name; "" where nothing tells (it then takes its parent's)."""
    name = spans["name"].str.lower()
    operation = spans["operation"].str.lower()
    kind = spans["span_kind"].str.upper()
    timed = spans[["ledger.queue", "ledger.prefill", "request_latency"]].notna().any(axis=1)
    serves = timed | (name == "llm_request") | ((spans["kind"] == "Server") & operation.isin(_GENERATES))
    calls = operation.isin(_GENERATES) | (kind == "LLM")
    reranks = (operation == "rerank") | (kind == "RERANKER") | name.str.match(r"re-?rank")
    retrieves = (
        operation.isin({"retrieval", "embeddings", "embedding"})
        | kind.isin({"RETRIEVER", "EMBEDDING"})
        | spans["db"].str.lower().isin(_VECTOR_DATABASES)
        | (spans["vector"] != "")
        | name.str.match(r"retriev|vector.?search|similarity.?search")
    )
    waits = name.str.contains(r"(?:pool|connection).?(?:wait|acquire|checkout)|acquire.?connection", regex=True)
    found = np.select([waits, serves, reranks, retrieves, calls], [POOL_WAIT, SERVER, RERANK, RETRIEVAL, CLIENT], OTHER)
    return pd.Series(found, index=spans.index)
