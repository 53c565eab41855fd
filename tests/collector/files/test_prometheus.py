"""Prometheus text and OpenMetrics as read(): prometheus_client writes and judges, nothing may be lost."""

import gzip
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Enum, Gauge, Histogram, Info, Summary
from prometheus_client.exposition import generate_latest as as_text
from prometheus_client.openmetrics.exposition import generate_latest as as_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from collector.files import Options, read
from correlator.model.records import Batch, Signal
from tests.collector.files.support import T0, merged, parted, read_bytes, zipped

AT = Options(scrape_time_unix_nano=T0)
CAPTURES = Path(__file__).parents[2] / "data" / "captures"
Row = tuple[str, tuple[tuple[str, str], ...], float]


def metrics_of(batches: Iterable[Batch]) -> dict[str, Any]:
    request = merged(batches, Signal.METRICS)
    return {m.name: m for r in request.resource_metrics for s in r.scope_metrics for m in s.metrics}


def rows(batches: Iterable[Batch]) -> Iterator[Row]:
    """OTLP metrics turned back into Prometheus samples."""
    request = merged(batches, Signal.METRICS)
    for metric in (m for r in request.resource_metrics for s in r.scope_metrics for m in s.metrics):
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            labels = {a.key: a.value.string_value for a in point.attributes}
            if kind in ("gauge", "sum"):
                yield row(metric.name, labels, point.as_double)
                continue
            yield row(f"{metric.name}_count", labels, point.count)
            if kind == "summary" or point.HasField("sum"):
                yield row(f"{metric.name}_sum", labels, point.sum)
            if kind == "histogram":
                total = 0
                for bound, count in zip([*point.explicit_bounds, math.inf], point.bucket_counts, strict=True):
                    total += count
                    yield row(f"{metric.name}_bucket", labels | {"le": text(bound)}, total)
            else:
                for q in point.quantile_values:
                    yield row(metric.name, labels | {"quantile": text(q.quantile)}, q.value)


def row(name: str, labels: dict[str, str], value: float) -> Row:
    return name, tuple(sorted(labels.items())), float(value)


def text(bound: float) -> str:
    return "+Inf" if bound == math.inf else repr(bound)


def judged(page: str) -> Iterator[Row]:
    """The samples prometheus_client reads, `_created` aside."""
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                yield row(sample.name, sample.labels, sample.value)


def comparable(found: Iterable[Row]) -> list[str]:
    return sorted(map(repr, found))  # repr: NaN equals NaN


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
HARD = st.sampled_from(['a"b', "back\\slash", "new\nline", "} 1", "{", " # {", "x,y=z", "é", "", "\\n", "\t", "\r"])


@st.composite
def registries(draw: st.DrawFn) -> CollectorRegistry:
    """One metric of each type with a few label values and observations."""
    registry = CollectorRegistry()
    values = draw(st.lists(TEXTS | HARD, min_size=1, max_size=3, unique=True))
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
    counter = Counter("jobs", "Jobs\ndone \\ so far", ["q"], registry=registry)
    gauge = Gauge("depth", "Depth", ["q", "le"], registry=registry)
    histogram = Histogram("wait_iteration_total", "Wait", ["q"], registry=registry, buckets=(0.5, 1, 2.5))
    summary = Summary("size_count", "Size", ["q"], registry=registry)
    for value in values:
        counter.labels(value).inc(abs(draw(numbers)))
        gauge.labels(value, "9").set(draw(st.floats()))
        for one in draw(st.lists(numbers, max_size=5)):
            histogram.labels(value).observe(one)
            summary.labels(value).observe(one)
    Info("build", "Build", registry=registry).info({"version": draw(TEXTS | HARD)})
    Enum("state", "State", states=["up", "down"], registry=registry).state("down")
    return registry


