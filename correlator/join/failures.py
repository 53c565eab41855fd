"""What kind of failure a failed request met, by what its error texts or the log lines of its trace say.

One kind a request: an answer that was cut and then refused by a schema was cut. A failure that does not say why is
none of a kind and not of another: it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from correlator.join.occurrences import CONTEXT_OVERFLOW
from correlator.join.series import BUCKET_NS, covered
from correlator.model import names as n
from correlator.model.evidence import Event, Window

PATTERNS: dict[n.Signal, str] = {
    n.STORE_POOL_ERROR: (
        r"QueuePool limit|couldn't get a connection after|Connection is not available, request timed out"
        r"|too many connections|remaining connection slots|connection pool exhausted"
    ),
    n.DIMENSION_ERROR: (
        r"dimensions?[^.\n]{0,40}(?:mismatch|not match|does not match|doesn't match)|expected \d+ dimensions"
        r"|dimension error: expected|vector dimension|dimensionality|Embedding dim(?:ension)? mismatch"
        r"|expected dim:? ?\d+|elements cannot be divided by|Vector count mismatch[^\n]{0,80}from embedding result"
    ),
    n.CUT_ERROR: (
        r"Unterminated string|Unexpected end of JSON|EOF while parsing|unexpected end of (?:input|data|hex escape)"
        r"|Expecting (?:',' delimiter|property name)|LengthFinishReason|length limit was reached"
    ),
    n.SCHEMA_ERROR: (
        r"validation errors? for|ValidationError|extra_forbidden|Extra inputs are not permitted|Field required"
        r"|missing required (?:field|parameter|property)|missing field `|unknown field"
        r"|unrecognized (?:request argument|field)|is not of type|does not conform to|ResponseValidationError"
    ),
    n.PROXY_ERROR: (
        r"504 Gateway|HTTP 504|status(?: code)?:? ?504|gateway time-?out|upstream (?:re\w+ )?time(?:d |-)?out"
    ),
    n.CONNECTION_ERROR: (
        r"too_many_pings|ENHANCE_YOUR_CALM|GOAWAY|connection reset|ECONNRESET|socket hang up|RemoteDisconnected"
        r"|Server disconnected|transport is closing|upstream prematurely closed|RST_STREAM|broken pipe"
        r"|connection (?:was )?(?:forcibly )?closed"
    ),
}
"""In order: the first that matches is meant."""
BY_EVENT = {
    n.Events.STORE_POOL_TIMEOUT: n.STORE_POOL_ERROR,
    n.Events.DIMENSION_MISMATCH: n.DIMENSION_ERROR,
    n.Events.ANSWER_CUT: n.CUT_ERROR,
    n.Events.SCHEMA_REFUSED: n.SCHEMA_ERROR,
    n.Events.CONNECTION_LOST: n.CONNECTION_ERROR,
    n.Events.KEEPALIVE_REFUSED: n.CONNECTION_ERROR,
}


def with_failures(requests: pd.DataFrame, events: Iterable[Event]) -> pd.DataFrame:
    """Requests with a column for each kind of failure: 1 where the request failed of it."""
    if requests.empty or n.ERROR.name not in requests:
        return requests
    failed = requests[requests[n.ERROR.name] > 0]
    text = _text(failed, "error_text") + " " + _text(failed, "error_type")
    kind = _told(text).fillna(failed["trace_id"].map(_by_trace(events)))
    return of_failures(requests, kind, [signal.name for signal in PATTERNS])


def of_failures(requests: pd.DataFrame, kind: pd.Series, kinds: Iterable[str]) -> pd.DataFrame:
    """Requests with a column for each of `kinds`: 1 where the request failed and its `kind` is that; unknown where it
    failed and neither a kind nor its text says why. `error.type` alone is a status as often as a reason.

    `kind` is that of failed requests, null where unknown. Where most failures are silent all is unknown: the few that
    speak are no sample of them.
    """
    failed = requests[requests[n.ERROR.name] > 0]
    silent = (_text(failed, "error_text").str.strip() == "") & kind.isna()
    if silent.sum() > len(failed) / 2:
        return requests.assign(**dict.fromkeys(kinds, np.nan))
    columns = {name: np.zeros(len(requests)) for name in kinds}
    at = np.flatnonzero(requests[n.ERROR.name].to_numpy() > 0)
    for name, column in columns.items():
        column[at] = (kind == name).astype(float).mask(silent)
    return requests.assign(**columns)


def with_failure_counts(series: pd.DataFrame, events: Iterable[Event], logs: Collection[Window]) -> pd.DataFrame:
    """Series with the share of requests that log lines say failed of each kind, where requests were only counted.

    A kind that no line ever named stays unknown, and every kind where no log (`logs` says from when to when) speaks.
    """
    total = f"n.{n.ERROR.name}"
    if total not in series:
        return series
    found = pd.DataFrame(
        [(BY_EVENT[e.name].name, e.unix_nano // BUCKET_NS) for e in events if e.name in BY_EVENT],
        columns=["kind", "bucket"],
    )
    rate = found.groupby(["kind", "bucket"]).size() / (BUCKET_NS / 1e9)
    at = series["start"] // BUCKET_NS
    counted = series[total].where((series[total] > 0) & covered(series, logs))
    shares = {
        kind: (at.map(rate[kind]).fillna(0) / counted).clip(upper=series[n.ERROR.name])
        for kind in found["kind"].unique()
    }
    return series.assign(**shares, **{f"n.{kind}": series[total] for kind in shares})


def _told(text: pd.Series) -> pd.Series:
    kind = pd.Series(None, index=text.index, dtype=object)
    text = text.mask(text.str.contains(CONTEXT_OVERFLOW), "")  # engines raise it as a validation error
    for signal, pattern in PATTERNS.items():
        kind = kind.where(kind.notna() | ~text.str.contains(pattern, flags=re.IGNORECASE, regex=True), signal.name)
    return kind


def _by_trace(events: Iterable[Event]) -> dict[str, str]:
    return {e.trace_id: BY_EVENT[e.name].name for e in events if e.trace_id and e.name in BY_EVENT}


def _text(requests: pd.DataFrame, column: str) -> pd.Series:
    return requests[column].fillna("") if column in requests else pd.Series("", index=requests.index)
