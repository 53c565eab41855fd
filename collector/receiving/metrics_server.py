"""`/metrics` over HTTP, within the same bounds as the receivers."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.exposition import choose_encoder

from collector.receiving.answers import Refused
from collector.receiving.http_connection import Head, ReadBody, Response
from collector.receiving.http_server import HttpServer
from collector.receiving.settings import Limits, MetricsSettings
from correlator.model.listening import listening

CONNECTIONS = 16


def serve_metrics(registry: CollectorRegistry, settings: MetricsSettings) -> HttpServer:
    """Listen in the running loop. ConfigError where the address cannot be used."""

    away = Counter("tollens_metrics_refused_connections_total", "Beyond the limit, to this page.", registry=registry)

    async def answer(head: Head, _: ReadBody) -> Response:
        return _answer(registry, head)

    def refuse(refused: Refused) -> Response:
        return Response(refused.reason.http_status)

    limits = Limits(connections=CONNECTIONS)
    server = HttpServer(listening("metrics", settings.host, settings.port), None, limits, answer, refuse, away.inc)
    server.start()
    return server


def _answer(registry: CollectorRegistry, head: Head) -> Response:
    if head.path.partition("?")[0] != "/metrics":
        return Response(404)
    if head.method not in ("GET", "HEAD"):
        return Response(405, headers=(("Allow", "GET, HEAD"),))
    encoder, media_type = choose_encoder(head.headers.get("accept", ""))
    return Response(200, encoder(registry), media_type)
