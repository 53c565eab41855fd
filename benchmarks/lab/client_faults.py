"""What can go wrong in the service that asks and in what it asks beside the model: see `faults.py`."""

from __future__ import annotations

from benchmarks.lab.world import CALM, Scenario, scenario

MARKED = CALM.with_(client={"score": 0.8})
"""An evaluator marks each answer."""


def retrieval_slow(severity: float) -> Scenario:
    """The vector store answers slowly."""
    before = CALM.with_(client={"retrieval_s": 0.02})
    return scenario("retrieval_slow", before, before.with_(client={"retrieval_s": 1.2 * severity}))


def rerank_slow(severity: float) -> Scenario:
    """The reranker takes longer; questions that were asked before skip it."""
    before = CALM.with_(client={"rerank_s": 0.03})
    return scenario("rerank_slow", before, before.with_(client={"rerank_s": 0.03 * (1 + 7 * severity)}))


def vector_pool_exhaustion(severity: float) -> Scenario:
    """Connections to the store are given back late, until all of the pool are out."""
    before = CALM.with_(client={"store_pool": 8})
    return scenario("vector_pool_exhaustion", before, before.with_(client={"store_held_s": 3.0 * severity}))


def dependency_slow(severity: float) -> Scenario:
    """The profile service that each request asks first takes longer."""
    before = CALM.with_(client={"profile_s": 0.02})
    return scenario("dependency_slow", before, before.with_(client={"profile_s": 0.02 * (1 + 8 * severity)}))


def dependency_fails(severity: float) -> Scenario:
    """The profile service refuses a part of the calls."""
    before = CALM.with_(client={"profile_s": 0.02})
    after = before.with_(client={"profile_errors": min(0.2 * severity, 1.0)})
    return scenario("dependency_fails", before, after, truth="dependency_slow", symptom="errors")


def output_truncation(severity: float) -> Scenario:
    """The limit on an answer is lowered to what half of the answers need."""
    before = CALM.with_(load={"max_tokens": 60})
    after = before.with_(load={"max_tokens": max(2, round(19 / severity))})
    return scenario("output_truncation", before, after, symptom="quality")


def empty_retrieval(severity: float) -> Scenario:
    """The search finds nothing for most requests."""
    after = CALM.with_(client={"empty_share": min(0.6 * severity, 1.0)})
    return scenario("empty_retrieval", CALM, after, symptom="quality")


def client_pool_exhaustion(severity: float) -> Scenario:
    """A pool of two connections where more are needed."""
    before = CALM.with_(load={"output": 90.0})
    return scenario("client_pool_exhaustion", before, before.with_(client={"pool": max(1, round(2 / severity))}))


def retry_storm_spans(severity: float) -> Scenario:
    """The service sends again, a span a try, with a time-out near the service time."""
    after = CALM.with_(client={"timeout_s": 0.17 / severity, "retries": 4})
    return scenario("retry_storm_spans", CALM, after, truth="retry_storm")


def retry_storm_hidden(severity: float) -> Scenario:
    """The SDK sends again inside one span, through a proxy that lets the engine go on with what nobody awaits."""
    before = CALM.with_(client={"hidden_retries": True})
    after = before.with_(client={"timeout_s": 0.17 / severity, "retries": 4})
    return scenario("retry_storm_hidden", before, after, truth="retry_storm")


def keepalive_mismatch(severity: float) -> Scenario:
    """Something in between begins to drop connections sooner than the client believes."""
    before = CALM.with_(load={"rate": 1.2})
    return scenario(
        "keepalive_mismatch", before, before.with_(client={"idle_limit_s": 1.0 / severity}), symptom="errors"
    )


def proxy_buffering(severity: float) -> Scenario:
    """A proxy begins to hold streamed answers back until they are whole."""
    before = CALM.with_(load={"rate": 1.5, "output": 220.0 * severity}, client={"streamed": True})
    return scenario("proxy_buffering", before, before.with_(client={"buffered": True}))


def schema_mismatch(severity: float) -> Scenario:
    """A new version of the service sends a field with a part of its requests that the engine refuses."""
    after = CALM.with_(load={"malformed": min(0.25 * severity, 1.0)}, client={"version": "1.1.0"})
    return scenario("schema_mismatch", CALM, after, symptom="errors")


def embedding_mismatch(severity: float) -> Scenario:
    """Queries are embedded by another model than the documents were."""
    before = CALM.with_(client={"embedding": "embed-small"})
    after = before.with_(client={"embedding": "embed-small-v2", "nearness": 0.78 - 0.4 * severity})
    return scenario("embedding_mismatch", before, after, symptom="quality")


def prompt_truncation(severity: float) -> Scenario:
    """A tokenizer begins to cut prompts to a length that four of ten exceed."""
    after = MARKED.with_(load={"prompt_limit": 370}, client={"cut_score": max(0.05, 0.8 - 0.45 * severity)})
    return scenario("prompt_truncation", MARKED, after, symptom="quality")


CLIENT_FAULTS = (
    retrieval_slow, rerank_slow, vector_pool_exhaustion, dependency_slow, dependency_fails, output_truncation,
    empty_retrieval, client_pool_exhaustion, retry_storm_spans, retry_storm_hidden, keepalive_mismatch,
    proxy_buffering, schema_mismatch, embedding_mismatch, prompt_truncation,
)  # fmt: skip
