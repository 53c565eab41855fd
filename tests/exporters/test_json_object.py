"""The JSON object is what the schema in docs/ promises."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from correlator.model.evidence import Interval
from correlator.model.findings import Diagnosis
from exporters.json_object import to_object
from tests.exporters import sample
from tests.exporters.hostile import filled

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "diagnosis.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


def test_the_schema_is_a_schema() -> None:
    """The committed schema is valid draft 2020-12 and refuses an empty object."""
    Draft202012Validator.check_schema(SCHEMA)
    assert not VALIDATOR.is_valid({})


@pytest.mark.parametrize("diagnosis", [sample.incident(), sample.healthy(), sample.empty()])
def test_every_diagnosis_fits_the_schema(diagnosis: Diagnosis) -> None:
    """An incident, a quiet service and an empty input all give the promised shape, through JSON and back."""
    found = json.loads(json.dumps(to_object(diagnosis), allow_nan=False))
    assert [] == [error.message for error in VALIDATOR.iter_errors(found)]


def test_the_keys_come_in_the_documented_order() -> None:
    """The object reads in the order in which the documentation tells it."""
    assert list(SCHEMA["properties"]) == list(to_object(sample.incident()))


def test_the_symptom_tells_its_windows_and_change() -> None:
    """Times are RFC 3339 in UTC, and the change is a ratio with its interval."""
    symptom = to_object(sample.incident())["symptom"]
    baseline = {"start": "2026-11-30T03:35:16Z", "end": "2026-11-30T03:36:30Z", "value": 0.1699}
    assert baseline == symptom["baseline"]
    assert "2026-11-30T03:36:30Z" == symptom["onset"]
    assert {"ratio": 2.13, "low": 1.84, "high": 2.47} == symptom["change"]


@pytest.mark.parametrize(("base", "ratio"), [(0.1, {"ratio": 3.0, "low": 2.0, "high": 4.0}), (0.0, None)])
def test_a_difference_is_told_as_a_ratio(base: float, ratio: dict[str, float] | None) -> None:
    """A change measured as a difference becomes a ratio to the baseline, and null where that is zero."""
    found = sample.incident()
    assert found.symptom is not None
    symptom = replace(found.symptom, baseline_value=base, change=Interval(0.2, 0.1, 0.3, "1"))
    change = to_object(replace(found, symptom=symptom))["symptom"]["change"]
    assert (ratio or {"ratio": None, "low": None, "high": None}) == pytest.approx(change)


def test_no_symptom_is_null() -> None:
    """Where nothing beyond noise was found, `symptom` is null and the rest is there."""
    found = to_object(sample.healthy())
    assert found["symptom"] is None
    assert 0.97 == found["none_of_these"]


@given(st.integers(min_value=-(2**62), max_value=2**63 - 1))
def test_times_keep_every_nanosecond(unix_nano: int) -> None:
    """Any time that fits 64 bits comes back exactly from its text."""
    found = sample.incident()
    assert found.symptom is not None
    onset = to_object(replace(found, symptom=replace(found.symptom, onset=unix_nano)))["symptom"]["onset"]
    whole, _, fraction = onset.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole + "+00:00").timestamp())
    assert unix_nano == seconds * 10**9 + int(fraction.ljust(9, "0") or 0)


@given(ANY_FLOAT, ANY_FLOAT, ANY_FLOAT)
def test_numbers_are_finite_or_null(value: float, low: float, high: float) -> None:
    """NaN and infinity become null wherever they stand, and finite numbers stay as they are."""
    found = sample.incident()
    finding = replace(found.findings[0], share=Interval(value, low, high))
    text = json.dumps(to_object(replace(found, findings=(finding,), elapsed_s=low)), allow_nan=False)
    share = json.loads(text)["findings"][0]["share"]
    expected = {"value": value, "low": low, "high": high}
    assert {k: v if math.isfinite(v) else None for k, v in expected.items()} == share


def test_numpy_numbers_are_plain() -> None:
    """What a data frame returns can be written as JSON."""
    found = sample.incident()
    signals = {"x": {"rows": np.int64(7), "interval_s": np.float64("nan"), "sources": {"b", "a"}}}
    coverage = replace(found.coverage, signals=signals, orphan_share=np.float32(0.5))
    told = json.loads(json.dumps(to_object(replace(found, coverage=coverage))))["coverage"]
    assert {"rows": 7, "interval_s": None, "sources": ["a", "b"]} == told["signals"]["x"]
    assert 0.5 == told["orphan_share"]


def test_hostile_text_is_kept_as_it_is() -> None:
    """Text is data: quotes and control characters survive the way through JSON."""
    text = '</script>"\x1b[31m\n|`'
    found = json.loads(json.dumps(to_object(filled(text))))
    assert text == found["findings"][0]["claim"]


def test_half_characters_can_be_written_as_utf8() -> None:
    """A lone surrogate does not stop the output."""
    text = json.dumps(to_object(filled("a\ud800b")), ensure_ascii=False)
    assert "a?b" in text.encode().decode()
