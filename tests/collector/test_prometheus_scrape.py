"""The scraper against real HTTP servers: what it asks, what it keeps, and what it says of a target that is down."""

import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from collector.prometheus_scrape import ScrapeJob, Scraper, ScraperState, ScrapeSettings, TargetState
from tests.collector.memory_sink import MemorySink
from tests.collector.pages import OPENMETRICS, PageServer, Request, pages

ABOUT = {"up", "scrape_duration_seconds", "scrape_samples_scraped"}
TRACE = "0af7651916cd43dd8448eb211c80319c"


def job(server: PageServer | str, **fields: Any) -> ScrapeJob:
    address = server if isinstance(server, str) else server.address
    return ScrapeJob(**{"name": "llm", "targets": [address], "interval_s": 0.1, "timeout_s": 20, **fields})


@contextmanager
def scraping(sink: MemorySink, *jobs: ScrapeJob) -> Iterator[Scraper]:
    scraper = Scraper(ScrapeSettings(jobs=jobs, refresh_s=0.1), sink)
    scraper.start()
    try:
        yield scraper
    finally:
        scraper.stop()


def only(state: ScraperState) -> TargetState:
    (target,) = state.targets
    return target


def failed(sink: MemorySink, scraper: Scraper) -> dict[str, int]:
    """The kinds of failure, once the first failed scrape is in the sink."""
    sink.until(lambda: 0.0 in sink.values("up"))
    counts = only(scraper.state()).counts
    return {key: value for key, value in counts.items() if key.startswith("failed.")}


def test_a_real_exposition_arrives_whole() -> None:
    """What prometheus_client serves (OpenMetrics, gzip) arrives with kinds, labels and exemplars."""
    registry = CollectorRegistry()
    Counter("jobs", "", ["queue"], registry=registry).labels("a").inc(3)
    Gauge("vllm:num_requests_running", "", registry=registry).set(7)
    Gauge("queue.depth", "", ["host.name"], registry=registry).labels("a").set(1)
    Histogram("wait_seconds", "", registry=registry, buckets=(1, 2)).observe(1.5, {"trace_id": TRACE})
    server, thread = start_http_server(0, "127.0.0.1", registry)
    sink = MemorySink()
    try:
        with scraping(sink, job(f"127.0.0.1:{server.server_port}")):
            sink.until(lambda: sink.points("up"))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    points = {point.name: point for point in sink.points()}
    assert {"jobs_total", "vllm:num_requests_running", "queue.depth", "wait_seconds"} | ABOUT == set(points)
    assert ("sum", 3.0, {"queue": "a"}) == (points["jobs_total"].kind, *points["jobs_total"][5:3:-1])
    assert {"host.name": "a"} == points["queue.depth"].attributes
    histogram = points["wait_seconds"].raw
    assert ([0, 1, 0], [TRACE]) == (list(histogram.bucket_counts), [e.trace_id.hex() for e in histogram.exemplars])


def test_the_resource_says_who_was_scraped() -> None:
    """Service by the metrics' prefix, instance, address and port of the target, job and labels."""
    sink = MemorySink()
    labels = {"k8s.pod.name": "llm-0", "__meta_x": "y"}
    with pages("vllm:num_requests_running 1\n") as server, scraping(sink, job(server, labels=labels)):
        sink.until(lambda: sink.points("up"))
    host, port = server.address.split(":")
    expected = {
        "service.name": "vllm",
        "service.instance.id": server.address,
        "server.address": host,
        "server.port": int(port),
        "url.scheme": "http",
        "job": "llm",
        "k8s.pod.name": "llm-0",
    }
    assert [expected] * len(sink.points()) == [point.resource for point in sink.points()]


def test_the_request_asks_for_openmetrics_first() -> None:
    """OpenMetrics before text, gzip, the given path, and the time-out the server may use."""
    sink = MemorySink()
    with pages("depth 1\n") as server, scraping(sink, job(server, metrics_path="/m?x=1")):
        sink.until(lambda: sink.points("up"))
    asked = server.seen[0]
    kinds = [kind.partition(";")[0] for kind in asked["Accept"].split(",")]
    assert ["application/openmetrics-text", "application/openmetrics-text", "text/plain", "*/*"] == kinds
    assert ("gzip", "/m?x=1") == (asked["Accept-Encoding"], asked[":path"])
    assert "20" == asked["X-Prometheus-Scrape-Timeout-Seconds"]