@given(registry=registries())
def test_every_sample_of_a_text_page_comes_back(registry: CollectorRegistry) -> None:
    """What prometheus_client exposes and what is read from it hold the same samples."""
    page = as_text(registry).decode()
    batches, problems = read_bytes(page.encode(), options=AT)
    assert [] == problems
    assert comparable(judged(page)) == comparable(rows(batches))


@given(registry=registries())
def test_openmetrics_says_the_same_as_text(registry: CollectorRegistry) -> None:
    """Both expositions of one registry give the same samples."""
    batches, problems = read_bytes(as_openmetrics(registry), options=AT)
    assert [] == problems
    assert comparable(judged(as_text(registry).decode())) == comparable(rows(batches))


def test_created_is_the_start_and_no_data() -> None:
    """`_created` tells since when a counter or histogram counts; it is no series of its own."""
    registry = CollectorRegistry()
    Counter("jobs", "", registry=registry).inc()
    Histogram("wait", "", registry=registry).observe(1)
    for page in (as_text(registry), as_openmetrics(registry)):
        metrics = metrics_of(read_bytes(page, options=AT)[0])
        assert {"jobs_total", "wait"} == set(metrics)
        starts = [
            metrics["jobs_total"].sum.data_points[0].start_time_unix_nano,
            metrics["wait"].histogram.data_points[0].start_time_unix_nano,
        ]
        now = datetime.now(UTC).timestamp() * 1e9
        assert all(now - 600e9 < start <= now for start in starts)


def test_help_and_unit_are_kept() -> None:
    """HELP becomes the description, unescaped, and UNIT the unit of a metric."""
    page = b"# HELP wait_seconds Time\\nin \\\\queue\n# TYPE wait_seconds gauge\n# UNIT wait_seconds seconds\n"
    metric = metrics_of(read_bytes(page + b"wait_seconds 1\n# EOF\n", options=AT)[0])["wait_seconds"]
    assert ("Time\nin \\queue", "seconds") == (metric.description, metric.unit)


def test_a_gauge_called_created_is_data() -> None:
    """A gauge whose name ends in `_created` without a counter beside it stays."""
    page = b"# TYPE files_created gauge\nfiles_created 1796000000\n"
    assert {"files_created"} == set(metrics_of(read_bytes(page, options=AT)[0]))


def test_types_become_kinds() -> None:
    """Counters are cumulative monotonic sums, histograms cumulative, everything untyped a gauge."""
    page = b"""# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{le="1.0"} 2
vllm:iteration_tokens_total_bucket{le="8.0"} 5
vllm:iteration_tokens_total_bucket{le="+Inf"} 9
vllm:iteration_tokens_total_count 9
vllm:iteration_tokens_total_sum 77
# TYPE nv_requests counter
nv_requests 4
lonely_total 3
"""
    metrics = metrics_of(read_bytes(page, options=AT)[0])
    histogram = metrics["vllm:iteration_tokens_total"].histogram
    assert ([1.0, 8.0], [2, 3, 4]) == (
        list(histogram.data_points[0].explicit_bounds),
        list(histogram.data_points[0].bucket_counts),
    )
    assert (9, 77.0) == (histogram.data_points[0].count, histogram.data_points[0].sum)
    assert (2, 2, True) == (
        histogram.aggregation_temporality,
        metrics["nv_requests"].sum.aggregation_temporality,
        metrics["nv_requests"].sum.is_monotonic,
    )
    assert "gauge" == metrics["lonely_total"].WhichOneof("data")


