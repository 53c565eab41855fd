"""Metric points to series: increments, means, parallel engines, several spellings, configuration."""

import pandas as pd
import pytest

from correlator.join.points import metric_names, read_points
from correlator.model import names as n
from correlator.model.records import Batch
from correlator.store import Store
from tests.correlator.join.telemetry import (
    T0,
    Metric,
    counter,
    exponential,
    gauge,
    happening,
    histogram,
    join,
    metrics,
    request,
    summary,
    traces,
)
from tests.correlator.store.support import emptied

GENERATED = "vllm:generation_tokens_total"
LATENCY = "vllm:e2e_request_latency_seconds"


def series(store: Store, *found: Metric | Batch) -> pd.DataFrame:
    """Series by the second at which each bucket starts."""
    batches = [item if isinstance(item, Batch) else metrics(item) for item in found]
    frame = join(store, *batches).evidence.series
    return frame.set_index((frame["start"] - T0) // 10**9)


def read(store: Store, *found: Metric) -> pd.DataFrame:
    """The points of these metrics, before they become series."""
    emptied(store).load([metrics(*found)])
    return read_points(store, metric_names(store))


def known(frame: pd.DataFrame, signal: n.Signal | str) -> dict[int, float]:
    """Values by second, where there are any."""
    name = signal if isinstance(signal, str) else signal.name
    return {int(t): pytest.approx(v) for t, v in frame[name].dropna().items()}


def test_a_cumulative_counter_becomes_a_rate(store: Store) -> None:
    """The increase between two points is spread over the time between them."""
    frame = series(store, counter(GENERATED, [(0, 1000), (5, 1500), (10, 1600)]))
    assert known(frame, n.GENERATION_THROUGHPUT) == {0: 100, 5: 20}


def test_a_delta_counter_is_its_own_increase(store: Store) -> None:
    """Delta points are divided by the time each covers."""
    frame = series(store, counter(GENERATED, [(5, 500), (10, 100)], delta=True, every=5))
    assert known(frame, n.GENERATION_THROUGHPUT) == {0: 100, 5: 20}


def test_a_counter_that_began_anew_is_not_negative(store: Store) -> None:
    """After a restart the counter's value is its increase."""
    frame = series(store, counter(GENERATED, [(0, 9000), (5, 9500), (10, 50), (15, 550)]))
    assert known(frame, n.GENERATION_THROUGHPUT) == {0: 100, 5: 10, 10: 100}


def test_a_gap_is_not_filled(store: Store) -> None:
    """An increase over a long outage is not spread over it: in between nothing is known."""
    steady = [(float(t), 100.0 * t) for t in range(0, 25, 5)]
    frame = series(store, counter(GENERATED, [*steady, (220, 9000), (225, 9500)]))
    assert known(frame, n.GENERATION_THROUGHPUT) == {0: 100, 5: 100, 10: 100, 15: 100, 220: 100}


def test_a_point_without_a_recorded_value_is_skipped(store: Store) -> None:
    """A staleness marker is not a measurement of zero."""
    frame = series(store, gauge("vllm:num_requests_waiting", [(0, 3), (5, 0), (10, 4)], stale=[5]))
    assert known(frame, n.WAITING) == {0: 3, 10: 4}


@pytest.mark.parametrize(
    ("name", "signal", "expected"),
    [
        ("vllm:num_requests_running", n.RUNNING, 8),
        ("vllm:kv_cache_usage_perc", n.KV_CACHE_USAGE, 6),
        ("vllm:gpu_prefix_cache_hit_rate", n.CACHED_SHARE, 4),
    ],
    ids=["summed", "highest", "averaged"],
)
def test_parallel_engines_are_put_together(store: Store, name: str, signal: n.Signal, expected: float) -> None:
    """Requests of engines are summed, the fullest KV pool counts, and shares are averaged."""
    engines = [gauge(name, [(0, 2), (2, 2)], engine="0"), gauge(name, [(1, 6)], engine="1")]
    assert known(series(store, *engines), signal) == {0: expected}


def test_engines_told_apart_by_resource_are_put_together(store: Store) -> None:
    """Counters of two instances do not look like resets of one."""
    one, two = [(0, 0.0), (5, 100.0)], [(1, 90_000.0), (6, 90_100.0)]
    batches = [metrics(counter(GENERATED, p), instance=i) for i, p in (("a", one), ("b", two))]
    assert known(series(store, *batches), n.GENERATION_THROUGHPUT) == {0: 40}


def test_processors_are_averaged_and_only_idle_counts(store: Store) -> None:
    """Host CPU use is one minus the mean idle share; user and system time do not add to it again."""
    points = [gauge("system.cpu.utilization", [(0, v)], cpu=c, state="idle") for c, v in ((0, 0.2), (1, 0.4))]
    busy = gauge("system.cpu.utilization", [(0, 0.8)], cpu=0, state="user")
    assert known(series(store, *points, busy), n.HOST_CPU) == {0: 0.7}


@pytest.mark.parametrize("make", [histogram, exponential, summary])
def test_a_distribution_becomes_a_mean_per_request(store: Store, make) -> None:  # type: ignore[no-untyped-def]
    """Sum over count of what was added since the point before, weighted by the requests in it."""
    frame = series(store, make(LATENCY, [(0, 10, 5.0), (5, 20, 25.0), (10, 20, 25.0), (15, 24, 27.0)]))
    assert known(frame, n.SERVER_LATENCY) == {0: 2.0, 10: 0.5}
    assert known(frame, f"n.{n.SERVER_LATENCY.name}") == {0: 10, 10: 4}


def test_a_delta_histogram_stands_for_itself(store: Store) -> None:
    """Delta histograms are not differenced again."""
    frame = series(store, histogram(LATENCY, [(0, 1, 1.0), (5, 10, 20.0), (10, 4, 2.0)], delta=True))
    assert known(frame, n.SERVER_LATENCY).items() >= {0: 2.0, 5: 0.5}.items()


def test_means_of_engines_are_weighted_by_their_requests(store: Store) -> None:
    """A busy engine counts for as many requests as it served."""
    busy = histogram(LATENCY, [(0, 0, 0.0), (5, 90, 90.0)], engine="0")
    idle = histogram(LATENCY, [(0, 0, 0.0), (5, 10, 110.0)], engine="1")
    assert known(series(store, busy, idle), n.SERVER_LATENCY) == {0: 2.0}


@pytest.mark.parametrize("name", ["db.client.connection.max", "db_client_connection_max", "db-client:connection.max"])
def test_spellings_of_a_name_are_one(store: Store, name: str) -> None:
    """Dots, colons and dashes are read as underscores, as Prometheus writes them."""
    assert known(series(store, gauge(name, [(0, 9)])), n.STORE_POOL_MAX) == {0: 9}


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("http_server_request_duration_seconds", 0.5),
        ("http.server.request.duration", 0.5),
        ("http_server_request_duration_milliseconds", 0.0005),
        ("http_server_duration_milliseconds", 0.0005),
        ("http_server_duration_seconds", 0.5),
        ("http_server_duration", 0.0005),
    ],
)
def test_a_name_with_the_unit_of_prometheus_is_known(store: Store, name: str, seconds: float) -> None:
    """Prometheus appends the unit to an OpenTelemetry name, and that unit counts."""
    frame = series(store, histogram(name, [(0, 0, 0.0), (5, 10, 5.0)]))
    assert {0: seconds} == known(frame, n.LATENCY)


