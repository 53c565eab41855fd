"""What the watcher is told: objectives of the service, how changes are looked for, and how often."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from correlator.model.periods import Kind

Seconds = Annotated[float, Field(gt=0, le=86_400)]
SHARES = (Kind.ERRORS, Kind.AVAILABILITY, Kind.QUALITY)
SUFFERED = (Kind.LATENCY, Kind.THROUGHPUT, *SHARES)


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Slo(_Section):
    """An objective of a service: an incident opens when its requests break it."""

    name: str = Field(min_length=1, max_length=100)
    kind: Kind
    where: str | None = Field(default=None, description="Service; without it every service has to keep this.")
    threshold: float = Field(
        gt=0,
        description="latency: seconds within which a request is answered; throughput: least generated tokens per "
        "second; errors, quality: largest share of requests that fail, or are cut short or without documents; "
        "availability: least share that is answered.",
    )
    budget: float = Field(default=0.05, gt=0, lt=1, description="latency: share of requests that may be slower.")
    window_s: Seconds = Field(default=300, description="The latest so many seconds are judged.")

    @model_validator(mode="after")
    def _shares_are_shares(self) -> Self:
        if self.kind not in SUFFERED:
            raise ValueError(f"kind: expected what requests suffer from ({', '.join(SUFFERED)}), got {self.kind}")
        if self.kind in SHARES and self.threshold >= 1:
            raise ValueError(f"threshold: expected a share between 0 and 1 for {self.kind}, got {self.threshold}")
        return self


class Change(_Section):
    """Detection without objectives: the latest `window_s` against the `baseline_s` before."""

    enabled: bool = True
    window_s: Seconds = Field(default=300, description="The latest so many seconds are judged.")
    baseline_s: Seconds = Field(default=1_800, description="Against so many seconds before them.")


class WatchSettings(_Section):
    """The section `watch`."""

    enabled: bool = Field(default=True, description="Without it only alerts open incidents.")
    every_s: Seconds = Field(default=30, description="Seconds between two looks.")
    delay_s: Annotated[float, Field(ge=0, le=3_600)] = Field(
        default=15, description="Telemetry younger than this is left for the next look: it may not all be here yet."
    )
    change: Change = Change()
    slos: tuple[Slo, ...] = Field(default=(), max_length=100)
    close_after_s: Seconds = Field(default=300, description="An incident closes after it has been well for so long.")
    abandon_after_s: Annotated[float, Field(gt=0, le=366 * 86_400)] = Field(
        default=7 * 86_400, description="An incident of which nothing was heard for so long is closed, saying so."
    )
    rediagnose_s: Seconds = Field(default=60, description="Least seconds between two diagnoses of an incident.")
    longest_s: Seconds = Field(default=1_800, description="A diagnosis looks at so many seconds from the onset on.")

    @property
    def looking_for(self) -> Self:
        """The same, with nothing to look for by itself where it is not enabled."""
        if self.enabled:
            return self
        return self.model_copy(update={"slos": (), "change": self.change.model_copy(update={"enabled": False})})

    @property
    def shortest_s(self) -> float:
        """Seconds of the shortest window that is judged."""
        return min([self.change.window_s, *(slo.window_s for slo in self.slos)])

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [slo.name for slo in self.slos]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"slos: expected every name once, got {', '.join(twice)} twice")
        return self