@pytest.mark.parametrize(
    ("name", "unix_nano"),
    [
        ("1796009705.prom", 1_796_009_705_000_000_000),
        ("1796009705333.prom.gz", 1_796_009_705_333_000_000),
        ("scrape-1796009705333444.txt", 1_796_009_705_333_444_000),
        ("1796009705333444555", 1_796_009_705_333_444_555),
        ("vllm_2026-11-30T05:06:07Z.prom", 1_796_015_167_000_000_000),
        ("vllm_20261130T050607.prom", 1_796_015_167_000_000_000),
        ("2026-11-30_05-06-07.5.prom", 1_796_015_167_500_000_000),
        ("2026-11-30T06:06:07+01:00.prom", 1_796_015_167_000_000_000),
        ("no-time-12345.prom", T0),
        ("20269999T999999.prom", T0),
    ],
)
def test_time_from_the_name(name: str, unix_nano: int) -> None:
    """Unix seconds to nanoseconds or an ISO time in the file's name; the flag where there is none."""
    batches, problems = read_bytes(zipped(b"depth 1\n"), name, AT)
    assert [] == problems
    assert unix_nano == metrics_of(batches)["depth"].gauge.data_points[0].time_unix_nano


def test_time_of_the_file_is_said() -> None:
    """With no time in page, name or flag the file's own time is used, and a problem says so."""
    batches, problems = read_bytes(b"depth 1\n")
    assert ["bad_time"] == [problem.kind for problem in problems]
    assert "modification time" in problems[0].reason
    now = datetime.now(UTC).timestamp() * 1e9
    assert abs(now - metrics_of(batches)["depth"].gauge.data_points[0].time_unix_nano) < 600e9


@pytest.mark.parametrize("page", [b"depth 7 1796009705333\n", b"# TYPE depth gauge\ndepth 7 1796009705.333\n# EOF\n"])
def test_a_sample_may_have_its_own_time(page: bytes) -> None:
    """Milliseconds behind a sample, in OpenMetrics seconds, go before any other time."""
    batches, problems = read_bytes(page, "1700000000.prom")
    assert [] == problems
    assert 1_796_009_705_333_000_000 == metrics_of(batches)["depth"].gauge.data_points[0].time_unix_nano


@pytest.mark.parametrize("time", ["0", "-5", "1796009705", "99999999999999999999999", "1e400", "soon", "NaN"])
def test_a_bad_time_behind_a_sample(time: str) -> None:
    """A time that cannot be costs its sample and is named; its neighbours stay."""
    batches, problems = read_bytes(f"# TYPE depth gauge\ndepth 7 {time}\nwidth 1\n".encode(), options=AT)
    assert 1 == len(problems)
    assert ["width"] == [row[0] for row in rows(batches)]


def test_many_scrapes_of_one_file() -> None:
    """Pages follow one another, each with its time in a comment, after EOF, or where a series comes again."""
    page = "# TYPE jobs counter\njobs_total{} %d\n# TYPE depth gauge\ndepth 1\n"
    dated = "".join(f"# {1796000000 + n}\n{page % n}" for n in range(5))
    batches, problems = read_bytes(dated.encode())
    assert [] == problems
    assert [T0 + n * 10**9 for n in range(5)] == times(batches)
    undated = "".join(f"depth {n}\n" for n in range(5))
    batches, problems = read_bytes(undated.encode(), options=AT)
    assert [T0] == times(batches)
    assert [("bad_time", 1)] * 4 == [(problem.kind, problem.count) for problem in problems]
    ended = "".join(f"depth {n} {1796000000 + n}\n# EOF\n" for n in range(5))
    batches, problems = read_bytes(ended.encode())
    assert [T0 + n * 10**9 for n in range(5)] == times(batches)


def times(batches: Iterable[Batch]) -> list[int]:
    request = merged(batches, Signal.METRICS)
    metrics = (m for r in request.resource_metrics for s in r.scope_metrics for m in s.metrics)
    return [p.time_unix_nano for m in metrics if m.name == "depth" for p in m.gauge.data_points] or [
        p.time_unix_nano for m in metrics for p in m.sum.data_points
    ]