@pytest.mark.parametrize("name", ["gen_ai_client_inference_usage_input_tokens", "otelcol_receiver_refused_spans"])
@pytest.mark.parametrize("suffix", ["", "_total"])
def test_a_counter_may_say_total(store: Store, name: str, suffix: str) -> None:
    """A counter is the same one with and without the suffix that Prometheus wants."""
    points = read(store, counter(name + suffix, [(0, 0), (5, 500)]))
    assert [100.0] == points["value"].tolist()


def test_two_spellings_of_a_counter_are_not_added(store: Store) -> None:
    """A counter that arrives under both names, by way of two exporters, is counted once."""
    found = [counter(name, [(0, 0), (5, 500)]) for name in (GENERATED, GENERATED.removesuffix("_total"))]
    assert {0: 100} == known(series(store, *found), n.GENERATION_THROUGHPUT)


@pytest.mark.parametrize("label", ["cpu.mode", "cpu_mode", "state"])
def test_processor_time_is_known_by_either_name(store: Store, label: str) -> None:
    """`system.cpu.time` and its labels have a Prometheus spelling, and the label has an older name."""
    name = "system_cpu_time_seconds_total" if label == "cpu_mode" else "system.cpu.time"
    found = [counter(name, [(0, 0), (5, v)], **{label: mode}) for mode, v in (("idle", 1.5), ("user", 3.5))]
    assert {0: 0.7} == known(series(store, *found), n.HOST_CPU)


