"""Effects between two windows: laws that hold for any data, and intervals that keep their promise."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from correlator.model.effects import (
    MIN_BLOCKS,
    Effect,
    against_history,
    difference,
    false_discovery,
    rank_correlation,
    ratio,
    share_of_change,
)
from correlator.model.evidence import BASELINE, INCIDENT

WORLDS = 500
values = st.floats(0.01, 100.0, allow_nan=False)
block_values = st.lists(st.lists(values, min_size=1, max_size=5), min_size=MIN_BLOCKS, max_size=7)
p_values = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=40)


def frame(baseline: list[list[float]], incident: list[list[float]]) -> pd.DataFrame:
    """One list of values a block."""
    rows = [
        (period, f"{period}-{i}", value)
        for period, blocks in ((BASELINE, baseline), (INCIDENT, incident))
        for i, block in enumerate(blocks)
        for value in block
    ]
    return pd.DataFrame(rows, columns=["period", "block", "x"])


frames = st.builds(frame, block_values, block_values)


def swapped(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(period=rows["period"].map({BASELINE: INCIDENT, INCIDENT: BASELINE}))


def drawn(rng: np.random.Generator, factor: float = 1.0, blocks: int = 8, per_block: int = 6) -> pd.DataFrame:
    """Requests whose blocks drift by 10 % and that are log-normal within a block."""
    sides = [
        (rng.lognormal(0, 0.1, (blocks, 1)) * rng.lognormal(0, 0.3, (blocks, per_block)) * f).tolist()
        for f in (1.0, factor)
    ]
    return frame(*sides)


def numbers(effect: Effect | None) -> list[float]:
    assert effect is not None
    interval = effect.interval
    return [interval.value, interval.low, interval.high]


@settings(max_examples=40)
@given(frames, st.floats(0.1, 1000))
def test_a_ratio_knows_no_unit(rows: pd.DataFrame, scale: float) -> None:
    """Milliseconds instead of seconds give the same ratio and the same interval."""
    scaled = rows.assign(x=rows["x"] * scale)
    assert pytest.approx(numbers(ratio(rows, "x")), rel=1e-5) == numbers(ratio(scaled, "x"))


@settings(max_examples=40)
@given(frames)
def test_a_ratio_turns_over_with_its_windows(rows: pd.DataFrame) -> None:
    """With the windows exchanged the ratio is the reciprocal, and its bounds change places."""
    value, low, high = numbers(ratio(rows, "x"))
    assert pytest.approx([1 / value, 1 / high, 1 / low], rel=1e-6) == numbers(ratio(swapped(rows), "x"))


@settings(max_examples=40)
@given(frames)
def test_a_difference_changes_sign_with_its_windows(rows: pd.DataFrame) -> None:
    """With the windows exchanged the difference is the negative, and its bounds change places."""
    value, low, high = numbers(difference(rows, "x"))
    assert pytest.approx([-value, -high, -low], abs=1e-9) == numbers(difference(swapped(rows), "x"))


@settings(max_examples=40)
@given(frames, st.floats(-50, 50))
def test_a_difference_ignores_a_common_offset(rows: pd.DataFrame, offset: float) -> None:
    """What both windows have in common does not change their difference."""
    moved = rows.assign(x=rows["x"] + offset)
    assert pytest.approx(numbers(difference(rows, "x")), abs=1e-7) == numbers(difference(moved, "x"))


@settings(max_examples=40)
@given(frames)
def test_an_interval_holds_its_estimate(rows: pd.DataFrame) -> None:
    """The estimate lies inside its interval and the two p-values are each other's complement."""
    effect = ratio(rows, "x")
    assert effect is not None
    assert effect.interval.low <= effect.interval.value * (1 + 1e-9)
    assert effect.interval.value <= effect.interval.high * (1 + 1e-9)
    assert pytest.approx(1.0) == effect.p_above + effect.p_below


