"""Services that tell how long their requests took by a metric of their own: each by itself, and the entry for all.

Two services with a metric of one name are no replicas: their mean would move with the mix of their requests.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from correlator.join.aliases import folded, spelled
from correlator.join.series import BUCKET_NS
from correlator.join.within import RECORDED, Within, during
from correlator.model import names as n
from correlator.store import Store

TIMED = ("histogram", "exponential_histogram", "summary")
STATUS = ("http.response.status_code", "http_response_status_code", "http.status_code", "http_status_code")
FAILED_FROM = 500
"""HTTP statuses from which the service failed; below, it refused what was asked (RFC 9110, section 15)."""
SERIES = 10_000
"""Series whose service is looked up; the others count as one unnamed service."""
ENDED = ("completion_rate", "failure_rate")


def with_services(store: Store, points: pd.DataFrame, names: Collection[str], within: Within = None) -> pd.DataFrame:
    """Points with the `service` of each series that times requests, and whether these `failed` (unknown without a
    status); without these columns where no request is timed."""
    timing = [name for name in names if _times_requests(name)]
    if not timing or points.empty:
        return points
    status = ", ".join(f"nullIf(Attributes['{name}'], '')" for name in STATUS)
    one = " UNION ALL ".join(
        f"""SELECT cityHash64(ResourceAttributes, Attributes) AS series, toString(any(ServiceName)) AS service,
            toUInt16OrZero(any(coalesce({status}, ''))) AS status,
            any(if(Attributes['error.type'] = '', Attributes['error_type'], Attributes['error.type'])) AS error_type
            FROM otel_metrics_{kind} WHERE MetricName IN {{names:Array(String)}} AND {RECORDED}
            AND {during("TimeUnix", within)} GROUP BY series"""
        for kind in TIMED
    )
    known = store.query(f"SELECT * FROM ({one}) ORDER BY series LIMIT {SERIES}", names=sorted(timing))
    known = known.drop_duplicates("series").set_index("series")
    failed = (known["status"] >= FAILED_FROM) | ((known["status"] == 0) & (known["error_type"] != ""))
    told = bool((known["status"] > 0).any() or (known["error_type"] != "").any())
    its = points["signal"] == n.LATENCY.name
    return points.assign(
        service=points["series"].map(known["service"]).fillna("").where(its),
        failed=points["series"].map(failed.astype(float)).where(its & told),
    )


def _times_requests(name: str) -> bool:
    return any(alias.signal == n.LATENCY.name for alias in spelled().get(folded(name), ()))


def entry(points: pd.DataFrame, asked: str) -> str | None:
    """The service that is asked from outside: as traces say, else where requests spend the most time altogether, since
    a caller waits for what it calls. None of services that are not told apart."""
    if "service" not in points:
        return None
    seconds = (points["value"] * points["weight"]).groupby(points["service"]).sum()
    if len(seconds) < 2:
        return None
    return asked if asked in seconds.index else str(seconds.idxmax())


def of_entry(points: pd.DataFrame, service: str | None) -> pd.DataFrame:
    """Points in which only the entry tells how long requests took, and how many failed, if nobody else tells."""
    if "service" not in points:
        return points
    timed = points["service"].notna()
    its = timed & (points["service"] == service if service is not None else timed)
    kept = points[~timed | its].drop(columns=["service", "failed"])
    known = points[its & points["failed"].notna() & points["weight"].notna()]
    if known.empty or points["signal"].isin(ENDED).any():
        return kept
    known = known[known["rank"] == known["rank"].min()]
    rates = known["weight"] / known["seconds"]
    ended = [
        _summed(known, rates.where(known["failed"] == failed, 0.0)).assign(signal=name)
        for failed, name in enumerate(ENDED)
    ]
    return pd.concat([kept, *ended], ignore_index=True)


def _summed(known: pd.DataFrame, rates: pd.Series) -> pd.DataFrame:
    by_time = rates.groupby([known["start"], known["seconds"]]).sum().rename("value").reset_index()
    return by_time.assign(rank=0, across="sum", series=np.uint64(0), weight=np.nan)


def by_service(points: pd.DataFrame) -> pd.DataFrame:
    """A row each five seconds and service: how long its answers took, and which share of its requests failed; none
    where there is only one service."""
    if "service" not in points or points["service"].nunique() < 2:
        return pd.DataFrame()
    timed = points[points["service"].notna() & points["weight"].notna()]
    timed = timed[timed["rank"] == timed.groupby("service")["rank"].transform("min")]
    by = [timed["service"], timed["start"] // BUCKET_NS]
    answered = ~(timed["failed"] > 0)
    sums = pd.DataFrame(
        {
            "seconds": (timed["value"] * timed["weight"]).where(answered).groupby(by).sum(min_count=1),
            "answers": timed["weight"].where(answered).groupby(by).sum(min_count=1),
            "all": timed["weight"].where(timed["failed"].notna()).groupby(by).sum(min_count=1),
            "failures": (timed["weight"] * timed["failed"]).groupby(by).sum(min_count=1),
        }
    ).rename_axis(["service", "bucket"])
    rows = sums.reset_index()
    return pd.DataFrame(
        {
            "trace_id": "",
            "start": rows["bucket"] * BUCKET_NS,
            "host": "",
            "service": rows["service"].astype(object),
            "whole": np.nan,
            n.SERVICE_LATENCY.name: rows["seconds"] / rows["answers"].where(rows["answers"] > 0),
            f"n.{n.SERVICE_LATENCY.name}": rows["answers"],
            n.SERVICE_ERROR.name: rows["failures"] / rows["all"].where(rows["all"] > 0),
            f"n.{n.SERVICE_ERROR.name}": rows["all"],
        }
    )


def together(traced: pd.DataFrame, metered: pd.DataFrame, service: str | None) -> pd.DataFrame:
    """Rows of both; of a service that is traced, traces tell of its errors. `service` is the entry."""
    if metered.empty:
        return traced
    metered = metered.assign(entry=metered["service"] == service)
    if traced.empty:
        return metered
    both = metered["service"].isin(traced["service"])
    errors = [n.SERVICE_ERROR.name, f"n.{n.SERVICE_ERROR.name}"]
    metered[errors] = metered[errors].mask(both)
    return pd.concat([traced.assign(entry=False), metered], ignore_index=True)
