"""The calibration file: read, complete, and refused by the name of what is wrong."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from correlator.model.findings import Verdict
from hypotheses._registry import all_hypotheses
from tests.hypotheses.claims import calibration


def test_the_calibration_file_is_valid() -> None:
    """The file that ships is read, and says where its numbers come from."""
    assert calibration().source
    assert set(Verdict) == set(calibration().verdict_weight)


def test_the_calibration_file_names_only_what_exists() -> None:
    """Priors and overrides of the file belong to hypotheses and predictions that exist."""
    found = calibration()
    ids = {h.id for h in all_hypotheses()}
    predictions = {f"{h.id}.{p.id}" for h in all_hypotheses() for p in h.predictions}
    assert set() == set(found.priors) - ids
    assert set() == set(found.predictions) - predictions


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"necesary": {}}, "necesary"),
        ({"necessary": {"held": 0, "inconclusive": 1, "untestable": 1, "failed": 1}}, "necessary.held"),
        (
            {"separating": {"held": 1, "inconclusive": -1, "untestable": 1, "failed": 1}},
            "separating.inconclusive",
        ),
        ({"necessary": {"held": 1, "inconclusive": 1, "untestable": 1}}, "necessary.failed"),
        ({"share_floor": 0}, "share_floor"),
        ({"mechanism_weight": 1.5}, "mechanism_weight"),
        ({"priors": {"none_of_these": 0}}, "priors.none_of_these"),
        ({"verdict_weight": {"supported": 0}}, "verdict_weight.supported"),
        ({"verdict_weight": {"corroborated": 1}}, "verdict_weight.corroborated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_calibration_is_refused(changes: dict[str, object], field: str) -> None:
    """Unknown keys and weights that are not positive are refused by the name of their field."""
    with pytest.raises(ValidationError) as error:
        calibration(**changes)
    assert field in [".".join(str(part) for part in e["loc"] if part != "[key]") for e in error.value.errors()]
