"""The prediction that a distribution as a whole moved, whatever its mean did."""

from __future__ import annotations

import numpy as np
import pandas as pd

from correlator.model.effects import MIN_BLOCKS
from correlator.model.evidence import BASELINE, INCIDENT, Evidence
from correlator.model.findings import Outcome, Reading
from correlator.model.names import Signal
from hypotheses._contract import Test
from hypotheses._frames import frame_with, too_few_blocks

BINS = 10
"""Deciles of the baseline: as for the population stability index."""


def diverged(signal: Signal, at_least: float) -> Test:
    """The Kullback-Leibler divergence (nats) of the incident's values from the baseline's reaches this much.

    It must also exceed what the baseline's own halves, dealt by block, diverge by: of few values that is not little.
    """

    def read(evidence: Evidence) -> Reading:
        frame = frame_with(evidence, signal)
        if isinstance(frame, Reading):
            return frame
        rows = frame.rows[frame.rows[signal.name].notna()]
        before, after = (rows[rows["period"] == period] for period in (BASELINE, INCIDENT))
        blocks = min(before["block"].nunique(), after["block"].nunique())
        if blocks < MIN_BLOCKS:
            return too_few_blocks(blocks)
        found, usual = _divergence(before[signal.name], after[signal.name]), _within(before, signal)
        held = found >= at_least and found > 2 * usual
        outcome = Outcome.HELD if held else Outcome.FAILED if found < at_least else Outcome.INCONCLUSIVE
        text = f"{signal.name} diverged by {found:.2f} nats; halves of the baseline by {usual:.2f}"
        return Reading(outcome, text, None, None, blocks)

    return Test(f"the distribution of {signal.name} diverged by at least {at_least:g} nats", read, (signal,))


def _within(rows: pd.DataFrame, signal: Signal) -> float:
    """Divergence between the baseline's even blocks and its odd ones."""
    odd = pd.factorize(rows["block"].astype(str), sort=True)[0] % 2 == 1
    return _divergence(rows.loc[~odd, signal.name], rows.loc[odd, signal.name])


def _divergence(before: pd.Series, after: pd.Series) -> float:
    """KL(after ‖ before) over the deciles of `before`, each count one more than seen (Laplace)."""
    edges = np.quantile(before, np.arange(1, BINS) / BINS)
    p, q = (np.bincount(np.searchsorted(edges, v), minlength=BINS) + 1.0 for v in (after.to_numpy(), before.to_numpy()))
    p, q = p / p.sum(), q / q.sum()
    return float(np.sum(p * np.log(p / q)))
