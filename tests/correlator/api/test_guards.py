"""What stands before the routes: token, origins, sizes, and how much may run at once."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from threading import Event

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from correlator.api import Asked, Options
from correlator.api.problems import Busy
from correlator.api.workers import Workers
from tests.correlator.api.served import ANSWER, QUESTION, Client, Made

TOKEN = SecretStr("s3cret")
LIST = "/api/v1/incidents"
WAIT_S = 30


def metrics(client: Client) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    order = ("work", "route", "method", "code")
    return {
        (s.name, *(s.labels[label] for label in order if label in s.labels)): s.value
        for family in families
        for s in family.samples
    }


@pytest.mark.parametrize(
    "header",
    [
        "",
        "s3cret",
        "Bearer",
        "Bearer ",
        "Bearer s3cre",
        "Bearer s3cret2",
        "Basic s3cret",
        "Bearer S3CRET",
        "Bearer \xe9",
    ],
)
def test_without_the_token_nothing_is_told(header: str) -> None:
    """401 with the scheme wanted, on every route that tells anything, known or not."""
    with Client(Made(), Options(token=TOKEN)) as client:
        given = {"Authorization": header.encode("latin-1")} if header else {}
        for path in (LIST, "/metrics", "/api/v1/openapi.json", "/nowhere"):
            answer = client.get(path, given)
            assert (401, "Bearer", 401) == (
                answer.status_code,
                answer.headers["www-authenticate"],
                answer.json()["status"],
            )
            assert "s3cret" not in answer.text


@pytest.mark.parametrize("header", ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret"])
def test_with_the_token_everything_is(header: str) -> None:
    """The scheme is written as one likes, the token is not."""
    with Client(Made(), Options(token=TOKEN)) as client:
        assert 200 == client.get(LIST, {"Authorization": header}).status_code


def test_two_tokens_are_none() -> None:
    """A request that names two credentials is not let in by one of them."""
    with Client(Made(), Options(token=TOKEN)) as client:
        answer = client.request(
            "GET", LIST, headers=[("Authorization", "Bearer s3cret"), ("Authorization", "Bearer x")]
        )
        assert 401 == answer.status_code


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_need_no_token(path: str) -> None:
    """An orchestrator's probe has none."""
    with Client(Made(), Options(token=TOKEN)) as client:
        assert 200 == client.get(path).status_code


def test_the_token_is_not_in_any_repr() -> None:
    """Options can be logged."""
    assert "s3cret" not in repr(Options(token=TOKEN))


def test_no_origin_may_ask_unless_listed() -> None:
    """CORS is off; a listed origin is let in with its preflight, another one is not."""
    preflight = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "Authorization"}
    allowed = "access-control-allow-origin"
    with Client(Made()) as client:
        assert allowed not in client.get(LIST, {"Origin": "https://evil.example"}).headers
    with Client(Made(), Options(token=TOKEN, cors=("https://grafana.example",))) as client:
        good = client.request("OPTIONS", LIST, headers=preflight | {"Origin": "https://grafana.example"})
        bad = client.request("OPTIONS", LIST, headers=preflight | {"Origin": "https://evil.example"})
        assert (200, "https://grafana.example") == (good.status_code, good.headers[allowed])
        assert allowed not in bad.headers


def test_a_page_of_another_site_cannot_start_a_diagnosis() -> None:
    """A form or a script without preflight sends no JSON, and is refused before the engine is asked."""
    made = Made()
    with Client(made) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", None):
            headers = {"Content-Type": kind} if kind else {}
            answer = client.request("POST", "/api/v1/diagnose", content=b"{}", headers=headers)
            assert 422 == answer.status_code
    assert [] == made.asked


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_too_large_is_refused(chunked: bool) -> None:
    """By the length it names, and by what comes when it names none."""

    async def stream() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 300

    with Client(Made(), Options(body_bytes=1_000)) as client:
        content = stream() if chunked else b" " * 1_001
        answer = client.request(
            "POST", "/api/v1/diagnose", content=content, headers={"Content-Type": "application/json"}
        )
        assert (413, "application/problem+json") == (answer.status_code, answer.headers["content-type"])


def test_diagnoses_at_once_are_bounded() -> None:
    """Beyond the bound 503 with Retry-After, at once; reads go on; the place is free again afterwards."""
    made, started, go = Made(), Event(), Event()

    def slow(asked: Asked) -> Mapping[str, object]:
        started.set()
        assert go.wait(WAIT_S)
        return ANSWER

    made.diagnose = slow
    with Client(made) as client:

        async def work() -> list[int]:
            first = asyncio.create_task(client.ask("POST", "/api/v1/diagnose", json=QUESTION))
            assert await asyncio.to_thread(started.wait, WAIT_S)
            second = await client.ask("POST", "/api/v1/diagnose", json=QUESTION)
            assert ("5", 503) == (second.headers["retry-after"], second.json()["status"])
            reads = await client.ask("GET", LIST)
            go.set()
            return [(await first).status_code, second.status_code, reads.status_code]

        assert [200, 503, 200] == client.together(work)
        assert 200 == client.request("POST", "/api/v1/diagnose", json=QUESTION).status_code
        assert 1 == metrics(client)["tollens_api_refused_total", "diagnoses"]
    assert 2 == sum(isinstance(asked, Asked) for asked in made.asked)


def test_a_caller_that_goes_away_does_not_free_its_place() -> None:
    """A diagnosis nobody waits for still runs, so no second one may begin beside it."""
    go, workers = Event(), Workers("work", 1, 0)

    async def work() -> None:
        task = asyncio.create_task(workers.run(go.wait, WAIT_S))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(Busy):
            await workers.run(go.wait, 0)

    asyncio.run(work())
    go.set()
    workers.close()
    assert (0, 1) == (workers.busy, workers.refused)


def test_work_that_fails_frees_its_place() -> None:
    """An exception reaches the caller, and the next work runs."""
    workers = Workers("work", 1, 0)

    async def work() -> float:
        with pytest.raises(ZeroDivisionError):
            await workers.run(lambda: 1 / 0)
        return await workers.run(lambda: 1.0)

    assert 1.0 == asyncio.run(work())
    workers.close()


def test_requests_are_counted_by_route_not_by_path() -> None:
    """Any number of ids and of made-up paths are one label each."""
    with Client(Made()) as client:
        for k in range(5):
            client.get(f"/api/v1/incidents/nobody{k}")
            client.get(f"/nowhere/{k}")
        client.request("PROPFIND", LIST)
        counted = metrics(client)
    name = "tollens_api_requests_total"
    assert 5 == counted[name, "/api/v1/incidents/{id}", "GET", "404"]
    assert 5 == counted[name, "none", "GET", "404"]
    assert [("other", "405")] == [key[2:] for key in counted if key[0] == name and key[1] == LIST]


def test_metrics_are_those_of_the_registry_given() -> None:
    """Whatever else is registered there is shown, as OpenMetrics where asked for."""
    registry = CollectorRegistry()
    with Client(Made(), Options(registry=registry)) as client:
        answer = client.get("/metrics", {"Accept": "application/openmetrics-text;version=1.0.0"})
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        assert answer.text.endswith("# EOF\n")
