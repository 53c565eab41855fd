"""Student's t against scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from correlator.model.student import below, quantile

FREEDOM = st.floats(1, 2_000)


@given(st.floats(-200, 200), FREEDOM)
def test_probabilities_are_scipys(t: float, freedom: float) -> None:
    """To ten digits, far out in the tails too."""
    assert stdtr(freedom, t) == pytest.approx(below(t, freedom), rel=1e-9, abs=1e-12)


@given(st.floats(0.5, 0.9999), FREEDOM)
def test_quantiles_are_scipys(p: float, freedom: float) -> None:
    """To eight digits."""
    assert stdtrit(freedom, p) == pytest.approx(quantile(p, freedom), rel=1e-8, abs=1e-9)


@given(st.floats(-50, 50), FREEDOM)
def test_both_sides_add_up(t: float, freedom: float) -> None:
    """Below and above are all there is."""
    assert 1 == pytest.approx(below(t, freedom) + below(-t, freedom))