def test_a_share_may_say_ratio(store: Store) -> None:
    """A gauge without unit gets the suffix `_ratio`."""
    frame = series(store, gauge("system_cpu_utilization_ratio", [(0, 0.25)], cpu_mode="idle"))
    assert {0: 0.75} == known(frame, n.HOST_CPU)


def test_a_label_spelled_by_prometheus_is_known(store: Store) -> None:
    """The label `gen_ai.token.type` arrives from Prometheus as `gen_ai_token_type`."""
    usage = histogram("gen_ai_client_token_usage", [(0, 0, 0.0), (5, 10, 5000.0)], gen_ai_token_type="input")
    assert {0: 500} == known(series(store, usage), n.INPUT_TOKENS)


@pytest.mark.parametrize(
    ("reasons", "share"),
    [
        ({"stop": 60, "length": 10, "abort": 5, "error": 25}, 0.25),
        ({"stop": 100, "error": 0}, 0),
        ({"stop": 0, "error": 100}, 1),
    ],
)
def test_a_failed_request_counts_once(store: Store, reasons: dict[str, int], share: float) -> None:
    """vLLM counts failures among its successes: they are a share of everything that ended."""
    found = [
        counter("vllm:request_success_total", [(0, 0), (5, count)], finished_reason=reason)
        for reason, count in reasons.items()
    ]
    assert {0: share} == known(series(store, *found), n.ERROR)


@pytest.mark.parametrize(
    ("name", "labels", "signal", "expected"),
    [
        ("gen_ai.client.inference.time_to_first_chunk", {}, n.TIME_TO_FIRST_TOKEN, 0.5),
        ("gen_ai_client_inference_time_to_first_chunk_seconds", {}, n.TIME_TO_FIRST_TOKEN, 0.5),
        ("dynamo_frontend_time_to_first_token_seconds", {}, n.TIME_TO_FIRST_TOKEN, 0.5),
        ("litellm_llm_api_time_to_first_token_metric", {}, n.TIME_TO_FIRST_TOKEN, 0.5),
        ("dynamo_component_request_duration_seconds", {}, n.SERVER_LATENCY, 0.5),
        ("ray_serve_deployment_processing_latency_ms", {}, n.SERVER_LATENCY, 0.0005),
        ("milvus_proxy_sq_latency", {"query_type": "search"}, n.RETRIEVAL, 0.0005),
        ("queries_durations_ms", {"query_type": "get_graphql"}, n.RETRIEVAL, 0.0005),
        ("rest_responses_duration_seconds", {"endpoint": "/collections/{name}/points/query"}, n.RETRIEVAL, 0.5),
        ("rest_responses_duration_seconds", {"endpoint": "/collections/{name}/points"}, n.RETRIEVAL, None),
        ("grpc_responses_duration_seconds", {"endpoint": "/qdrant.Points/Search"}, n.RETRIEVAL, 0.5),
        ("grpc_responses_duration_seconds", {"endpoint": "/qdrant.Points/Upsert"}, n.RETRIEVAL, None),
    ],
)
def test_times_of_other_sources(
    store: Store, name: str, labels: dict[str, str], signal: n.Signal, expected: float | None
) -> None:
    """Gateways, engines and vector stores measure times, too; writing to a vector store is no retrieval."""
    points = read(store, histogram(name, [(0, 0, 0.0), (5, 10, 5.0)], **labels))
    told = [] if expected is None else [(signal.name, pytest.approx(expected))]
    assert told == [*zip(points["signal"], points["value"], strict=True)]


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("trtllm_kv_cache_hit_rate", n.CACHED_SHARE),
        ("trtllm_num_paused_requests", n.SWAPPED),
        ("sglang:num_retracted_reqs", n.SWAPPED),
        ("sglang:avg_request_queue_latency", n.QUEUE),
        ("dynamo_frontend_queued_requests", n.WAITING),
        ("dynamo_frontend_inflight_requests", n.IN_FLIGHT),
    ],
)
def test_states_of_other_engines(store: Store, name: str, signal: n.Signal) -> None:
    """A gauge of another engine is the signal it means, as it stands."""
    assert {0: 0.25} == known(series(store, gauge(name, [(0, 0.25)])), signal)


