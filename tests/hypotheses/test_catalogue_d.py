"""Causes between services found in files: dependencies, idle connections, probes, proxies, schemas."""

import json
from pathlib import Path

import numpy as np
import pytest

from correlator.model.evidence import Kind
from correlator.model.findings import Verdict
from correlator.model.moments import rfc3339
from tests.correlator.join.telemetry import Span, at
from tests.hypotheses.bundles import MINUTE, around, diagnosed, of, request, supported, written


def calling(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    """A feature store is called over HTTP before the model."""
    took = around(rng, 0.5 if ill else 0.04)
    features = {"url.path": "/features", "server.address": "features.internal"}
    call = {"parent": "root", "trace": trace, "kind": "CLIENT", "name": "GET", "attributes": features}
    return request(trace, start, around(rng, 0.3), Span(id="get", start=start, end=start + took, **call))  # type: ignore[arg-type]


def test_a_slow_dependency_is_a_part_of_its_own(tmp_path: Path) -> None:
    """Calls that are neither model nor retrieval are the cause when they grew, and the ledger shows where."""
    answer = diagnosed(written(tmp_path, calling))
    assert {"dependency_slow"} == supported(answer)
    assert "dependency" == max(answer.ledger, key=lambda part: part.share or 0).part


def breaking(message: str, idle: bool):  # type: ignore[no-untyped-def]
    """Model calls fail in the incident: those that follow a silence of twenty seconds, or any."""

    def made(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
        quiet = start % 20 < 14
        if idle and quiet:
            return []
        first = idle and start % 20 == 14
        fails = ill and (first if idle else rng.random() < 0.4)
        more = {"failed": fails, "message": message if fails else ""}
        return request(trace, start, 0.2 * rng.lognormal(0, 0.2), **more)

    return made


def test_refused_pings_name_the_keepalive(tmp_path: Path) -> None:
    """Calls that end with too_many_pings are a matter of keep-alive, not of the model."""
    text = "UNAVAILABLE: GOAWAY received; Error code: ENHANCE_YOUR_CALM; Debug text: too_many_pings"
    answer = diagnosed(written(tmp_path, breaking(text, idle=False)))
    assert {"keepalive_mismatch"} == supported(answer)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("1 validation error for SystemMessage: injected: Extra inputs are not permitted", "schema_mismatch"),
        ("upstream request timeout", "proxy_buffering"),
        ("[Errno 104] Connection reset by peer", "keepalive_mismatch"),
    ],
    ids=["schema", "proxy", "reset"],
)
def test_a_message_alone_supports_nothing(tmp_path: Path, message: str, cause: str) -> None:
    """Errors name a kind; without a change of version, one age, or idle connections the cause stays open or falls."""
    answer = diagnosed(written(tmp_path, breaking(message, idle=False)))
    assert Kind.ERRORS == (answer.symptom.kind if answer.symptom else None)
    assert Verdict.SUPPORTED != of(answer, cause).verdict