def test_a_clock_that_is_set_ends_no_series_and_no_scraping() -> None:
    """An hour back or ahead: the points bear the new times, none is marked as gone, and the interval is kept."""
    hour = 3_600_000_000_000
    times = iter([10 * hour, 9 * hour, 11 * hour])
    sink = MemorySink()
    with pages("depth 1\n") as server:
        settings = ScrapeSettings(jobs=(job(server),), refresh_s=0.1)
        scraper = Scraper(settings, sink, lambda: next(times, 12 * hour))
        scraper.start()
        sink.until(lambda: len(sink.points("depth")) >= 3)
        scraper.stop()
    points = sink.points("depth")[:3]
    assert [10 * hour, 9 * hour, 11 * hour] == [point.raw.time_unix_nano for point in points]
    assert not any(point.gone for point in sink.points())


def test_a_scrape_tells_of_itself() -> None:
    """`up`, the duration and the number of samples are gauges with the time of the page's points."""
    sink = MemorySink()
    with pages("depth 1\nwidth 2\n") as server, scraping(sink, job(server)) as scraper:
        sink.until(lambda: sink.points("up"))
        state = only(scraper.state())
    first = {point.name: point for point in sink.points()[:5]}
    assert (1.0, 2.0) == (first["up"].value, first["scrape_samples_scraped"].value)
    assert 0 < (first["scrape_duration_seconds"].value or 0) < 10
    assert {first["depth"].unix_nano} == {first[name].unix_nano for name in ABOUT}
    assert (True, f"http://{server.address}/metrics", "") == (state.up, state.url, state.error)


def test_a_target_that_goes_down_ends_its_series_once() -> None:
    """When a target fails, each series gets one point without a value, and `up` turns 0."""
    sink = MemorySink()
    page = """# TYPE jobs counter
jobs_total{q="a"} 1
# TYPE wait histogram
wait_bucket{le="+Inf"} 2
wait_sum 3
wait_count 2
# TYPE size summary
size_sum 3
size_count 2
depth 4
"""
    with pages(page) as server, scraping(sink, job(server)):
        sink.until(lambda: sink.points("up"))
        server.answer = lambda request: request.page("", status=503)
        sink.until(lambda: sink.values("up").count(0.0) >= 3)
    gone = [(point.name, point.kind, point.attributes) for point in sink.points() if point.gone]
    expected = [
        ("depth", "gauge", {}),
        ("wait", "histogram", {}),
        ("size", "summary", {}),
        ("jobs_total", "sum", {"q": "a"}),
    ]
    assert sorted(expected, key=str) == sorted(gone, key=str)
    assert not any(point.gone for point in sink.points() if point.name in ABOUT)


def test_a_series_that_disappears_ends_and_may_return() -> None:
    """One of two series vanishes: it alone is marked, once; when it returns it may vanish again."""
    sink = MemorySink()
    both, one = 'depth{q="a"} 1\ndepth{q="b"} 2\n', 'depth{q="a"} 1\n'
    with pages(both) as server, scraping(sink, job(server)) as scraper:
        for round_, text in enumerate((one, both, one), 1):
            sink.until(lambda: sink.points("up"))
            server.answer = lambda request, text=text: request.page(text)  # type: ignore[misc]
            sink.clear()
            sink.until(lambda: len(sink.points("up")) >= 3)
            gone = [point.attributes for point in sink.points("depth") if point.gone]
            assert ([] if text is both else [{"q": "b"}]) == gone, round_
        assert 2 == only(scraper.state()).counts["stale_series"]


def test_a_series_with_its_own_time_is_not_watched() -> None:
    """A sample that brings its time keeps it, and its end is not marked."""
    sink = MemorySink()
    with pages("depth 1 1796009705333\nwidth 1\n") as server, scraping(sink, job(server)):
        sink.until(lambda: sink.points("up"))
        server.answer = lambda request: request.page("")
        sink.until(lambda: [p for p in sink.points("width") if p.gone])
    assert {1_796_009_705_333_000_000} == {point.unix_nano for point in sink.points("depth")}
    assert not any(point.gone for point in sink.points("depth"))