@settings(max_examples=40)
@given(frames, st.integers(2, 10))
def test_copies_of_a_request_are_no_evidence(rows: pd.DataFrame, copies: int) -> None:
    """Every row of every block repeated leaves estimate, interval and the number of blocks."""
    many = rows.loc[rows.index.repeat(copies)].reset_index(drop=True)
    once, often = ratio(rows, "x"), ratio(many, "x")
    assert pytest.approx(numbers(once), rel=1e-9) == numbers(often)
    assert once is not None
    assert often is not None
    assert once.blocks == often.blocks


@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(frames, st.integers(0, 1000))
def test_the_order_of_rows_is_no_evidence(rows: pd.DataFrame, seed: int) -> None:
    """Shuffled rows give the same ratio and the same interval."""
    mixed = rows.sample(frac=1.0, random_state=seed)
    assert pytest.approx(numbers(ratio(rows, "x")), rel=1e-9) == numbers(ratio(mixed, "x"))


@pytest.mark.parametrize("statistic", ["mean", "median", "p95", "p10"])
def test_a_factor_is_found_by_every_statistic(statistic: str) -> None:
    """When every value doubles, every statistic doubles."""
    rows = drawn(np.random.default_rng(1))
    doubled = rows.assign(x=rows["x"] * np.where(rows["period"] == INCIDENT, 2.0, 1.0))
    before, after = numbers(ratio(rows, "x", statistic)), numbers(ratio(doubled, "x", statistic))
    assert pytest.approx([2 * x for x in before], rel=1e-6) == after


def test_a_weighted_mean_is_that_of_the_requests_behind_it() -> None:
    """Means per bucket, weighted by their requests, give the ratio of the requests themselves."""
    rows = drawn(np.random.default_rng(2))
    by = rows.groupby(["period", "block"])["x"].agg(["mean", "size"]).reset_index()
    assert pytest.approx(numbers(ratio(rows, "x"))) == numbers(ratio(by, "mean", weight="size"))


def test_too_few_blocks_give_no_effect() -> None:
    """With two blocks in a window there is no interval, however many requests they hold."""
    rows = frame([[1.0] * 50] * (MIN_BLOCKS - 1), [[2.0] * 50] * 8)
    mine = rows.assign(y=rows["x"])
    assert ratio(rows, "x") is None
    assert difference(rows, "x") is None
    assert share_of_change(rows, rows["x"].to_numpy(), rows["x"].to_numpy()) is None
    assert rank_correlation(mine[mine["period"] == BASELINE], "x", "y") is None


def test_values_that_are_missing_count_for_nothing() -> None:
    """Rows without a value change neither the estimate nor the number of blocks."""
    rows = drawn(np.random.default_rng(3))
    gaps = pd.concat([rows, rows.assign(x=np.nan, block="elsewhere")], ignore_index=True)
    assert ratio(rows, "x") == ratio(gaps, "x")


@pytest.mark.parametrize("factor", [1.0, 1.6])
def test_a_ratio_is_covered_as_often_as_promised(factor: float) -> None:
    """The 90 % interval covers the truth in 85 to 97 % of worlds with eight drifting blocks a window."""
    rng = np.random.default_rng(4)
    hits = []
    for _ in range(WORLDS):
        _, low, high = numbers(ratio(drawn(rng, factor), "x"))
        hits.append(low <= factor <= high)
    assert 0.85 <= np.mean(hits) <= 0.97


def test_a_long_baseline_tells_how_far_the_service_drifts() -> None:
    """Blocks that resemble their neighbours (0.7) prove less: no change is covered in 70 % of worlds at least.

    As if they were independent it would be covered in 55 to 60 %.
    """
    rng = np.random.default_rng(9)
    bounds = [numbers(ratio(drifting(rng, blocks=40, alike=0.7), "x"))[1:] for _ in range(WORLDS)]
    assert 0.7 <= np.mean([low <= 1 <= high for low, high in bounds])


