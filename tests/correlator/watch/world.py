"""A made-up service under watch: hours of requests, incidents in memory, and a clock that tests turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from correlator.model.evidence import Evidence, Kind, Windows, with_windows
from correlator.model.incidents import Incident, State
from correlator.watch.loop import Watcher, tick
from correlator.watch.settings import WatchSettings
from tests.correlator.join.telemetry import at

SETTINGS = WatchSettings(every_s=30, delay_s=0, close_after_s=300)


def answer(cause: str = "input_token_inflation", probability: float = 0.9) -> Mapping[str, object]:
    return {"findings": [{"hypothesis": cause, "probability": probability}]}


def several(**services: Evidence) -> Evidence:
    """Services side by side, as if they had been measured together."""
    frames = [evidence.requests.assign(service=name) for name, evidence in services.items()]
    first = next(iter(services.values()))
    return replace(first, requests=pd.concat(frames).sort_values("start", ignore_index=True))


def silent(evidence: Evidence, since: float, until: float) -> Evidence:
    """The same without anything measured between two seconds."""
    low, high = at(since), at(until)
    kept = [frame[(frame["start"] < low) | (frame["start"] >= high)] for frame in (evidence.requests, evidence.series)]
    return replace(evidence, requests=kept[0], series=kept[1])


@dataclass
class World:
    """What the watcher is wired to. `answers` are given one after another, the last one for ever."""

    evidence: Evidence
    settings: WatchSettings = SETTINGS
    answers: list[Mapping[str, object] | Exception] = field(default_factory=lambda: [answer()])
    versions: list[Incident] = field(default_factory=list)
    asked: list[tuple[Windows, Kind, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watcher = Watcher(
            settings=self.settings,
            evidence=self.watch_evidence,
            diagnose=self.diagnose,
            live=self.live,
            save=self.versions.append,
        )

    @property
    def incidents(self) -> list[Incident]:
        """The highest version of each."""
        return list({i.id: i for i in sorted(self.versions, key=lambda i: i.version)}.values())

    @property
    def counts(self) -> dict[str, int]:
        return dict(self.watcher.counts)

    def watch_evidence(self, windows: Windows) -> Evidence:
        return with_windows(self.evidence, windows)

    def live(self, closed_after: int, limit: int) -> list[Incident]:
        lately = [i for i in self.incidents if i.state is State.OPEN or (i.closed or 0) >= closed_after]
        return sorted((i for i in lately if i.state is not State.MERGED), key=lambda i: i.opened)[-limit:]

    def diagnose(self, windows: Windows, kind: Kind, where: str) -> Mapping[str, object]:
        self.asked.append((windows, kind, where))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    def run(self, start: float, end: float) -> list[Incident]:
        """Look every 30 s between two seconds, and give what there is then."""
        for second in range(int(start), int(end), 30):
            tick(self.watcher, at(second))
        return self.incidents
