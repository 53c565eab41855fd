"""What accounts for slow tokens where no request's latency was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from correlator.join.symptom import find_symptom
from correlator.model import names as n
from correlator.model.evidence import BLOCK_NS, Evidence, Kind, Window, Windows, with_windows
from correlator.model.findings import Outcome
from correlator.model.names import DECODE, PREFILL, QUEUE, RETRIEVAL, Signal
from hypotheses import accounts_for

BLOCKS = 10
WINDOWS = Windows(Window(0, BLOCKS * BLOCK_NS), Window(BLOCKS * BLOCK_NS, 2 * BLOCKS * BLOCK_NS))


def batches(before: tuple[float, float], then: tuple[float, float]) -> Evidence:
    """An engine of which only batch and time per token are known, given for either window."""
    rng = np.random.default_rng(3)
    batch, token = (np.repeat([a, b], 2 * BLOCKS) for a, b in zip(before, then, strict=True))
    token = token * rng.lognormal(0, 0.02, len(token))
    series = pd.DataFrame(
        {
            "start": np.arange(4 * BLOCKS) * BLOCK_NS // 2,
            "host": "*",
            n.RUNNING.name: batch,
            n.WAITING.name: 50.0,
            n.TIME_PER_OUTPUT_TOKEN.name: token,
            n.GENERATION_THROUGHPUT.name: batch / token,
        }
    )
    evidence = with_windows(Evidence(series.iloc[:0][["start", "host"]], series), WINDOWS)
    return replace(evidence, symptom=find_symptom(evidence))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [((QUEUE,), Outcome.HELD), ((DECODE,), Outcome.FAILED), ((RETRIEVAL,), Outcome.FAILED)],
    ids=["queue", "decode", "retrieval"],
)
def test_a_smaller_batch_is_the_queues_doing(parts: tuple[Signal, ...], expected: Outcome) -> None:
    """Fewer tokens a second from a smaller batch of faster tokens: what waits outside accounts for it."""
    evidence = batches((128, 0.018), (16, 0.005))
    assert evidence.symptom is not None
    assert Kind.THROUGHPUT is evidence.symptom.kind
    assert expected is accounts_for(*parts).read(evidence).outcome


def test_slower_tokens_of_the_same_batch_are_decodings() -> None:
    """The same batch with tokens twice as slow: decode accounts for it and the queue for nothing."""
    evidence = batches((96, 0.012), (96, 0.024))
    assert Outcome.HELD is accounts_for(PREFILL, DECODE).read(evidence).outcome
    assert Outcome.FAILED is accounts_for(QUEUE).read(evidence).outcome


def test_slow_tokens_of_a_larger_batch_are_decodings() -> None:
    """Where only the time per token got worse, waiting before the first token is no part of it."""
    evidence = batches((256, 0.03), (768, 0.09))
    assert evidence.symptom is not None
    assert n.TIME_PER_OUTPUT_TOKEN == evidence.symptom.signal
    assert Outcome.HELD is accounts_for(DECODE).read(evidence).outcome
    assert Outcome.FAILED is accounts_for(QUEUE).read(evidence).outcome