def upgraded(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    """Requests of a newer service are refused for a field that the server forbids."""
    text = "1 validation error for SystemMessage: injected: Extra inputs are not permitted"
    fails = ill and rng.random() < 0.6
    model = {"gen_ai.response.model": "m-2" if ill else "m-1"}
    more = {"failed": fails, "message": text if fails else "", "model": model}
    return request(trace, start, around(rng, 0.2), **more)


def test_refused_messages_since_a_version_are_a_schema_mismatch(tmp_path: Path) -> None:
    """Validation errors that began with another version are the interface's, and nothing else's."""
    answer = diagnosed(written(tmp_path, upgraded))
    assert "schema_mismatch" in supported(answer)


def held_back(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    """The client has its first token late, the engine sent it in time, and the whole takes as long as before."""
    whole = around(rng, 4)
    spans = request(trace, start, whole, model={"gen_ai.response.time_to_first_chunk": whole - 0.1 if ill else 0.2})
    return [*spans[:-1], told(spans[-1], {"gen_ai.latency.time_to_first_token": 0.1})]


def told(span: Span, attributes: dict[str, float]) -> Span:
    return Span(**{**{key: getattr(span, key) for key in span.__dataclass_fields__}, "attributes": attributes})


def test_a_proxy_that_holds_tokens_back_is_seen_from_both_sides(tmp_path: Path) -> None:
    """Late first tokens at the client, on time at the engine, at the same total: something between holds them."""
    answer = diagnosed(written(tmp_path, held_back))
    assert "first_token_held_back" == (answer.symptom.signal.name if answer.symptom else "")
    assert {"proxy_buffering"} == supported(answer)


def aborting(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    """Long answers are ended after three seconds by a proxy."""
    cut = ill and rng.random() < 0.4
    text = "HTTP 504: upstream timed out while reading response header from upstream"
    return request(trace, start, 2.99 if cut else around(rng, 1), failed=cut, message=text if cut else "")


def test_aborts_at_one_age_are_a_proxys(tmp_path: Path) -> None:
    """Gateway time-outs that all end at the same age are the proxy's own time-out."""
    assert "proxy_buffering" in supported(diagnosed(written(tmp_path, aborting)))


def restarting(trace: str, start: float, ill: bool, rng: np.random.Generator) -> list[Span]:
    """Requests fail in the fifteen seconds after a restart."""
    fails = ill and any(t <= start < t + 15 for t in (75, 105)) and rng.random() < 0.7
    return request(trace, start, around(rng, 0.2), failed=fails, message="connection refused" if fails else "")


def probed(restarts: tuple[float, ...]) -> str:
    """Kubernetes events of probes that fail and restart the engine, beside events of every day."""

    def item(seconds: float, reason: str, message: str) -> dict[str, object]:
        when = rfc3339(at(seconds))
        involved = {"kind": "Pod", "name": "vllm-0", "namespace": "serving"}
        kind = "Normal" if reason in ("Started", "Pulled") else "Warning"
        return {
            "kind": "Event", "type": kind, "reason": reason, "message": message, "count": 1,
            "firstTimestamp": when, "lastTimestamp": when, "involvedObject": involved,
            "metadata": {"name": f"vllm-0.{seconds}.{reason}", "namespace": "serving", "creationTimestamp": when},
        }  # fmt: skip

    items = [item(t, "Pulled", "Container image already present") for t in (1, 30, 118)]
    for t in restarts:
        items.append(item(t - 0.5, "Unhealthy", "Liveness probe failed: context deadline exceeded"))
        items.append(item(t, "Killing", "Container vllm failed liveness probe, will be restarted"))
    return json.dumps({"kind": "List", "apiVersion": "v1", "items": items})


def scraped(stalled: bool) -> str:
    """A page of the engine's counters every five seconds; stalled, it stops generating with the incident."""
    pages, tokens = [], 0
    for seconds in range(0, 120, 5):
        tokens += 0 if stalled and seconds >= MINUTE else 500
        stamp = at(seconds) // 1_000_000
        pages.append(f'vllm:generation_tokens_total{{model_name="m"}} {tokens} {stamp}\n')
    return "# TYPE vllm:generation_tokens_total counter\n" + "".join(pages)


@pytest.mark.parametrize(
    ("stalled", "verdict"), [(False, Verdict.SUPPORTED), (True, Verdict.REFUTED)], ids=["working", "hanging"]
)
def test_probes_that_restart_a_working_engine_are_misfits(tmp_path: Path, stalled: bool, verdict: Verdict) -> None:
    """The engine's own tokens tell a false restart from a right one."""
    (tmp_path / "events.json").write_text(probed((75, 105)))
    (tmp_path / "metrics.prom").write_text(scraped(stalled))
    assert verdict == of(diagnosed(written(tmp_path, restarting)), "health_probe_misfit").verdict
