"""A diagnosis as one self-contained HTML page: opens offline, prints, runs no script, loads nothing.

Jinja escapes every text, and a content security policy forbids scripts and requests besides.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from exporters import _charts as charts
from exporters import _numbers as n
from exporters import _sentences as say
from exporters import _timeline

if TYPE_CHECKING:
    from correlator.model.findings import Diagnosis

LIMIT = 40
"""Findings of one kind, messages, and predictions of one finding that are told in full."""
TOP = 3
"""Findings whose effects are drawn."""
MAX_WATERFALLS = 6


def render(diagnosis: Diagnosis) -> str:
    """The page; the same diagnosis gives the same page."""
    found = say.groups(diagnosis)
    drawn = diagnosis.illustration
    top = found.ranked[:TOP] or found.refuted[:TOP]
    return (
        _environment()
        .get_template("_report.html.j2")
        .render(
            d=diagnosis,
            found=found,
            LIMIT=LIMIT,
            timeline=_timeline.timeline(drawn, diagnosis.windows),
            ledger=charts.ledger(diagnosis.ledger),
            effects=charts.effects(top),
            waterfalls=[(trace, charts.waterfall(trace)) for trace in drawn.waterfalls[:MAX_WATERFALLS]],
            experiment=say.next_experiment(diagnosis),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(say=say, n=n, charts=charts, view_box=f"0 0 {_timeline.WIDTH} {_timeline.HEIGHT}")
    environment.filters.update(clean=n.clean, pct=lambda x: f"{x:.2f}%")
    return environment
