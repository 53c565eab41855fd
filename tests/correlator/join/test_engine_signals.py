"""What engines tell of replicas, adapters and drafts, and what requests tell of the prompts ahead of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from correlator.join.adapters import with_adapters
from correlator.join.prefill_ahead import with_prefill_ahead
from correlator.model import names as n
from correlator.model.evidence import Event
from correlator.model.records import Batch
from correlator.store import Store
from tests.correlator.join.telemetry import Points, chat, counter, gauge, join, metrics, traces

RUNNING = "vllm:num_requests_running"


def engine(name: str, points: Points, model: str = "m") -> Batch:
    """The running batch of one replica."""
    return metrics(gauge(RUNNING, points, model_name=model), instance=name)


def level(value: float, *seconds: int) -> Points:
    return [(float(t), value) for t in (seconds or range(0, 30, 5))]


def split(store: Store, *batches: Batch) -> pd.DataFrame:
    """Imbalance and least load by stretch, as far as they are known."""
    series = join(store, *batches).evidence.series
    wanted = [n.LOAD_IMBALANCE.name, n.LEAST_LOAD.name]
    return series[wanted].dropna() if set(wanted) <= set(series) else pd.DataFrame(columns=wanted)


def test_imbalance_is_the_share_beyond_an_even_split(store: Store) -> None:
    """Of 9 and 1 requests four tenths would have to move; the emptier replica has one."""
    found = split(store, engine("a", level(9)), engine("b", level(1)))
    assert [(0.4, 1.0)] == sorted(set(found.itertuples(index=False, name=None)))


def test_a_single_replica_has_no_split(store: Store) -> None:
    """Neither one engine nor one that was restarted under another name is two replicas."""
    assert split(store, engine("a", level(9))).empty
    assert split(store, engine("a", level(9, 0, 5, 10)), engine("b", level(1, 20, 25, 30))).empty


def test_engines_of_different_models_share_nothing(store: Store) -> None:
    """A busy model beside an idle one is no imbalance; the replicas of each are."""
    two = [engine("a", level(9), "large"), engine("b", level(1), "small")]
    assert split(store, *two).empty
    found = split(store, *two, engine("c", level(3), "small"))
    assert [(0.25, 1.0)] == sorted(set(found.itertuples(index=False, name=None)))


def test_the_load_of_a_silent_replica_is_not_known(store: Store) -> None:
    """A stretch that lacks one replica's scrape is left out, not taken for an empty replica."""
    found = split(store, engine("a", level(4)), engine("b", level(4, 0, 5, 10, 20, 25)))
    assert (5, [0.0]) == (len(found), sorted(set(found[n.LOAD_IMBALANCE.name])))


def lora(*states: tuple[float, str], slots: str = "2") -> Batch:
    """vLLM's page: a label set for each state, its value the time of its last update."""
    shown = [
        gauge(
            "vllm:lora_requests_info",
            [(time, time)],
            max_lora=slots,
            running_lora_adapters=running,
            waiting_lora_adapters="",
        )
        for time, running in states
    ]
    return metrics(*shown)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([(0, "a"), (5, ""), (10, "a")], []),
        ([(0, ""), (5, "a"), (10, "a,b"), (15, "a")], ["a", "b"]),
        ([(0, "a"), (5, "b"), (10, "c"), (15, "a")], ["b", "c", "a"]),
    ],
    ids=["still in its slot", "one after the other", "three in two slots"],
)
def test_an_adapter_is_activated_when_no_slot_holds_it(
    store: Store, states: list[tuple[float, str]], expected: list[str]
) -> None:
    """What is not running for a moment keeps its slot; what was displaced is loaded again."""
    events = join(store, lora(*states)).evidence.events
    assert expected == [e.attributes["adapter"] for e in events if e.name == n.Events.LORA_ACTIVATED]


def test_only_requests_before_the_first_answer_wait_for_an_adapter() -> None:
    """Of four requests, that of another model and the one after the first answer are not marked."""
    rows = pd.DataFrame({"start": [0, 1, 1, 9], "end": [5, 6, 2, 10], "model": ["a", "a", "m", "a"]})
    rows = rows.assign(start=rows["start"] * 10**9, end=rows["end"] * 10**9)
    found = with_adapters(rows, [Event(n.Events.LORA_ACTIVATED, 2 * 10**9, attributes={"adapter": "a"})])
    assert [1.0, 1.0, 0.0, 0.0] == list(found[n.ADAPTER_NEW.name])


def test_acceptance_from_the_engine_s_counters(store: Store) -> None:
    """Of 40 drafted tokens in ten drafts 25 were accepted: five eighths, and 3.5 tokens a step."""
    counts = {"drafts": 10, "draft_tokens": 40, "accepted_tokens": 25}
    told = [counter(f"vllm:spec_decode_num_{k}_total", [(0, 0), (5, v), (10, 2 * v)]) for k, v in counts.items()]
    row = join(store, metrics(*told)).evidence.series.dropna(subset=[n.SPEC_ACCEPTANCE.name]).iloc[0]
    assert (0.625, 0.375, 3.5) == (row[n.SPEC_ACCEPTANCE.name], row[n.SPEC_REJECTED.name], row[n.SPEC_LENGTH.name])


def test_without_a_draft_nothing_is_rejected(store: Store) -> None:
    """Counters that stand still give no share, rather than one of zero."""
    told = [counter(f"vllm:spec_decode_num_{k}_total", [(0, 7), (5, 7), (10, 7)]) for k in ("draft_tokens", "drafts")]
    assert n.SPEC_REJECTED.name not in join(store, metrics(*told)).evidence.series


def test_a_schema_is_told_by_the_calls_that_have_one(store: Store) -> None:
    """Calls beside those that demand JSON demand none; where no call says its format, nothing is known."""
    calls = [
        chat(id="c", trace=f"t{i}", start=i, end=i + 1, attributes={"gen_ai.output.type": kind} if kind else {})
        for i, kind in enumerate(["json", "", "text"])
    ]
    told = join(store, traces(calls)).evidence.requests
    silent = join(store, traces(calls[1:2])).evidence.requests
    assert [1.0, 0.0, 0.0] == list(told[n.STRUCTURED.name])
    assert n.STRUCTURED.name not in silent


def asked(*rows: tuple[float, float, float]) -> pd.DataFrame:
    """Requests by arrival, time to first token and prompt tokens."""
    table = pd.DataFrame(rows, columns=["at", n.TIME_TO_FIRST_TOKEN.name, n.INPUT_TOKENS.name])
    return table.assign(start=(table["at"] * 1e9).astype("int64"), end=((table["at"] + 10) * 1e9).astype("int64"))


def test_what_is_ahead_is_a_longer_prompt_still_in_prefill() -> None:
    """Ahead of a request is a prompt four times its own that came before and has not had its first token."""
    rows = asked((0, 3, 4000), (1, 2, 100), (2, 1, 1500), (4, 0.1, 100))
    found = with_prefill_ahead(rows, 1.0)[n.LONG_PREFILL_AHEAD.name]
    assert [0.0, 4000.0, 0.0, 0.0] == list(found)


def test_of_sampled_traces_nobody_knows_who_was_ahead() -> None:
    """Where only a part of the traces was read the one ahead may be missing."""
    rows = asked((0, 3, 4000), (1, 2, 100))
    assert n.LONG_PREFILL_AHEAD.name not in with_prefill_ahead(rows, 0.5)
    assert np.isnan(with_prefill_ahead(rows, 1.0)[n.SHORT_FIRST_TOKEN.name].iloc[0])
