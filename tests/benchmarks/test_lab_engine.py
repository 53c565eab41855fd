"""The simulated engine obeys its limits: sequences, blocks, batch budget, context length, prefix reuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.lab.clock import TIMED_OUT, Clock, Signal
from benchmarks.lab.engine import Engine, Job
from benchmarks.lab.host import Host
from benchmarks.lab.world import EngineConfig, Phase


class Ledger:
    """Remembers what the engine reported."""

    def __init__(self) -> None:
        self.tokens: dict[str, int] = {}
        self.evicted: list[str] = []
        self.left: list[str] = []
        self.most = 0
        self.engine: Engine | None = None

    def admitted(self, job: Job) -> None:
        """See Watcher."""
        self.most = max(self.most, len(self.engine.running))

    def token(self, job: Job, seconds: float | None) -> None:
        """See Watcher."""
        self.tokens[job.id] = self.tokens.get(job.id, 0) + 1
        assert self.engine.usage <= 1

    def preempted(self, job: Job) -> None:
        """See Watcher."""
        self.evicted.append(job.id)

    def ended(self, job: Job) -> None:
        """See Watcher."""
        self.left.append(job.id)


def _engine(**changes: object) -> tuple[Engine, Ledger, Clock]:
    rng, clock, ledger = np.random.default_rng(0), Clock(), Ledger()
    ledger.engine = Engine(replace(EngineConfig(), **changes), clock, Host(Phase(), rng, 0.4), rng, ledger)
    return ledger.engine, ledger, clock


def _jobs(count: int, prompt: int = 300, output: int = 200, prefix: int = 0) -> list[Job]:
    return [Job(str(i), prompt, output, output, prefix) for i in range(count)]


def _served(engine: Engine, clock: Clock, jobs: list[Job]) -> None:
    for job in jobs:
        engine.submit(job)
    clock.run(clock.now + 600)


@pytest.mark.parametrize("changes", [{}, {"blocks": 17}, {"max_num_seqs": 1}, {"max_num_batched_tokens": 64}])
def test_every_request_gets_every_token_once(changes: dict[str, int]) -> None:
    """Whatever is short, all requests are answered in full, and each token is counted once."""
    engine, ledger, clock = _engine(**changes)
    jobs = _jobs(12)
    _served(engine, clock, jobs)
    assert {job.id: 200 for job in jobs} == ledger.tokens
    assert sorted(job.id for job in jobs) == sorted(ledger.left)
    assert (0, 0, 0.0) == (len(engine.running), len(engine.waiting), engine.usage)


def test_few_blocks_preempt_and_many_do_not() -> None:
    """Requests that outgrow the pool are evicted and done again; with room nobody is."""
    for blocks, evicted in ((17, True), (8192, False)):
        engine, ledger, clock = _engine(blocks=blocks)
        _served(engine, clock, _jobs(12))
        assert evicted == bool(ledger.evicted)


def test_no_more_run_than_the_limit_allows() -> None:
    """The limit on sequences holds, and others wait in the order of their arrival."""
    engine, ledger, clock = _engine(max_num_seqs=2)
    _served(engine, clock, _jobs(9))
    assert 2 == ledger.most


def test_a_prompt_beyond_the_context_is_refused_at_once() -> None:
    """Prompt and limit together exceed the context: status 400, no token."""
    engine, ledger, clock = _engine()
    job = Job("long", 2040, 9, 9, 0)
    _served(engine, clock, [job])
    assert (400, {}) == (job.status, ledger.tokens)


def test_a_shared_prefix_is_computed_once() -> None:
    """The second request with the prefix finds whole blocks of it; without caching it finds none."""
    for caching, cached in ((True, 640), (False, 0)):
        engine, _, clock = _engine(prefix_caching=caching)
        first, second = _jobs(2, prompt=800, output=5, prefix=700)
        _served(engine, clock, [first])
        _served(engine, clock, [second])
        assert (0, cached) == (first.cached, second.cached)


def test_a_caller_that_leaves_frees_its_place() -> None:
    """An aborted request holds no blocks and gets no more tokens."""
    engine, ledger, clock = _engine()
    job = _jobs(1, output=1500)[0]
    engine.submit(job)
    clock.run(1.0)
    engine.abort(job)
    clock.run(5.0)
    assert (499, 0.0, 0) == (job.status, engine.usage, len(engine.running))
    assert 0 < ledger.tokens[job.id] < 1500


def test_the_clock_wakes_in_order_and_a_signal_fires_once() -> None:
    """Sleeps end by time, a wait ends with the signal's first value or with its time-out."""
    clock, signal, seen = Clock(), Signal(), []

    def sleeper(name: str, seconds: float):  # type: ignore[no-untyped-def]
        yield seconds
        seen.append(name)

    def waiter():  # type: ignore[no-untyped-def]
        seen.append((yield clock.within(signal, 1.0)) is TIMED_OUT)
        seen.append((yield clock.within(signal, 5.0)))

    for name, seconds in (("late", 3.0), ("early", 0.5)):
        clock.start(sleeper(name, seconds))
    clock.start(waiter())
    clock.after(2.0, lambda: (signal.fire("first"), signal.fire("second")))
    clock.run(10.0)
    assert ["early", True, "first", "late"] == seen
