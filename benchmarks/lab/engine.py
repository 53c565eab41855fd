"""An engine with continuous batching: chunked prefill, KV blocks, preemption by recomputation, prefix reuse."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import ceil, exp
from typing import Protocol

import numpy as np

from benchmarks.lab.clock import Clock, Signal
from benchmarks.lab.host import Host
from benchmarks.lab.world import EngineConfig


@dataclass(eq=False, slots=True)
class Job:
    """One request in the engine. Times are simulated seconds."""

    id: str
    prompt: int
    output: int
    max_tokens: int
    prefix: int
    done: Signal = field(default_factory=Signal)
    arrived: float = 0.0
    queued: float = 0.0
    scheduled: float | None = None
    first_token: float | None = None
    last_token: float = 0.0
    left: float = 0.0
    computed: int = 0
    generated: int = 0
    cached: int = 0
    blocks: int = 0
    preemptions: int = 0
    status: int = 200

    @property
    def tokens(self) -> int:
        """Tokens whose keys and values must be there before the next one comes."""
        return self.prompt + self.generated


class Watcher(Protocol):
    """What keeps the engine's books."""

    def admitted(self, job: Job) -> None:
        """A request got its place and its cached prefix."""

    def token(self, job: Job, seconds: float | None) -> None:
        """A token came; seconds since the one before, None for the first."""

    def preempted(self, job: Job) -> None:
        """A request lost its blocks."""

    def ended(self, job: Job) -> None:
        """A request was answered, refused or given up."""


class Engine:
    """Serves jobs step by step; `busy_s` counts the seconds it computed."""

    def __init__(
        self, config: EngineConfig, clock: Clock, host: Host, rng: np.random.Generator, watcher: Watcher
    ) -> None:
        self.config, self.clock, self.host, self.rng, self.watcher = config, clock, host, rng, watcher
        self.waiting: deque[Job] = deque()
        self._inbox: list[Job] = []
        self.running: list[Job] = []
        self.busy_s = 0.0
        self.started = clock.now
        self._stepping = False
        self._prefix_known = False

    def submit(self, job: Job) -> Signal:
        """Take a request; its signal fires with the job when it has been answered or refused."""
        job.arrived = self.clock.now
        front = self.rng.lognormal(np.log(3e-3), 0.5) * self.host.slowness(self.clock.now) + 5e-6 * job.prompt
        self.clock.after(front, lambda: self._enqueue(job))
        return job.done

    def abort(self, job: Job) -> None:
        """The client went away."""
        if not job.done.fired:
            job.status = 499
            self._leave(job)

    @property
    def usage(self) -> float:
        """Share of KV blocks in use; one block is the engine's own."""
        return sum(job.blocks for job in self.running) / (self.config.blocks - 1)

    def _enqueue(self, job: Job) -> None:
        if job.done.fired:
            return
        if job.prompt + job.max_tokens > self.config.max_model_len:
            job.status = 400
            self._leave(job)
            return
        self._inbox.append(job)
        if not self._stepping:
            self._step()

    def _step(self) -> None:
        self._receive()
        plan = self._schedule()
        self._stepping = bool(plan)
        if plan:
            seconds = self._seconds(len(plan), sum(n for _, n in plan if n > 1))
            self.busy_s += seconds
            self.clock.after(seconds, lambda: self._computed(plan))

    def _receive(self) -> None:
        """Requests come in between steps: what they waited for a running step is not queueing to the engine."""
        for job in self._inbox:
            job.queued = self.clock.now
        self.waiting.extend(self._inbox)
        self._inbox.clear()

    def _seconds(self, sequences: int, prompt_tokens: int) -> float:
        c = self.config
        work = (c.base_s + c.seq_s * sequences + c.token_s * prompt_tokens) * c.slowdown
        warm = 1 + c.warm_up_factor * exp(-(self.clock.now - self.started) / c.warm_up_s)
        hiccup = self.rng.exponential(0.02) if self.rng.random() < 0.004 else 0.0
        return float(work * warm * self.host.slowness(self.clock.now) * self.rng.lognormal(0, 0.15) + hiccup)

    def _schedule(self) -> list[tuple[Job, int]]:
        budget, plan, full = self.config.max_num_batched_tokens, dict[Job, int](), False
        for job in list(self.running):
            if job not in self.running or not budget:
                continue
            count = min(job.tokens - job.computed, budget)
            while job in self.running and not self._reserve(job, job.computed + count):
                full = True
                plan.pop(self._preempt(), None)
            if job in self.running:
                plan[job] = count
                budget -= count
        while not full and self.waiting and budget and len(self.running) < self.config.max_num_seqs:
            job = self.waiting[0]
            self._reuse(job)
            count = min(job.tokens - job.computed, budget)
            if not self._reserve(job, job.computed + count):
                break
            self._admit(self.waiting.popleft())
            plan[job] = count
            budget -= count
        return list(plan.items())

    def _admit(self, job: Job) -> None:
        self.running.append(job)
        if job.scheduled is None:
            job.scheduled = self.clock.now
            self.watcher.admitted(job)

    def _reuse(self, job: Job) -> None:
        size = self.config.block_size
        if self.config.prefix_caching and self._prefix_known and not job.computed:
            job.computed = min(job.prefix, job.prompt - 1) // size * size
            job.cached = job.computed

    def _reserve(self, job: Job, tokens: int) -> bool:
        own = ceil(tokens / self.config.block_size) - job.cached // self.config.block_size
        used = sum(other.blocks for other in self.running)
        if used + own - (job.blocks if job in self.running else 0) > self.config.blocks - 1:
            return False
        job.blocks = max(own, job.blocks)
        return True

    def _preempt(self) -> Job:
        victim = self.running.pop()
        victim.computed = victim.blocks = 0
        victim.preemptions += 1
        self.waiting.appendleft(victim)
        self.watcher.preempted(victim)
        return victim

    def _computed(self, plan: list[tuple[Job, int]]) -> None:
        for job, count in plan:
            if job not in self.running:
                continue
            job.computed += count
            if job.computed >= job.tokens:
                self._token(job)
        self._step()

    def _token(self, job: Job) -> None:
        now = self.clock.now
        since = None if job.first_token is None else now - job.last_token
        job.first_token = now if job.first_token is None else job.first_token
        job.generated, job.last_token = job.generated + 1, now
        self.watcher.token(job, since)
        self._prefix_known |= job.prefix > 0
        if job.generated >= job.output:
            self._leave(job)

    def _leave(self, job: Job) -> None:
        for place in (self.running, self.waiting, self._inbox):
            if job in place:
                place.remove(job)
        job.left = self.clock.now + float(self.rng.lognormal(np.log(8e-4), 0.4))
        self.watcher.ended(job)
        self.clock.after(job.left - self.clock.now, lambda: job.done.fire(job))
