"""What users ask of the model: lengths, and what else a request demands, drawn from the load."""

from __future__ import annotations

import numpy as np

from benchmarks.lab.engine import Job
from benchmarks.lab.world import Load, Phase

BETA = 20.0
"""How alike requests are in how well their answers can be guessed: a share's deviation is a tenth."""


def question(phase: Phase, rng: np.random.Generator, documents: int) -> Job:
    """A request that came with so many documents found."""
    load, engine = phase.load, phase.engine
    output = max(2, round(rng.lognormal(np.log(load.output), load.output_spread)))
    limit = load.max_tokens or output
    share = 0.45 + 0.55 * documents / phase.client.documents
    asked = _prompt(load, rng, share, engine.max_model_len - limit) + load.template_tokens
    prompt = min(asked, load.prompt_limit or asked)
    return Job(
        id=_id(rng),
        prompt=prompt,
        cut=prompt < asked,
        output=min(output, limit),
        max_tokens=limit,
        prefix=0 if load.unique_prefix else load.prefix,
        schema=_drawn(load.schema_share, rng),
        adapter=f"adapter-{rng.integers(load.adapters)}" if load.adapters else "",
        guessable=float(rng.beta(BETA * load.guessable, BETA * (1 - load.guessable))) if engine.drafts else 0.0,
        malformed=_drawn(load.malformed, rng),
    )


def again(job: Job, rng: np.random.Generator) -> Job:
    """The same request sent once more."""
    more = {name: getattr(job, name) for name in ("schema", "adapter", "guessable", "malformed", "cut")}
    return Job(_id(rng), job.prompt, job.output, job.max_tokens, job.prefix, **more)


def _prompt(load: Load, rng: np.random.Generator, share: float, room: int) -> int:
    """Tokens of a prompt; ordinary ones are trimmed to the room there is, long conversations are not."""
    if rng.random() < load.long_share:
        return round(load.long_prompt * rng.lognormal(0, 0.1) * share)
    return min(round(load.prompt * rng.lognormal(0, load.prompt_spread) * share) + load.prefix, room)


def _drawn(share: float, rng: np.random.Generator) -> bool:
    return bool(share) and bool(rng.random() < share)


def _id(rng: np.random.Generator) -> str:
    return f"chatcmpl-{rng.bytes(8).hex()}"
