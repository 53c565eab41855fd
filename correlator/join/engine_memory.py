"""GPU memory that is in use beyond what one engine was given, where nobody listed the processes on the GPU."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from correlator.join.series import BUCKET_NS, step
from correlator.model import names as n
from correlator.model.evidence import Fact


def with_other_memory(series: pd.DataFrame, facts: Iterable[Fact]) -> pd.DataFrame:
    """`gpu_other_memory` from memory in use and the share of the GPU that an engine was given.

    In it is what an engine takes beyond its share: CUDA context and graphs, of which vLLM itself says 1 to 3 GiB.
    Several engines of one GPU are each other's neighbours: of them the share of one is taken off.
    """
    column = n.GPU_OTHER_MEMORY.name
    needed = {n.GPU_MEMORY_USED.name, n.GPU_MEMORY_TOTAL.name}
    if not needed <= set(series.columns) or (column in series and series[column].notna().any()):
        return series
    known = sorted(facts, key=lambda fact: fact.unix_nano)
    given = step(known, "engine.gpu_memory_utilization", pd.Index(series["start"] // BUCKET_NS))
    if given is None:
        return series
    share = pd.to_numeric(given, errors="coerce").to_numpy(dtype=float)
    used, total = (series[s.name].to_numpy(dtype=float) for s in (n.GPU_MEMORY_USED, n.GPU_MEMORY_TOTAL))
    return series.assign(**{column: np.clip(used - share * total, 0.0, None)})
