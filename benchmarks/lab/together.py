"""Two scenarios at once, for those that change different things."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from benchmarks.lab.world import CALM, Phase, Scenario

NESTED = ("load", "engine", "client")
Settings = dict[tuple[str, str], Any]
"""Values by (part of a phase, field); a phase's own fields belong to the part ""."""


def together(first: Scenario, second: Scenario) -> Scenario:
    """Both worlds' baselines in one, and both changes to it.

    Raises ValueError where they want different baselines, or where a change of one stands on what the other sets.
    """
    baseline = _merged(_changes(CALM, first.baseline), _changes(CALM, second.baseline), "baselines")
    for one, other in ((first, second), (second, first)):
        changed = _changes(one.baseline, one.incident).keys()
        if theirs := changed & (_changes(CALM, other.baseline).keys() - _changes(CALM, one.baseline).keys()):
            raise ValueError(f"{one.name} changes what {other.name} sets from the start: {sorted(theirs)}")
    both = [_changes(one.baseline, one.incident) for one in (first, second)]
    if shared := both[0].keys() & both[1].keys():
        raise ValueError(f"{first.name} and {second.name} both change {sorted(shared)}")
    truths = tuple(one.truth for one in (first, second) if one.truth != "none")
    right = tuple(dict.fromkeys(cause for one in (first, second) for cause in (one.truth, *one.also)))
    right = tuple(cause for cause in right if cause != "none") or ("none",)
    return Scenario(
        name=f"{first.name}_and_{second.name}",
        truth=right[0],
        also=right[1:],
        truths=truths,
        baseline=_with(CALM, baseline),
        incident=_with(CALM, baseline | both[0] | both[1]),
        restart=first.restart or second.restart,
        symptom=first.symptom,
        window_s=max(first.window_s, second.window_s),
        busy=second.busy if first.busy is None else first.busy,
    )


def _settings(phase: Phase) -> Settings:
    parts = [(name, getattr(phase, name)) for name in NESTED]
    own = {("", f.name): getattr(phase, f.name) for f in fields(phase) if f.name not in NESTED}
    return own | {(name, f.name): getattr(part, f.name) for name, part in parts for f in fields(part)}


def _changes(before: Phase, after: Phase) -> Settings:
    old = _settings(before)
    return {key: value for key, value in _settings(after).items() if value != old[key]}


def _merged(one: Settings, other: Settings, what: str) -> Settings:
    if differ := [key for key in one.keys() & other.keys() if one[key] != other[key]]:
        raise ValueError(f"{what} differ in {sorted(differ)}")
    return one | other


def _with(phase: Phase, settings: Settings) -> Phase:
    nested = {name: {key: v for (part, key), v in settings.items() if part == name} for name in NESTED}
    return phase.with_(**nested, **{key: v for (part, key), v in settings.items() if not part})
