"""Vector stores and the databases behind them: pools that run dry while the database idles."""

from __future__ import annotations

from tests.cases.inputs import CHANGE, END, app, calls, drift
from tests.cases.report import Files, Report
from tests.correlator.join.telemetry import Span, retrieval
from tests.hypotheses.bundles import request


def failing(message: str, every: int) -> Files:
    """Searches of one in so many requests fail with this message after the change, and the log says it too."""

    def made(i: int, t: float) -> list[Span]:
        ill = t >= CHANGE and i % every == 0
        end = t + 0.04 * drift(i)
        more = {"failed": ill, "message": message if ill else ""}
        search = retrieval(id="search", parent="root", trace=f"{i}", start=t, end=end, **more)
        return request(f"{i}", t, 0.3 * drift(i + 999), search, failed=ill)

    lines = [app(t, "INFO api ready") for t in range(0, int(END), 10)]
    lines += [app(t, f"ERROR api {message}") for t in range(int(CHANGE), int(END), 5)]
    return {"calls.binpb": calls(made), "app.log": "".join(sorted(lines))}


def optimising() -> Files:
    """Searches that took less than 50 ms take 5 to 31 s; what the store says of itself is not in any file here."""

    def made(i: int, t: float) -> list[Span]:
        took = 0.04 * drift(i) if t < CHANGE else 5 + 26 * (i * 7 % 10) / 9
        search = retrieval(id="search", parent="root", trace=f"{i}", start=t, end=t + took)
        return request(f"{i}", t, 0.3 * drift(i + 999), search)

    return {"calls.binpb": calls(made)}


POOL_150 = (
    "sqlalchemy.exc.TimeoutError: QueuePool limit of size 150 overflow 30 reached, connection timed out, timeout 30.00"
)
POOL_10 = "sqlalchemy.exc.TimeoutError: QueuePool limit of size 10 overflow 20 reached, connection timed out"
UPSERT = (
    "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='index.svc.pinecone.io', port=443): Max retries "
    "exceeded with url: /vectors/upsert (Caused by NewConnectionError('Failed to establish a new connection: [Errno "
    "24] Too many open files'))"
)
METADATA = "Failed to connect to database server: Too many connections"

CASES = (
    *(
        Report(
            id=id,
            agree=agree,
            cause="vector_pool_exhaustion",
            decisive=True,
            suspects=("retrieval_slow", "embedding_mismatch", "dependency_slow"),
            files=lambda message=message, every=every: failing(message, every),
            fails="running out of file descriptors is in no hypothesis" if id == "C085" else "",
        )
        for id, agree, message, every in (
            ("C082", 3, POOL_150, 3),
            ("C083", 2, POOL_10, 2),
            ("C085", 2, UPSERT, 2),
            ("C086", 3, METADATA, 2),
        )
    ),
    Report(
        id="C089",
        agree=2,
        cause="retrieval_slow",
        decisive=True,
        suspects=("vector_pool_exhaustion", "client_pool_exhaustion"),
        files=optimising,
    ),
)
