"""Records of a store → Evidence without windows; `windows.py` chooses those."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pandas as pd

from correlator.join.adapters import with_adapters
from correlator.join.allocations import with_allocations
from correlator.join.connect import CONNECT, Groups
from correlator.join.coverage import read_extents, to_coverage
from correlator.join.engine_down import with_engine_down
from correlator.join.engine_memory import with_other_memory
from correlator.join.evaluations import evaluations, with_evaluations
from correlator.join.failures import with_failure_counts, with_failures
from correlator.join.gpus import beside, covering, onto, read_gpus, with_faults
from correlator.join.intake import read_intake, without_counts
from correlator.join.losses import whole_by_now, with_log_losses
from correlator.join.occurrences import read_occurrences
from correlator.join.points import aliased, metric_names, read_points
from correlator.join.prompt_limits import with_prompt_limits
from correlator.join.replicas import with_models
from correlator.join.requests import COLUMNS, prepared, to_requests
from correlator.join.series import to_series
from correlator.join.service_metrics import by_service, entry, of_entry, together, with_services
from correlator.join.services import visits, with_logged
from correlator.join.spans import TRACES, read_spans
from correlator.join.ties import tie, with_events
from correlator.join.within import Within
from correlator.model.evidence import Evidence, without_windows
from correlator.model.records import Problem
from correlator.store import Store


@dataclass(frozen=True)
class Joined:
    """Evidence over all time, and the span table for example traces."""

    evidence: Evidence
    spans: pd.DataFrame


def build(
    store: Store,
    problems: Iterable[Problem] = (),
    traces: int = TRACES,
    within: Within = None,
    connect: Groups = CONNECT,
) -> Joined:
    """Join everything in the store, or only what lies `within`; at most `traces` traces are read.

    `connect` are the attributes that tie GPUs to what serves on them.
    """
    metrics = metric_names(store, within)
    spans = read_spans(store, traces, within, resources=bool(aliased(metrics, per="gpu")))
    table = prepared(spans)
    requests = to_requests(table, spans) if len(table) else pd.DataFrame(columns=[*COLUMNS, "end"])
    gpus = read_gpus(store, metrics, table, spans.resources, within, connect)
    events, facts = read_occurrences(store, table, metrics, within)
    events = with_faults(events, gpus)
    intake = read_intake(store, within)
    points = with_models(store, read_points(store, metrics, within), metrics, within)
    points = with_services(store, points, metrics, within)
    asked = entry(points, requests["service"].mode().iloc[0] if len(requests) else "")
    series = to_series(of_entry(points, asked), requests, facts, spans.share, within)
    extents = read_extents(store, table, within)
    logs = [extents[name] for name in ("application_log", "engine_log") if name in extents]
    series = with_failure_counts(without_counts(series, intake.outages), events, logs)
    series = with_allocations(series, events, logs)
    requests = with_adapters(with_events(whole_by_now(requests), events), events, spans.share)
    requests = with_failures(requests, events)
    requests = with_evaluations(with_prompt_limits(requests), evaluations(store, table, within))
    requests, sparse = tie(requests, series)
    requests, series = onto(requests, gpus.columns), with_other_memory(beside(series, gpus.series), facts)
    series = with_log_losses(series, events, table, spans.share, extents)
    series = with_engine_down(store, series, events, extents, within)
    coverage = to_coverage(store, requests, series, table, spans.share, problems, extents, within, intake)
    notes = tuple(f"{signal}: sampled more rarely than every 10 s, not tied to single requests" for signal in sparse)
    coverage = replace(coverage, messages=(*coverage.messages, *notes))
    services = visits(table)
    services = with_logged(services, store, table, spans.share, within) if logs else services
    services = together(services, by_service(points), asked)
    evidence = Evidence(requests, series, events, facts, covering(coverage, gpus), services=services)
    return Joined(without_windows(evidence), table)
