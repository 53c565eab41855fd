"""Retrieval causes found in files: the store's pool, the reranker, the embedding, drifting scores."""

from pathlib import Path

import numpy as np
import pytest

from correlator.model.evidence import Kind
from correlator.model.findings import Verdict
from tests.correlator.join.telemetry import Span, retrieval
from tests.hypotheses.bundles import MINUTE, around, diagnosed, line, of, request, supported, written

QUEUE_POOL = "QueuePool limit of size 10 overflow 20 reached, connection timed out, timeout 30.00"
DIMENSION = "Wrong input: Vector dimension error: expected dim: 1024, got 3072"


def search(trace: str, start: float, seconds: float, **fields: object) -> Span:
    return retrieval(id="search", parent="root", trace=trace, start=start, end=start + seconds, **fields)


def waiting(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    """The search waits for a connection and is then as fast as ever."""
    wait = around(rng, 0.6 if ill else 0.004)
    found = search(trace, start, wait + around(rng, 0.04))
    free = Span(
        id="wait", parent="search", trace=trace, name="pool.acquire connection wait", start=start, end=start + wait
    )
    return request(trace, start, around(rng, 0.3), found, free)


def test_waiting_for_the_store_is_not_the_stores_time(tmp_path: Path) -> None:
    """The wait is a part of its own; a log that tells of a dry pool supports it, and the store is innocent."""
    told = "".join(line(t, f"ERROR rag sqlalchemy.exc.TimeoutError: {QUEUE_POOL}") for t in (5 + MINUTE, 20 + MINUTE))
    calm = "".join(line(t, "INFO rag ready") for t in range(0, 120, 10))
    answer = diagnosed(written(tmp_path, waiting, app=calm + told))
    assert "vector_pool_exhaustion" in supported(answer)
    assert Verdict.REFUTED == of(answer, "retrieval_slow").verdict
    assert Verdict.SUPPORTED != of(answer, "client_pool_exhaustion").verdict


def failing(message: str, share: float = 0.4):  # type: ignore[no-untyped-def]
    """A share of the incident's requests fails in its search with this message."""

    def made(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
        fails = ill and rng.random() < share
        found = search(trace, start, around(rng, 0.04), failed=fails, message=message if fails else "")
        return request(trace, start, around(rng, 0.3), found, failed=fails)

    return made


@pytest.mark.parametrize(
    ("message", "cause"),
    [(QUEUE_POOL, "vector_pool_exhaustion"), (DIMENSION, "embedding_mismatch")],
    ids=["pool", "dimension"],
)
def test_errors_of_the_store_say_what_is_wrong(tmp_path: Path, message: str, cause: str) -> None:
    """What failed searches say decides between a dry pool and vectors that do not fit."""
    answer = diagnosed(written(tmp_path, failing(message)))
    assert answer.symptom is not None
    assert Kind.ERRORS == answer.symptom.kind
    assert {cause} == supported(answer)
    other = ({"vector_pool_exhaustion", "embedding_mismatch"} - {cause}).pop()
    assert Verdict.REFUTED == of(answer, other).verdict


def reranking(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    found = search(trace, start, around(rng, 0.04))
    took = around(rng, 0.5 if ill else 0.05)
    ranked = Span(id="rank", parent="root", trace=trace, name="rerank", start=found.end, end=found.end + took)
    return request(trace, start, around(rng, 0.3), found, ranked)


def test_a_slow_reranker_is_told_from_a_slow_store(tmp_path: Path) -> None:
    """A span named rerank that grew is the cause, and the search before it is not."""
    answer = diagnosed(written(tmp_path, reranking))
    assert {"rerank_slow"} == supported(answer)
    assert Verdict.REFUTED == of(answer, "retrieval_slow").verdict


def embedding(model: str, farther: float):  # type: ignore[no-untyped-def]
    """In the incident this model embeds the questions, and the best score is lower by so much."""

    def made(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
        named = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model if ill else "bge-m3"}
        embedded = Span(id="embed", parent="root", trace=trace, start=start, end=start + 0.01, attributes=named)
        score = 0.8 - (farther if ill else 0) + 0.05 * rng.standard_normal()
        told = {"retrieval.score": float(score), "db.response.returned_rows": 4}
        found = search(trace, start + 0.01, around(rng, 0.04), attributes=told)
        return request(trace, start, around(rng, 0.3), embedded, found)

    return made


@pytest.mark.parametrize(
    ("model", "farther", "expected"),
    [
        ("text-embedding-v4", 0.25, {"embedding_mismatch"}),
        ("bge-m3", 0.25, {"semantic_drift"}),
        ("text-embedding-v4", 0.0, set()),
    ],
    ids=["another model", "the same model", "another model as good"],
)
def test_scores_fall_with_the_embedding_or_without(
    tmp_path: Path, model: str, farther: float, expected: set[str]
) -> None:
    """Lower scores since another model embeds are a mismatch, without one drift; another model alone is nothing."""
    assert expected == supported(diagnosed(written(tmp_path, embedding(model, farther))))
