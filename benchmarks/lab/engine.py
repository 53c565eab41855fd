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
    schema: bool = False
    adapter: str = ""
    guessable: float = 0.0
    malformed: bool = False
    cut: bool = False
    """Some of the prompt was silently left out."""
    done: Signal = field(default_factory=Signal)
    arrived: float = 0.0
    queued: float = 0.0
    scheduled: float | None = None
    first_token: float | None = None
    first_seen: float | None = None
    """When the caller had the first token, where it was streamed."""
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

    def drafted(self, drafted: int, accepted: int) -> None:
        """A step guessed tokens of a request and kept some of them, beside the one that it brought anyway."""

    def preempted(self, job: Job) -> None:
        """A request lost its blocks."""

    def retried(self, since_ready_s: float) -> None:
        """An allocation failed until the allocator gave back what it held."""

    def ended(self, job: Job) -> None:
        """A request was answered, refused or given up."""


class Engine:
    """Serves jobs step by step. It counts the seconds it was busy, `gpu_s` those of them in which a GPU computes, and
    `sm_s` how much of the GPU is full in them."""

    def __init__(
        self, config: EngineConfig, clock: Clock, host: Host, rng: np.random.Generator, watcher: Watcher
    ) -> None:
        self.config, self.clock, self.host, self.rng, self.watcher = config, clock, host, rng, watcher
        self.waiting: deque[Job] = deque()
        self._inbox: list[Job] = []
        self.running: list[Job] = []
        self.busy_s = self.gpu_s = self.sm_s = 0.0
        self.started = clock.now
        self.loaded: list[str] = []
        """Adapters in their slots, the one used last behind."""
        self._dead = False
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

    def die(self) -> None:
        """Whatever is here fails, and whatever comes."""
        self._dead = True
        for job in [*self.running, *self.waiting, *self._inbox]:
            self._refuse(job, 500)

    @property
    def usage(self) -> float:
        """Share of KV blocks in use; one block is the engine's own."""
        return sum(job.blocks for job in self.running) / (self.config.blocks - 1)

    def _enqueue(self, job: Job) -> None:
        if job.done.fired:
            return
        if self._dead:
            return self._refuse(job, 500)
        if job.malformed or job.prompt + job.max_tokens > self.config.max_model_len:
            return self._refuse(job, 400)
        self._inbox.append(job)
        if not self._stepping:
            self._step()

    def _refuse(self, job: Job, status: int) -> None:
        job.status = status
        self._leave(job)

    def _step(self) -> None:
        self._receive()
        plan = self._schedule()
        self._stepping = bool(plan)
        if plan:
            host, device = self._seconds(plan)
            seconds = host + device
            self.busy_s += seconds
            self.gpu_s += device
            self.sm_s += device * occupancy(len(plan), _prompt_tokens(plan))
            self.clock.after(seconds, lambda: self._computed(plan))

    def _receive(self) -> None:
        """Requests come in between steps: what they waited for a running step is not queueing to the engine."""
        for job in self._inbox:
            job.queued = self.clock.now
        self.waiting.extend(self._inbox)
        self._inbox.clear()

    def _seconds(self, plan: list[tuple[Job, int]]) -> tuple[float, float]:
        """Seconds of a step in which a GPU waits for the host, and in which it computes."""
        c, gpu = self.config, self.host.phase.gpu
        beyond = max(0, len(plan) - c.knee) if c.knee else 0
        sequences = c.seq_s * (len(plan) - beyond) + c.beyond_s * beyond
        work = (c.base_s + sequences + c.token_s * _prompt_tokens(plan)) * c.slowdown * (gpu.slowness if gpu else 1)
        waits = c.host_s + c.mask_s * sum(job.schema for job, _ in plan)
        warm = 1 + c.warm_up_factor * exp(-(self.clock.now - self.started) / c.warm_up_s)
        hiccup = self.rng.exponential(0.02) if self.rng.random() < 0.004 else 0.0
        speed = warm * self.host.slowness(self.clock.now) * self.rng.lognormal(0, 0.15)
        loads = c.lora_load_s * self._load({job.adapter for job, _ in plan} - {""})
        return float((waits + self._retries(plan)) * speed + hiccup + loads), float(work * speed)

    def _retries(self, plan: list[tuple[Job, int]]) -> float:
        """Seconds in which an allocation is repeated; a prefill asks for the large ones."""
        gpu = self.host.phase.gpu
        if gpu is None or not gpu.retry_share or not _prompt_tokens(plan) or self.rng.random() >= gpu.retry_share:
            return 0.0
        self.watcher.retried(self.clock.now - self.started)
        return gpu.retry_s

    def _load(self, asked: set[str]) -> int:
        """How many of these adapters were in no slot; they are now, and those used longest ago are not."""
        new = len(asked - set(self.loaded))
        kept = [name for name in self.loaded if name not in asked]
        self.loaded = [*kept, *sorted(asked)][-max(self.config.max_loras, len(asked)) :] if asked else self.loaded
        return new

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
                self._accept(job)
        self._step()

    def _accept(self, job: Job) -> None:
        """Of the drafted tokens those before the first wrong one are kept."""
        drafts = self.config.drafts
        if not drafts or job not in self.running or job.generated < 2:  # nothing is drafted in prefill
            return
        guesses = self.rng.random(drafts) < job.guessable
        accepted = min(int(np.argmin(np.append(guesses, False))), job.output - job.generated)
        job.generated, job.computed = job.generated + accepted, job.computed + accepted
        self.watcher.drafted(drafts, accepted)
        if job.generated >= job.output:
            self._leave(job)

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


def occupancy(sequences: int, prompt_tokens: int) -> float:
    """Share of the SMs that a step keeps busy: a small batch is a few thread blocks, a prefill fills the GPU.

    The recorded H100 was filled to 65 % by 256 sequences of a small model; here a batch of 30 fills all.
    """
    return min(1.0, 0.4 + 0.02 * sequences + 1e-3 * prompt_tokens)


def _prompt_tokens(plan: list[tuple[Job, int]]) -> int:
    return sum(count for _, count in plan if count > 1)