@pytest.mark.parametrize("how", ["full", "late"])
def test_markers_are_repeated_until_the_sink_takes_them(how: str) -> None:
    """A sink that refuses the end of a series, at once or afterwards, is told again; refusals are counted."""
    sink = MemorySink()
    with pages("depth 1\n") as server, scraping(sink, job(server)) as scraper:
        sink.until(lambda: sink.points("up"))
        setattr(sink, how, True)
        server.answer = lambda request: request.page("", status=500)
        before = sink.refused
        sink.until(lambda: sink.refused >= before + 2)
        setattr(sink, how, False)
        sink.until(lambda: [point for point in sink.points("depth") if point.gone])
        sink.until(lambda: sink.values("up").count(0.0) >= 3)
        assert only(scraper.state()).counts["refused_requests"] >= 2
    assert 1 == sum(point.gone for point in sink.points("depth"))


def test_bad_lines_cost_themselves_only() -> None:
    """A line that cannot be read or a series told twice is counted and named; the page is kept, the target up."""
    sink = MemorySink()
    with pages("depth 1\nbroken{ 1\ndepth 2\nwidth 3\n") as server, scraping(sink, job(server)) as scraper:
        sink.until(lambda: sink.points("up"))
        state = only(scraper.state())
    assert ([1.0], [3.0], 1.0) == (sink.values("depth")[:1], sink.values("width")[:1], sink.values("up")[0])
    assert 0 == state.counts["faulty_lines"] % 2 and state.counts["faulty_lines"] > 0
    assert state.error.startswith("line 2: broken")


def test_a_family_told_in_two_pieces_is_one_page() -> None:
    """Type lines that come again in the middle of a page do not lose the samples before or behind them."""
    page = '# TYPE jobs counter\njobs{q="a"} 1\n# TYPE jobs counter\njobs{q="b"} 2\n'
    sink = MemorySink()
    with pages(page) as server, scraping(sink, job(server)):
        sink.until(lambda: sink.points("up"))
    assert [("sum", {"q": "a"}), ("sum", {"q": "b"})] == [(p.kind, p.attributes) for p in sink.points("jobs")[:2]]