def drifting(rng: np.random.Generator, blocks: int, alike: float) -> pd.DataFrame:
    """Four requests in each block of a service whose speed wanders by 15 %."""
    level, rows = rng.normal(), []
    for at in range(2 * blocks):
        level = alike * level + np.sqrt(1 - alike**2) * rng.normal()
        period = BASELINE if at < blocks else INCIDENT
        rows += [(period, f"h@{1_000 + at}", np.exp(0.15 * level + 0.2 * rng.normal())) for _ in range(4)]
    return pd.DataFrame(rows, columns=["period", "block", "x"])


def test_a_difference_is_covered_as_often_as_promised() -> None:
    """The 90 % interval of a difference of zero covers it in 85 to 97 % of worlds."""
    rng = np.random.default_rng(5)
    bounds = [numbers(difference(drawn(rng), "x"))[1:] for _ in range(WORLDS)]
    assert 0.85 <= np.mean([low <= 0 <= high for low, high in bounds]) <= 0.97


def test_a_correlation_of_nothing_is_rarely_found() -> None:
    """Two signals that drift by block without regard to each other are called related in at most 8 % of worlds."""
    rng = np.random.default_rng(6)
    found = []
    for _ in range(WORLDS):
        rows = drawn(rng).assign(y=drawn(rng)["x"])
        effect = rank_correlation(rows, "x", "y")
        assert effect is not None
        found.append(effect.p_above <= 0.05)
    assert np.mean(found) <= 0.08


def test_counting_requests_instead_of_blocks_would_fool_us() -> None:
    """The interval is as wide as drifting blocks make it, wider than independent requests would have it."""
    rng = np.random.default_rng(7)
    rows = drawn(rng, per_block=60)
    alone = rows.assign(block=rows["block"] + "-" + (np.arange(len(rows)) % 60).astype(str))
    widths = [math.log(high / low) for _, low, high in (numbers(ratio(r, "x")) for r in (rows, alone))]
    assert widths[0] > 1.5 * widths[1]


@given(p_values)
def test_adjusted_p_values_never_shrink(ps: list[float | None]) -> None:
    """An adjusted p-value is at least the p-value and at most 1; what was not tested stays so."""
    for p, q in zip(ps, false_discovery(ps), strict=True):
        assert (p is None) == (q is None)
        if p is not None and q is not None:
            assert p <= q * (1 + 1e-12) <= 1 + 1e-9


@given(p_values)
def test_adjusted_p_values_keep_their_order(ps: list[float | None]) -> None:
    """A smaller p-value never gets a larger adjusted one."""
    known = sorted((p, q) for p, q in zip(ps, false_discovery(ps), strict=True) if p is not None and q is not None)
    assert [q for _, q in known] == sorted(q for _, q in known)


@given(p_values, st.randoms())
def test_adjusting_knows_no_order(ps: list[float | None], random: object) -> None:
    """The same p-values in another order get the same adjusted ones."""
    order = list(range(len(ps)))
    random.shuffle(order)  # type: ignore[attr-defined]
    adjusted, mixed = false_discovery(ps), false_discovery([ps[i] for i in order])
    assert [adjusted[i] for i in order] == mixed


def test_one_p_value_needs_no_adjustment() -> None:
    """A single test is not a search; ten equal ones are as good as one."""
    assert [0.03, None] == false_discovery([0.03, None])
    assert pytest.approx([0.03] * 10) == false_discovery([0.03] * 10)
    assert pytest.approx(0.3) == false_discovery([0.03, *[1.0] * 9])[0]


def test_the_whole_accounts_for_all_of_itself() -> None:
    """The share of a part equal to the total is 1, with an interval of no width."""
    rows = drawn(np.random.default_rng(8), factor=2.0)
    x = rows["x"].to_numpy()
    assert pytest.approx([1.0, 1.0, 1.0]) == numbers(share_of_change(rows, x, x))


