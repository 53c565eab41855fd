"""How well speculative decoding guesses, from what the engines count or print."""

from __future__ import annotations

import pandas as pd

from correlator.model import names as n


def with_speculation(wide: pd.DataFrame) -> pd.DataFrame:
    """Share of drafted tokens accepted (and not), and tokens a step brings: those accepted and the model's own one."""
    accepted, drafted, drafts = (_column(wide, s) for s in (n.SPEC_ACCEPTED, n.SPEC_DRAFTED, n.SPEC_DRAFTS))
    share = (accepted / drafted.where(drafted > 0)).clip(0, 1).combine_first(_column(wide, n.SPEC_ACCEPTANCE))
    length = (1 + accepted / drafts.where(drafts > 0)).combine_first(_column(wide, n.SPEC_LENGTH))
    found = {n.SPEC_ACCEPTANCE: share, n.SPEC_REJECTED: 1 - share, n.SPEC_LENGTH: length}
    return wide.assign(**{signal.name: column for signal, column in found.items() if column.notna().any()})


def _column(wide: pd.DataFrame, signal: n.Signal) -> pd.Series:
    return wide[signal.name] if signal.name in wide else pd.Series(float("nan"), wide.index)