@pytest.mark.parametrize(
    ("name", "signal"),
    [("input_tokens", n.PROMPT_THROUGHPUT), ("output_tokens", n.GENERATION_THROUGHPUT)],
)
def test_clients_count_tokens(store: Store, name: str, signal: n.Signal) -> None:
    """Where the engine is silent, the tokens that its clients counted are its throughput."""
    found = counter(f"gen_ai.client.inference.usage.{name}", [(0, 0), (5, 500)])
    assert {0: 100} == known(series(store, found), signal)


def test_units_become_those_of_the_signal(store: Store) -> None:
    """Milliseconds of the older HTTP convention become seconds."""
    frame = series(store, histogram("http.server.duration", [(0, 0, 0.0), (5, 10, 5000.0)]))
    assert known(frame, n.LATENCY) == {0: 0.5}


def test_labels_choose_what_a_metric_means(store: Store) -> None:
    """Token usage is input or output by its label, and neither for another label."""
    kinds = {"input": 100.0, "output": 20.0, "reasoning": 7.0}
    found = [
        histogram("gen_ai.client.token.usage", [(0, 0, 0.0), (5, 1, v)], **{"gen_ai.token.type": k})
        for k, v in kinds.items()
    ]
    frame = series(store, *found)
    assert ({0: 100}, {0: 20}) == (known(frame, n.INPUT_TOKENS), known(frame, n.OUTPUT_TOKENS))


def test_a_lesser_alias_fills_in_where_the_preferred_one_is_silent(store: Store) -> None:
    """Both sources are not added: the engine's metric wins, its log fills the rest."""
    scraped = gauge("vllm:num_requests_waiting", [(0, 2), (5, 2)])
    logged = gauge("vllm.log.waiting_requests", [(5, 50), (10, 7)])
    assert known(series(store, scraped, logged), n.WAITING) == {0: 2, 5: 2, 10: 7}


def test_the_pool_capacity_steps_with_the_configuration(store: Store) -> None:
    """Each value of the KV pool's size holds from when it was seen until the next."""
    frame = series(
        store,
        gauge("vllm:kv_cache_usage_perc", [(t, 0.5) for t in range(0, 30, 5)]),
        happening(0, "facts", engine__kv_cache_tokens="8192"),
        happening(15, "facts", engine__kv_cache_tokens="272"),
    )
    assert known(frame, n.KV_CACHE_CAPACITY) == {0: 8192, 5: 8192, 10: 8192, 15: 272, 20: 272, 25: 272}


@pytest.mark.parametrize(("caching", "expected"), [("False", {0: 0, 5: 0}), ("True", {})])
def test_caching_switched_off_is_no_hit(store: Store, caching: str, expected: dict[int, float]) -> None:
    """Off means a cached share of zero though nothing is measured; on means it is not known."""
    frame = series(
        store,
        gauge("vllm:kv_cache_usage_perc", [(0, 0.5), (5, 0.5)]),
        happening(0, "facts", engine__enable_prefix_caching=caching),
    )
    assert expected == (known(frame, n.CACHED_SHARE) if n.CACHED_SHARE.name in frame else {})


def test_a_hit_rate_of_minus_one_is_unknown(store: Store) -> None:
    """vLLM prints −1 before the first look-up."""
    frame = series(store, gauge("vllm:gpu_prefix_cache_hit_rate", [(0, -1), (5, 0.5)]))
    assert known(frame, n.CACHED_SHARE) == {5: 0.5}