def test_shares_of_parts_add_up() -> None:
    """The shares of two parts that make up the total sum to 1."""
    rng = np.random.default_rng(9)
    rows = drawn(rng, factor=2.0)
    x = rows["x"].to_numpy()
    part = x * rng.uniform(0.2, 0.6, len(x))
    shares = [numbers(share_of_change(rows, p, x))[0] for p in (part, x - part)]
    assert pytest.approx(1.0) == sum(shares)


def test_a_part_that_stayed_accounts_for_nothing() -> None:
    """A part that is the same in both windows has a share whose interval includes 0."""
    rows = drawn(np.random.default_rng(10), factor=2.0)
    _, low, high = numbers(share_of_change(rows, np.full(len(rows), 0.1), rows["x"].to_numpy()))
    assert low <= 0 <= high


def test_a_total_that_did_not_grow_has_no_shares() -> None:
    """Where the whole fell there is no growth to divide up."""
    rows = drawn(np.random.default_rng(11), factor=0.5)
    x = rows["x"].to_numpy()
    assert share_of_change(rows, x, x) is None


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_a_rank_correlation_sees_order_only(seed: int) -> None:
    """Any increasing change of scale leaves it, and effect and cause may change places."""
    rng = np.random.default_rng(seed)
    rows = drawn(rng, factor=1.5)
    rows = rows.assign(y=rows["x"] + rng.normal(0, 0.5, len(rows)), z=np.exp(3 * rows["x"]))
    straight = numbers(rank_correlation(rows, "y", "x"))
    assert pytest.approx(straight) == numbers(rank_correlation(rows, "y", "z"))
    assert pytest.approx(straight) == numbers(rank_correlation(rows, "x", "y"))


def test_a_rank_correlation_knows_no_order_of_rows() -> None:
    """Shuffled rows give the same correlation and the same interval."""
    rng = np.random.default_rng(12)
    rows = drawn(rng).assign(y=rng.normal(size=96))
    mixed = rows.sample(frac=1.0, random_state=1)
    assert pytest.approx(numbers(rank_correlation(rows, "x", "y"))) == numbers(rank_correlation(mixed, "x", "y"))


def test_a_constant_correlates_with_nothing() -> None:
    """A signal that never varies gives no correlation, not one of zero."""
    rows = drawn(np.random.default_rng(13)).assign(y=1.0)
    assert rank_correlation(rows, "x", "y") is None
    assert rank_correlation(rows, "y", "x") is None


@pytest.mark.parametrize(
    ("after", "expected"),
    [([1.0, 1.1, 0.9], 1.0), ([1.9, 2.1, 2.0], 2.0), ([1.0, 1.0, 9.0], 1.0), ([2.0, 2.0, 0.9], 1.53)],
    ids=["same", "twice", "one burst", "two of three"],
)
def test_against_history(after: list[float], expected: float) -> None:
    """A few blocks of an incident are held against how the baseline's own blocks vary, and all of them count."""
    history = [1.0 + 0.1 * (-1) ** (i // 2 % 2) for i in range(40)]
    blocks, periods = [f"{i:03}" for i in range(43)], [BASELINE] * 40 + [INCIDENT] * 3
    told = pd.DataFrame({"x": [*history, *after], "period": periods, "block": blocks})
    effect = against_history(told, "x", relative=True)
    assert effect is not None
    assert pytest.approx(expected, rel=0.02) == effect.interval.value
    assert (expected > 1.2) == (effect.p_above < 0.001)
    assert against_history(told.iloc[30:], "x", relative=True) is None


def test_few_requests_tell_little_of_a_share() -> None:
    """Blocks that all failed agree by chance where each holds one request."""
    frame = pd.DataFrame(
        {
            "x": [float(i % 2) for i in range(40)] + [1.0] * 3,
            "n": [1.0] * 43,
            "period": [BASELINE] * 40 + [INCIDENT] * 3,
            "block": [f"{i:03}" for i in range(43)],
        }
    )
    few, many = (against_history(frame.assign(n=float(each)), "x", relative=False, weight="n") for each in (1, 1000))
    assert few is not None and many is not None
    assert few.interval.low < 0.2 and few.p_above > many.p_above