def plain(request: Request, size: int) -> None:
    request.page(b"x 1\n" * (size // 4))


def bomb(request: Request) -> None:
    request.page(gzip.compress(b"\n" * 100_000_000), Content_Encoding="gzip")


ANSWERS = {
    "status": lambda request: request.page("depth 1\n", status=500),
    "malformed": lambda request: request.page("<html><body>log in</body></html>\n", "text/html"),
    "truncated": lambda request: request.page("# TYPE depth gauge\ndepth 1\n", OPENMETRICS),
    "encoding": lambda request: request.page("depth 1\n", Content_Encoding="br"),
    "sample_limit": lambda request: request.page("".join(f"depth{n} 1\n" for n in range(101))),
    "body_limit": lambda request: plain(request, 200_000),
}
TRICKS = {
    "body_limit": bomb,
    "encoding": lambda request: request.page(b"no gzip", Content_Encoding="gzip"),
    "truncated": lambda request: request.page(gzip.compress(b"depth 1\n" * 9)[:-5], Content_Encoding="gzip"),
    "connection": lambda request: request.wfile.write(b"220 smtp.example\r\n\r\n"),
}


@pytest.mark.parametrize(("kind", "answer"), [*ANSWERS.items(), *TRICKS.items()])
def test_a_page_that_cannot_be_used(kind: str, answer: Any) -> None:
    """Each kind of bad answer makes the target down, is counted under its kind, and nothing of it is kept."""
    sink = MemorySink()
    limits = {"sample_limit": 100, "body_limit_bytes": 100_000}
    with pages(answer) as server, scraping(sink, job(server, **limits)) as scraper:
        assert {f"failed.{kind}"} == set(failed(sink, scraper))
        state = only(scraper.state())
    assert (False, True) == (state.up, bool(state.error))
    assert ABOUT == {point.name for point in sink.points()}


def test_nobody_listens() -> None:
    """A refused connection is a target that is down; once somebody listens it comes up by itself."""
    with pages("depth 1\n") as server:
        address = server.address
    sink = MemorySink()
    with scraping(sink, job(address)) as scraper:
        assert {"failed.connection"} == set(failed(sink, scraper))


def test_a_page_that_drips_is_given_up() -> None:
    """The time-out holds for the whole page, however steadily its bytes come."""
    released = threading.Event()

    def drip(request: Request) -> None:
        request.send_response(200)
        request.end_headers()
        while not released.wait(0.02):
            request.wfile.write(b"#\n")

    sink = MemorySink()
    with pages(drip) as server, scraping(sink, job(server, timeout_s=0.3)) as scraper:
        assert {"failed.timeout"} == set(failed(sink, scraper))
        released.set()


def test_a_slow_target_does_not_delay_the_others() -> None:
    """While one target keeps its only scrape waiting, another is scraped again and again."""
    asked, released = threading.Event(), threading.Event()

    def hang(request: Request) -> None:
        asked.set()
        released.wait(20)
        request.page("depth 1\n")

    sink = MemorySink()
    with pages(hang) as slow, pages("depth 1\n") as quick, scraping(sink, job(slow), job(quick)):
        assert asked.wait(20)
        sink.clear()
        sink.until(lambda: len(sink.points("up")) >= 5)
        assert {quick.address} == {point.resource["service.instance.id"] for point in sink.points()}
        assert 1 == len(slow.seen)
        released.set()


def test_a_target_is_never_asked_twice_at_a_time() -> None:
    """A target slower than its interval is asked less often, one scrape after another; what is left out is counted."""
    busy: list[int] = []
    most: list[int] = []
    stopped = threading.Event()

    def slow(request: Request) -> None:
        busy.append(1)
        most.append(len(busy))
        stopped.wait(0.25)
        busy.pop()
        request.page("depth 1\n")

    sink = MemorySink()
    with pages(slow) as server, scraping(sink, job(server)) as scraper:
        sink.until(lambda: len(sink.points("up")) >= 3)
        counts = only(scraper.state()).counts
        stopped.set()
    assert counts["skipped_scrapes"] >= 2
    assert {1} == set(most)


def test_a_token_is_sent_and_stays_secret(tmp_path: Path) -> None:
    """The token file is read at each scrape; the token is in the request and in no state, repr or error."""
    token = tmp_path / "token"
    token.write_text("s3cret-1\n")
    sink = MemorySink()
    with pages("depth 1\n") as server, scraping(sink, job(server, bearer_token_file=token)) as scraper:
        sink.until(lambda: sink.points("up"))
        token.write_text("s3cret-2\n")
        sink.clear()
        sink.until(lambda: len(sink.points("up")) >= 2)
        token.unlink()
        assert {"failed.token"} == set(failed(sink, scraper))
        told = repr(scraper.state())
    sent = {asked["Authorization"] for asked in server.seen}
    assert {"Bearer s3cret-1", "Bearer s3cret-2"} == sent
    assert "s3cret" not in told and "s3cret" not in repr(sink.points())


def test_stopping_lets_a_scrape_reach_the_sink() -> None:
    """A scrape under way when stop is called still arrives, and none begins afterwards."""
    asked, released = threading.Event(), threading.Event()

    def held(request: Request) -> None:
        asked.set()
        released.wait(20)
        request.page("depth 1\n")

    sink = MemorySink()
    with pages(held) as server, scraping(sink, job(server, interval_s=1)) as scraper:
        assert asked.wait(20)
        stopping = threading.Thread(target=scraper.stop)
        stopping.start()
        released.set()
        stopping.join(20)
        assert not scraper.state().running
        assert ([1.0], 1) == (sink.values("up"), len(server.seen))


def test_stopping_gives_up_on_a_target_that_hangs() -> None:
    """A scrape that does not end within the grace is dropped, and stop returns."""
    asked, released = threading.Event(), threading.Event()

    def hang(request: Request) -> None:
        asked.set()
        released.wait(20)

    sink = MemorySink()
    with pages(hang) as server, scraping(sink, job(server)) as scraper:
        assert asked.wait(20)
        began = time.monotonic()
        scraper.stop(grace_s=0.05)
        assert time.monotonic() - began < 10
        released.set()
    assert [] == sink.points()
