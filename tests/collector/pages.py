"""A real HTTP server on loopback that exposes pages of metrics as a test says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.serving import served

TEXT = "text/plain; version=0.0.4"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Answer = Callable[["Request"], None]


class Request(BaseHTTPRequestHandler):
    """One request; an answer calls `page`, or writes what it likes."""

    server: "PageServer"

    def do_GET(self) -> None:
        self.server.seen.append(dict(self.headers.items()) | {":path": self.path})
        self.server.answer(self)

    def page(self, content: bytes | str, kind: str = TEXT, status: int = 200, **headers: str) -> None:
        body = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class PageServer(ThreadingHTTPServer):
    """Answers every request with `answer`, which may be changed at any time."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.answer = answer
        self.seen: list[dict[str, str]] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests are about."""


@contextmanager
def pages(answer: Answer | bytes | str) -> Iterator[PageServer]:
    """A running server; a fixed page in place of an answer is text."""
    fixed = answer if callable(answer) else (lambda request: request.page(answer))
    with PageServer(fixed) as server, served(server):
        yield server
