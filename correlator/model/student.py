"""Student's t distribution, as far as intervals need it.

Our own lines because importing scipy.special takes 0.3 s, a tenth of a whole diagnosis; a test holds them against it.
The incomplete beta function is the continued fraction of Abramowitz and Stegun 26.5.8, evaluated by Lentz's method.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

TINY = 1e-300
STEPS = 500
"""The fraction needs about the square root of the larger parameter; interval widths stop changing long before."""


def below(t: float, freedom: float) -> float:
    """The probability of a value below `t`."""
    whole = freedom + t * t
    tail = 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / whole, t * t / whole)
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=4096)
def quantile(p: float, freedom: float) -> float:
    """The value with probability `p`, 0.5 to just below 1, below it.

    Newton's method from the normal quantile, which lies below: the distribution is concave there, so each step stays
    below the value sought, and the first that does not climb is the end of the digits.
    """
    value = NormalDist().inv_cdf(p)
    for _ in range(STEPS):
        further = value + (p - below(value, freedom)) / _density(value, freedom)
        if further <= value * (1 + 1e-13):
            break
        value = further
    return value


def _density(t: float, freedom: float) -> float:
    height = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * pi)
    return height * exp(-(freedom + 1) / 2 * log1p(t * t / freedom))


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """The regularised incomplete beta function I_x(a, b); `y` is 1 - x, given because the difference loses digits."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, y) / b


def _fraction(a: float, b: float, x: float) -> float:
    value = c = 1.0
    d = 1 / _away(1 - (a + b) * x / (a + 1))
    value *= d
    for m in range(1, STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def _away(value: float) -> float:
    """Not zero."""
    return value if abs(value) > TINY else TINY
