"""The simulated engine obeys its limits: sequences, blocks, batch budget, context length, prefix reuse, costs."""

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
        self.accepted = 0
        self.most = 0
        self.engine: Engine | None = None

    def admitted(self, job: Job) -> None:
        """See Watcher."""
        self.most = max(self.most, len(self.engine.running))

    def token(self, job: Job, seconds: float | None) -> None:
        """See Watcher."""
        self.tokens[job.id] = self.tokens.get(job.id, 0) + 1
        assert self.engine.usage <= 1

    def drafted(self, drafted: int, accepted: int) -> None:
        """See Watcher."""
        self.accepted += accepted

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


def test_accepted_guesses_bring_more_tokens_a_step() -> None:
    """With drafts all tokens come as well, in fewer steps the better they can be guessed, and each is counted once."""
    busy = {}
    for guessable in (0.0, 0.9):
        engine, ledger, clock = _engine(drafts=4)
        jobs = [replace(job, guessable=guessable) for job in _jobs(3)]
        _served(engine, clock, jobs)
        assert {200} == {job.generated for job in jobs}
        assert 600 == sum(ledger.tokens.values()) + ledger.accepted
        busy[guessable] = engine.busy_s
    assert busy[0.9] < busy[0.0] / 2


def test_adapters_are_read_into_slots_once_and_again_when_displaced() -> None:
    """An adapter in its slot costs nothing; with more adapters than slots each waits for its own again."""
    took = {}
    for slots in (1, 2):
        engine, _, clock = _engine(max_loras=slots, lora_load_s=1.0)
        for turn in range(6):
            _served(engine, clock, [Job(str(turn), 50, 2, 2, 0, adapter=f"adapter-{turn % 2}")])
        took[slots] = engine.busy_s
    assert (6, 2) == (int(took[1]), int(took[2]))


def test_masks_keep_a_gpu_waiting() -> None:
    """A grammar's masks are the host's work: the step takes longer, the GPU computes as long as without."""
    times = {}
    for schema in (False, True):
        engine, _, clock = _engine(mask_s=0.01)
        _served(engine, clock, [replace(_jobs(1)[0], schema=schema)])
        times[schema] = engine.busy_s - engine.gpu_s, engine.gpu_s
    assert times[True][0] > times[False][0] + 1
    np.testing.assert_allclose(times[True][1], times[False][1])


def test_a_request_larger_than_the_pool_waits_for_ever() -> None:
    """It is let in by the context's length, gets no blocks, and nobody behind it runs."""
    engine, ledger, clock = _engine(blocks=12)
    _served(engine, clock, [Job("large", 1700, 5, 5, 0)])
    _served(engine, clock, _jobs(3))
    assert ({}, 4, 0.0) == (ledger.tokens, len(engine.waiting), engine.usage)


def test_whoever_waits_for_a_dead_engine_gets_an_error() -> None:
    """Running, waiting and late requests all end with status 500."""
    engine, ledger, clock = _engine(max_num_seqs=1)
    jobs = _jobs(3)
    for job in jobs[:2]:
        engine.submit(job)
    clock.run(0.5)
    engine.submit(jobs[2])
    engine.die()
    clock.run(5.0)
    assert {500} == {job.status for job in jobs}
    assert sorted(job.id for job in jobs) == sorted(ledger.left)


def test_beyond_the_knee_a_larger_batch_brings_fewer_tokens() -> None:
    """Tokens a second rise with the batch up to the knee and fall from there."""
    rates = []
    for limit in (4, 16, 64):
        engine, _, clock = _engine(max_num_seqs=limit, knee=16, beyond_s=1e-3)
        _served(engine, clock, _jobs(64, prompt=10, output=100))
        rates.append(6400 / engine.busy_s)
    assert rates[0] < rates[1] > rates[2]