def test_tokens_per_request_follow_from_rates(store: Store) -> None:
    """Where only totals are counted, tokens per request are tokens per second over requests per second."""
    frame = series(
        store,
        counter("vllm:prompt_tokens_total", [(0, 0), (5, 5000)]),
        counter("vllm:request_success_total", [(0, 0), (5, 10)]),
    )
    assert known(frame, n.INPUT_TOKENS) == {0: 500}


def test_pressure_needs_a_full_pool_and_a_queue(store: Store) -> None:
    """A full pool without waiting requests, or a queue before an empty pool, is no KV pressure."""
    usage, waiting = [0.99, 0.99, 0.2], [0, 3, 3]
    frame = series(
        store,
        gauge("vllm:kv_cache_usage_perc", [(5 * i, v) for i, v in enumerate(usage)]),
        gauge("vllm:num_requests_waiting", [(5 * i, v) for i, v in enumerate(waiting)]),
    )
    assert known(frame, n.KV_PRESSURE) == {0: 0, 5: 1, 10: 0}


def test_parts_add_up_in_series_too(store: Store) -> None:
    """Client latency is the engine's queue, prefill and decode, the network, and a remainder."""
    means = {
        "gen_ai.client.operation.duration": 1.0,
        LATENCY: 0.8,
        "vllm:request_queue_time_seconds": 0.1,
        "vllm:request_prefill_time_seconds": 0.2,
        "vllm:request_decode_time_seconds": 0.4,
    }
    label = {"gen_ai.operation.name": "chat"}
    found = [
        histogram(name, [(0, 0, 0.0), (5, 10, 10 * mean)], **(label if "gen_ai" in name else {}))
        for name, mean in means.items()
    ]
    row = series(store, *found).iloc[0]
    parts = {n.part_name(p): round(row[p.name], 6) for p in n.LEDGER if p.name in row}
    assert {"queue": 0.1, "prefill": 0.2, "decode": 0.4, "network": 0.2, "remainder": 0.1} == parts
    assert 1.0 == pytest.approx(row[n.LATENCY.name])


def test_quiet_stretches_have_an_arrival_rate_of_zero(store: Store) -> None:
    """Between the first request and the last, no arrivals is a rate of zero, not a gap."""
    spans = [s for i, t in enumerate((0, 1, 12)) for s in request(f"t{i}", t, 0.1)]
    assert known(series(store, traces(spans)), n.ARRIVAL_RATE) == {0: 0.4, 5: 0, 10: 0.2}


def test_years_between_two_requests_are_no_recording(store: Store) -> None:
    """A request, and another two years later, as of files that do not belong together: the time between is unknown."""
    later = 2 * 365 * 86_400
    spans = [s for i, t in enumerate((0, later)) for s in request(f"t{i}", t, 0.1)]
    assert {0: 0.2, later: 0.2} == known(series(store, traces(spans)), n.ARRIVAL_RATE)


def test_what_nobody_measured_has_no_column(store: Store) -> None:
    """An unknown metric makes no signal, and no signal is made up."""
    frame = series(store, gauge("somebody.else", [(0, 1)]), gauge("vllm:num_requests_waiting", [(0, 1)]))
    assert {n.WAITING.name} == set(frame.columns) - {"start", "host", "period", "block"}


def test_no_telemetry_at_all_is_an_empty_frame(store: Store) -> None:
    """An empty store joins to evidence without requests, series, events or facts."""
    evidence = join(store).evidence
    assert (0, 0, (), ()) == (len(evidence.requests), len(evidence.series), evidence.events, evidence.facts)


def test_two_sources_of_one_moment_tell_of_the_same_requests(store: Store) -> None:
    """A scrape and a log line of the very same moment are not added up: the limit is two, not four."""
    at = [(0, 2.0), (2, 2.0), (4, 2.0)]
    waiting = [(0, 1.0), (2, 3.0), (4, 1.0)]
    frame = series(
        store,
        gauge("vllm:num_requests_running", at),
        gauge("vllm:num_requests_waiting", waiting),
        gauge("vllm.log.running_requests", at),
        gauge("vllm.log.waiting_requests", waiting),
    )
    assert known(frame, n.RUNNING_WHILE_WAITING) == {0: 2}
