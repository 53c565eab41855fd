"""What tells how good answers are, whose prompts were cut, and how GPU memory was asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from correlator.join.adapters import with_adapters
from correlator.join.allocations import figures, with_allocations
from correlator.join.evaluations import with_evaluations
from correlator.join.prompt_limits import with_prompt_limits
from correlator.model import names as n
from correlator.model.evidence import Event, Window
from correlator.store import Store
from tests.correlator.join.telemetry import Span, chat, counter, join, metrics, root, traces

S = 10**9
GIB = 2**30
NOW = "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.10 GiB is free. Of the allocated "
NOW += "memory 60.00 GiB is allocated by PyTorch, and 3.50 GiB is reserved by PyTorch but unallocated."
ONCE = "Tried to allocate 2.00 GiB (GPU 0; 79.25 GiB total capacity; 60.00 GiB already allocated; 1.10 GiB free; "
ONCE += "63.50 GiB reserved in total by PyTorch)"


@pytest.mark.parametrize("text", [NOW, ONCE], ids=["since 2.1", "before"])
def test_a_failed_allocation_tells_what_was_asked_and_what_was_held_unused(text: str) -> None:
    """Both forms of PyTorch's message give the two figures in bytes."""
    assert {"asked_bytes": str(2 * GIB), "unallocated_bytes": str(round(3.5 * GIB))} == figures(text)


def test_a_message_without_figures_tells_none() -> None:
    """What is not said is left out."""
    assert {} == figures("CUDA error: out of memory")


def test_repeated_allocations_are_a_rate_while_a_log_spoke() -> None:
    """Two within five seconds are 0.4 a second, none is 0, and without the log nothing is known."""
    series = pd.DataFrame({"start": np.arange(4) * 5 * S})
    told = [Event(n.Events.ALLOCATION_RETRIED, at * S, "vllm") for at in (6, 7)]
    found = with_allocations(series, told, [Window(0, 15 * S)])
    assert [0.0, 0.4, 0.0] == list(found[n.ALLOCATION_RETRIES.name])[:3]
    assert np.isnan(found[n.ALLOCATION_RETRIES.name].iloc[3])
    assert n.ALLOCATION_RETRIES.name not in with_allocations(series, [], [Window(0, 15 * S)])
    assert with_allocations(series, told, [])[n.ALLOCATION_RETRIES.name].isna().all()


def prompts(*tokens: float) -> list[float]:
    rows = pd.DataFrame({"start": np.arange(len(tokens)) * S, n.INPUT_TOKENS.name: tokens})
    return list(with_prompt_limits(rows)[n.PROMPT_AT_LIMIT.name])


def test_prompts_at_one_greatest_length_are_at_a_limit() -> None:
    """Of prompts that used to be longer, the five at 512 with none beyond are; the same length before is not."""
    before, since = (900, 512, 700, 120), (512, 100, 512, 512, 300, 512, 512)
    assert [0.0] * 4 + [float(t == 512) for t in since] == prompts(*before, *since)


def test_the_longest_of_many_short_prompts_is_at_no_limit() -> None:
    """Whole numbers within a narrow range meet by chance; a tail that thins out is none that was cut."""
    assert [0.0] * 24 == prompts(*(20, 20, 19, 19, 18, 20, 19, 18, 20, 19, 20, 19) * 2)


def marks(name: str, *scores: float) -> pd.DataFrame:
    return pd.DataFrame({"trace_id": [f"t{i}" for i in range(len(scores))], "name": name, "score": scores})


def shortfalls(*results: pd.DataFrame) -> list[float]:
    rows = with_evaluations(pd.DataFrame({"trace_id": ["t0", "t1"]}), pd.concat(results))
    return list(rows[n.ANSWER_SHORTFALL.name]) if n.ANSWER_SHORTFALL.name in rows else []


def test_what_an_answer_lacks_is_told_by_its_evaluator() -> None:
    """A mark of 0.75 lacks a quarter; the evaluator that spoke most often is heard, one of harm never is."""
    assert [0.25, 0.5] == shortfalls(marks("Relevance", 0.75, 0.5), marks("Toxicity", 0.1, 0.1), marks("Fluency", 0.5))


def test_marks_of_another_scale_say_nothing() -> None:
    """From one to five: what the best mark is nobody says."""
    assert [] == shortfalls(marks("Relevance", 4, 5))


def test_an_evaluation_told_as_a_span_counts(store: Store) -> None:
    """A span with a score in the request's trace marks its answer."""
    told: dict[str, str | bool | int | float] = {
        "gen_ai.evaluation.name": "Relevance",
        "gen_ai.evaluation.score.value": 0.75,
    }
    spans = [root(trace="a", start=0, end=2), chat(id="c", parent="root", trace="a", start=0.5, end=1.5)]
    spans.append(Span(id="e", parent="root", trace="a", start=1.6, end=1.6, attributes=told))
    assert [0.25] == list(join(store, traces(spans)).evidence.requests[n.ANSWER_SHORTFALL.name])


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [(("stop", "repetition"), [0.0, 1.0]), (("stop", "length"), None)],
    ids=["one looped", "none ever did"],
)
def test_looping_answers_are_known_where_one_was_ever_seen(
    store: Store, reasons: tuple[str, str], expected: list[float] | None
) -> None:
    """An engine looks for loops only where it is asked to: that none was told is no health."""
    spans = []
    for i, reason in enumerate(reasons):
        said = {"gen_ai.response.finish_reasons": reason}
        spans += [root(trace=f"t{i}", start=i, end=i + 1.0)]
        spans += [chat(id="c", parent="root", trace=f"t{i}", start=i + 0.1, end=i + 0.9, attributes=said)]
    rows = join(store, traces(spans)).evidence.requests
    found = list(rows[n.DEGENERATE.name]) if n.DEGENERATE.name in rows else None
    assert expected == found


def test_looping_answers_by_the_engine_s_counters(store: Store) -> None:
    """Of ten answers in five seconds two ended in a loop."""
    name, points = "vllm:request_success_total", ((0, 0), (5, 1), (10, 2))
    told = [
        counter(name, [(t, 8.0 * k) for t, k in points], finished_reason="stop"),
        counter(name, [(t, 2.0 * k) for t, k in points], finished_reason="repetition"),
    ]
    series = join(store, metrics(*told)).evidence.series
    assert pytest.approx(0.2) == series[n.DEGENERATE.name].dropna().iloc[0]


def test_slots_tell_of_adapters_that_no_scrape_saw_loading() -> None:
    """Two slots, three adapters: the third is loaded, and then the one it displaced; meanwhile another one waits."""
    asked = [(0, 1, "a"), (2, 3, "b"), (4, 6, "c"), (5, 7, "b"), (8, 9, "a"), (10, 11, "a")]
    rows = pd.DataFrame(asked, columns=["start", "end", "model"])
    rows = rows.assign(start=rows["start"] * S, end=rows["end"] * S)
    told = {"adapter": "c", "held": "a,b", "slots": "2", "engine": "1"}
    found = with_adapters(rows, [Event(n.Events.LORA_ACTIVATED, 5 * S, attributes=told)])
    assert [0.0, 0.0, 1.0, 0.0, 1.0, 0.0] == list(found[n.ADAPTER_NEW.name])
    assert [0.0, 0.0, 1.0, 1.0, 1.0, 0.0] == list(found[n.ADAPTER_LOADING.name])
