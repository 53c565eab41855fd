"""Retrieval that finds nothing, and vectors that do not fit their index."""

from __future__ import annotations

from tests.cases.inputs import calls, drift
from tests.cases.report import Files, Report
from tests.cases.s11_stores import failing
from tests.correlator.join.telemetry import Span, retrieval
from tests.hypotheses.bundles import request

RUN = 120.0


def threshold(returned: int) -> Files:
    """A threshold of 0.60 on the score before reranking returns nothing; at 0.45 chunks show 0.84 to 0.96."""

    def made(i: int, t: float) -> list[Span]:
        told = {"db.response.returned_rows": returned}
        if returned:
            told |= {"retrieval.score": 0.84 + 0.12 * (i * 7 % 10) / 9}  # type: ignore[dict-item]
        end = t + 0.04 * drift(i)
        search = retrieval(id="search", parent="root", trace=f"{i}", start=t, end=end, attributes=told)
        return request(
            f"{i}", t, 0.3 * drift(i + 999), search, model={"gen_ai.usage.input_tokens": 200 + 250 * returned}
        )

    return {"calls.binpb": calls(made, RUN)}


LOADED = "AssertionError: Embedding dim mismatch, expected: 1024, but loaded: 3072"
DIVIDED = "ValueError: Embedding dimension mismatch detected: total elements (1024) cannot be evenly divided by 3072"
COUNTED = "ValueError: Vector count mismatch: expected 10 vectors but got 5 vectors (from embedding result)."
MODELS = "weaviate.exceptions.UnexpectedStatusCodeException: vector lengths: expected 1536 dimensions, not 1024"

CASES = (
    Report(
        id="C095",
        agree=2,
        cause="empty_retrieval",
        decisive=True,
        suspects=("semantic_drift", "embedding_mismatch"),
        before=lambda: threshold(4),
        files=lambda: threshold(0),
    ),
    *(
        Report(
            id=id,
            agree=agree,
            cause="embedding_mismatch",
            decisive=True,
            suspects=("vector_pool_exhaustion", "schema_mismatch", "semantic_drift"),
            files=lambda message=message, every=every: failing(message, every),
        )
        for id, agree, message, every in (
            ("C100", 3, LOADED, 1),
            ("C100b", 3, DIVIDED, 1),
            ("C101", 3, COUNTED, 1),
            ("C103", 2, MODELS, 2),
        )
    ),
)
