"""Words about limits: when a pool, an engine, a model's context or a client's time-out is one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from correlator.model.evidence import Evidence, Fact
from correlator.model.findings import Outcome
from correlator.model.names import CLIENT_LATENCY, GIVEN_UP, POOL_SHARE, POOL_WAIT, RUNNING_WHILE_WAITING
from hypotheses import at_limit, fitting_requests_succeed, refusals_exceed_context, sits_at, times_out_near
from tests.hypotheses.frames import BLIND, FAILED, HELD, ONSET, OPEN, evidence, outcome, rows


@pytest.mark.parametrize(
    ("share", "waits", "expected"),
    [
        ([0.2] * 8 + [1.0] * 8, [0.0] * 8 + [0.3] * 8, HELD),
        ([0.2] * 8 + [0.3] * 8, [0.0] * 8 + [0.3] * 8, FAILED),
        ([0.2] * 8 + [1.0] * 8, [0.0] * 16, FAILED),
        ([0.2] * 8 + [1.0] * 4 + [0.3] * 4, [0.0] * 8 + [0.3] * 8, OPEN),
        ([0.2] * 8 + [0.3] * 7 + [1.0], [0.0] * 15 + [0.3], OPEN),
    ],
)
def test_at_limit(share: list[float], waits: list[float], expected: Outcome) -> None:
    """All in use whenever calls waited longer than usual; nobody waited, or waited beside free ones, is none."""
    seen = evidence(series=rows(noise=0, pool_share=share, ledger__pool_wait=waits))
    assert expected == outcome(at_limit(POOL_SHARE, while_high=POOL_WAIT), seen)


def engine(running: list[float], limit: str | None) -> Evidence:
    facts = () if limit is None else (Fact("engine.max_num_seqs", limit, ONSET - 50),)
    return evidence(series=rows(noise=0, running_while_waiting=[1.0] * 8 + running), facts=facts)


@pytest.mark.parametrize(
    ("running", "limit", "expected"),
    [
        ([4.0] * 8, "4", HELD),
        ([4.0] * 8, "64", FAILED),
        ([9.0] * 8, "4", OPEN),
        ([4.0] * 4 + [2.0] * 4, "4", OPEN),
        ([4.0] * 8, None, BLIND),
        ([4.0] * 8, "many", BLIND),
    ],
)
def test_sits_at(running: list[float], limit: str | None, expected: Outcome) -> None:
    """At the configured limit or well below it; above it several engines were added up, unknown it cannot be read."""
    assert expected == outcome(sits_at(RUNNING_WHILE_WAITING, "engine.max_num_seqs"), engine(running, limit))


def test_a_limit_that_is_not_known_is_named() -> None:
    """Without the configuration the fact is what is missing."""
    reading = sits_at(RUNNING_WHILE_WAITING, "engine.max_num_seqs").read(engine([4.0] * 8, None))
    assert ("engine.max_num_seqs",) == reading.missing


def tries(after: float, spread: float) -> Evidence:
    table = rows(noise=0.3, client_latency=(1.0, 2.0))
    ended = after * np.random.default_rng(3).lognormal(0, spread, len(table))
    return evidence(table.assign(given_up_after=np.where(table["start"] >= ONSET, ended, np.nan)))


@pytest.mark.parametrize(
    ("after", "spread", "expected"),
    [(1.0, 0.02, HELD), (1.0, 0.5, FAILED), (60.0, 0.001, FAILED), (0.003, 0.02, FAILED), (1.0, 0.18, OPEN)],
)
def test_times_out_near(after: float, spread: float, expected: Outcome) -> None:
    """One duration among the usual ones is a time-out that cuts them off; far above, at once or at random is not."""
    assert expected == outcome(times_out_near(GIVEN_UP, CLIENT_LATENCY), tries(after, spread))


def test_nothing_is_near_what_was_never_timed() -> None:
    """Without tries that were given up, or without the usual times, nothing can be said."""
    word = times_out_near(GIVEN_UP, CLIENT_LATENCY)
    assert BLIND == outcome(word, evidence(rows(client_latency=(1, 2))))
    blind = tries(1.0, 0.02)
    assert BLIND == outcome(word, evidence(blind.requests.drop(columns="client_latency")))


def prompts(
    limit: str | None = "1000", failing: float = 0.0, refused_above: float = 900, room: float = 100
) -> Evidence:
    """Prompts of 500 tokens, a fifth of them of 1200 since the onset; what is above is refused."""
    table = rows(noise=0, input_tokens=(500, 500))
    since = (table["start"] >= ONSET).to_numpy()
    tokens = np.where(since & (table.index.to_numpy() % 5 == 0), 1200.0, 500.0)
    refused = since & (tokens > refused_above)
    broken = since & (np.random.default_rng(2).random(len(table)) < failing) & ~refused
    told = {"input_tokens": tokens, "context_error": refused.astype(float), "max_tokens_requested": room}
    facts = () if limit is None else (Fact("engine.max_model_len", limit, ONSET - 50),)
    return evidence(table.assign(**told, error=(refused | broken).astype(float)), facts=facts)


@pytest.mark.parametrize(
    ("seen", "exceed", "succeed"),
    [
        (prompts(), HELD, HELD),
        (prompts(failing=0.3), HELD, FAILED),
        (prompts(limit="4096"), FAILED, FAILED),
        (prompts(refused_above=400), FAILED, FAILED),
        (prompts(limit=None), BLIND, BLIND),
    ],
    ids=["too long", "others fail too", "far below the limit", "all are refused", "limit not known"],
)
def test_context(seen: Evidence, exceed: Outcome, succeed: Outcome) -> None:
    """What is refused exceeds the model's context, and what fits is answered: each can be contradicted."""
    assert exceed == outcome(refusals_exceed_context(), seen)
    assert succeed == outcome(fitting_requests_succeed(), seen)


def test_a_refusals_own_counts_come_first() -> None:
    """A refusal that says what it counted and allows needs neither the prompt's tokens nor the configuration."""
    blind = prompts(limit=None).requests
    refused = blind["context_error"] > 0
    said = pd.DataFrame({"requested_tokens": 5000.0, "context_limit": 4096.0}, blind.index).where(refused)
    told = evidence(blind.drop(columns="input_tokens").join(said))
    assert HELD == outcome(refusals_exceed_context(), told)
    assert HELD == outcome(fitting_requests_succeed(), told)


def test_a_failure_of_unknown_length_is_not_excused() -> None:
    """Requests that failed for another reason and whose tokens nobody counted are not taken for long ones."""
    seen = prompts(failing=0.3)
    hidden = seen.requests.assign(input_tokens=seen.requests["input_tokens"].where(seen.requests["error"] == 0))
    said = {"requested_tokens": np.where(hidden["context_error"] > 0, 1300.0, np.nan)}
    assert FAILED == outcome(fitting_requests_succeed(), evidence(hidden.assign(**said), facts=seen.facts))
