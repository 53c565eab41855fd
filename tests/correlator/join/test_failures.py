"""Kinds of failure: told by error texts, by log lines of a trace, or by lines beside counts of requests."""

import numpy as np
import pandas as pd
import pytest

from correlator.join.failures import PATTERNS
from correlator.model import names as n
from correlator.store import Store
from tests.correlator.join.telemetry import at, counter, happening, join, metrics, request, root, traces

KINDS = list(PATTERNS)
TEXTS = {
    "QueuePool limit of size 150 overflow 30 reached, connection timed out, timeout 30.00": n.STORE_POOL_ERROR,
    "(1040, 'Too many connections')": n.STORE_POOL_ERROR,
    "Wrong input: Vector dimension error: expected dim: 1024, got 3072": n.DIMENSION_ERROR,
    "expected 1536 dimensions, not 1024": n.DIMENSION_ERROR,
    "Embedding dimension 384 does not match collection dimensionality 768": n.DIMENSION_ERROR,
    "Unterminated string starting at: line 1 column 14 (char 13)": n.CUT_ERROR,
    "1 validation error for Answer Invalid JSON: EOF while parsing a string": n.CUT_ERROR,
    "1 validation error for SystemMessage: injected extra_forbidden": n.SCHEMA_ERROR,
    "Client received GoAway with error code ENHANCE_YOUR_CALM": n.CONNECTION_ERROR,
    "[Errno 104] Connection reset by peer": n.CONNECTION_ERROR,
    "HTTP 504": n.PROXY_ERROR,
    "upstream timed out (110: Connection timed out)": n.PROXY_ERROR,
    "VLLMValidationError: This model's maximum context length is 4096 tokens": None,
    "you requested 504 tokens": None,
    "Expecting value: line 1 column 1 (char 0)": None,
    "CUDA out of memory": None,
}


def requests(store: Store, *batches) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    return join(store, *batches).evidence.requests


@pytest.mark.parametrize("text", TEXTS)
def test_an_error_is_of_one_kind(store: Store, text: str) -> None:
    """What a failed request says sets the column of one kind, or of none."""
    found = requests(store, traces([root(start=1, end=2, failed=True, message=text)])).iloc[0]
    assert [kind is TEXTS[text] for kind in KINDS] == [found[kind.name] == 1 for kind in KINDS]


def test_failures_that_say_nothing_leave_every_kind_unknown(store: Store) -> None:
    """Without a text the columns are unknown, not zero."""
    found = requests(store, traces(request("t", 1, 1, failed=True)))
    assert all(kind.name not in found or np.isnan(found[kind.name]).all() for kind in KINDS)


@pytest.mark.parametrize(
    ("said", "known"), [(0, 0), (1, 0), (3, 4)], ids=["none says why", "one of four", "three of four"]
)
def test_a_failure_that_says_nothing_is_of_no_known_kind(store: Store, said: int, known: int) -> None:
    """A status is no reason. Of the silent ones nothing is known; where most are silent, of none."""
    failing = [
        {"failed": True, "message": "boom" if i < said else "", "attributes": {"error.type": "500"}} for i in range(4)
    ]
    spans = [root(trace=f"t{i}", start=i, end=i + 1, **one) for i, one in enumerate(failing)]
    found = requests(store, traces([*spans, root(trace="ok", start=9, end=10)])).set_index("trace_id")
    told = found[n.SCHEMA_ERROR.name] if n.SCHEMA_ERROR.name in found else pd.Series(np.nan, found.index)
    assert known == told.notna().sum()  # three failures and the request that succeeded, or nothing


def test_requests_that_succeed_failed_of_nothing(store: Store) -> None:
    """Where nothing failed every kind is known to be absent."""
    found = requests(store, traces(request("t", 1, 1)))
    assert {0.0} == {float(found[kind.name].iloc[0]) for kind in KINDS}


def test_log_lines_beside_counted_requests_tell_the_share(store: Store) -> None:
    """Five lines in five seconds with ten requests, of which six failed: half of them failed of that."""
    counted = metrics(
        counter("vllm:request_success_total", [(t, 4 * t / 5) for t in range(0, 65, 5)], finished_reason="stop"),
        counter("http_requests_total", [(t, 6 * t / 5) for t in range(0, 65, 5)], status="5xx"),
    )
    told = [happening(31 + i / 2, n.Events.STORE_POOL_TIMEOUT, service="rag") for i in range(5)]
    begun = happening(16, n.Events.RETRY, service="rag")
    series = join(store, counted, begun, *told).evidence.series.set_index("start")
    shares = series[n.STORE_POOL_ERROR.name]
    assert pytest.approx(0.5) == shares.max()
    assert 0.0 == shares.min()
    assert [at(15), at(30)] == [shares.first_valid_index(), shares.last_valid_index()]
    assert n.DIMENSION_ERROR.name not in series