def test_exemplars_lead_to_traces() -> None:
    """An OpenMetrics exemplar becomes an OTLP exemplar with its trace id, value, time and other labels."""
    trace = "0af7651916cd43dd8448eb211c80319c"
    page = f"""# TYPE wait histogram
wait_bucket{{le="1.0"}} 1 # {{trace_id="{trace}",span_id="b7ad6b7169203331",who="x # y"}} 0.5 1796000000.25
wait_bucket{{le="+Inf"}} 2 # {{}} 4
wait_count 2
wait_sum 4.5
# EOF
"""
    batches, problems = read_bytes(page.encode(), options=AT)
    first, second = metrics_of(batches)["wait"].histogram.data_points[0].exemplars
    assert [] == problems
    assert (trace, "b7ad6b7169203331") == (first.trace_id.hex(), first.span_id.hex())
    assert (0.5, T0 + 250_000_000, "x # y") == (
        first.as_double,
        first.time_unix_nano,
        first.filtered_attributes[0].value.string_value,
    )
    assert (4.0, T0, b"") == (second.as_double, second.time_unix_nano, second.trace_id)


@pytest.mark.parametrize(
    "line",
    ["depth", "depth x", "depth 1 2 3", 'depth{a="b" 1', 'depth{a=b} 1', "depth{} 1_000", "{} 1", "1depth{} }",
     "# TYPE depth banana", 'w_bucket{le="x"} 1', 'j_total 1 # {a="b"} x', 'j_total 1 # {a="b"} 1 soon', "\x00 1"],
)  # fmt: skip
def test_a_bad_line_costs_itself_only(line: str) -> None:
    """A line that cannot be read is named with its number; the rest of the page is used."""
    page = f"# TYPE w histogram\n# TYPE first gauge\nfirst 1\n{line}\nlast 2\n"
    batches, problems = read_bytes(page.encode(), "1796000000.prom")
    assert {"first", "last"} <= set(metrics_of(batches))
    assert 4 == problems[0].line
    assert {"malformed"} == {problem.kind for problem in problems}


@pytest.mark.parametrize(
    "buckets",
    [
        {"1": 5, "2": 3, "+Inf": 9},
        {"1": 5, "+Inf": 4},
        {"1": -1, "+Inf": 4},
        {"1": math.nan, "+Inf": 4},
        {"1": 5},
    ],
)
def test_a_histogram_that_cannot_be(buckets: dict[str, float]) -> None:
    """Falling, negative, missing or NaN counts: the histogram is named and left out, the page stays."""
    lines = "".join(f'w_bucket{{le="{bound}"}} {count}\n' for bound, count in buckets.items())
    batches, problems = read_bytes(f"# TYPE w histogram\n{lines}depth 1\n".encode(), options=AT)
    assert {"depth"} == set(metrics_of(batches))
    assert [("malformed", "w", 2)] == [(p.kind, p.field, p.line) for p in problems]


@pytest.mark.parametrize(
    ("series", "service"),
    [("vllm:num_requests_running", "vllm"), ("DCGM_FI_DEV_GPU_UTIL", "dcgm-exporter"), ("depth", None)],
)
def test_the_resource_says_who_was_scraped(tmp_path: Path, series: str, service: str | None) -> None:
    """The service is known by the prefix of its metrics, the target by the file's folder."""
    (tmp_path / "gpu0").mkdir()
    (tmp_path / "gpu0" / "1796000000.prom").write_text(f"python_info 1\n{series} 1\n")
    request = merged(parted(read([str(tmp_path)]))[0], Signal.METRICS)
    attributes = {a.key: a.value.string_value for a in request.resource_metrics[0].resource.attributes}
    expected = {"tollens.source": str(tmp_path / "gpu0")} | ({"service.name": service} if service else {})
    assert expected == attributes


def test_recorded_scrapes_agree_with_the_library() -> None:
    """Every page of a recorded incident gives the very samples prometheus_client reads from it."""

    for path in sorted((CAPTURES / "s03_kv_preemption" / "scrape").iterdir())[::20]:
        page = gzip.decompress(path.read_bytes()).decode()
        batches, problems = parted(read([str(path)]))
        assert [] == problems
        assert comparable(judged(page)) == comparable(rows(batches))
