"""Which requests demand a schema or grammar, as the spans of their model calls say."""

from __future__ import annotations

import numpy as np

from correlator.join.arrays import Floats, asked_once
from correlator.join.traced import Traced

FREE = ("", "text", "image", "speech", '{"type":"text"}', '{"type": "text"}')
"""Values that bind the answer to no schema."""


def structured(requests: Traced) -> Floats:
    """1 where one of the model calls demands one, else 0; unknown where no call of any request says its format.

    An instrumentation that tells formats leaves them out of calls that demand none.
    """
    calls = requests.calls | requests.serves
    if not (calls & ~requests.being("output_type", "")).any():
        return np.full(len(requests.roots), np.nan)
    bound = asked_once(requests.spans["output_type"], lambda text: text.strip() not in FREE)
    return requests.by.max(bound.astype(float), calls)
