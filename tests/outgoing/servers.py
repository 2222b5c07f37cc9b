"""Real HTTP servers of a test, in threads, on loopback addresses of their own."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    host: str
    port: int
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


Answers = Callable[[BaseHTTPRequestHandler, Asked], None]


def say(to: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name.replace("_", "-"), value)
    to.send_header("content-length", str(len(body)))
    to.end_headers()
    to.wfile.write(body)


def silent(to: BaseHTTPRequestHandler, asked: object = None) -> None:
    """Says nothing for as long as the client waits."""
    to.rfile.read(1)


@contextmanager
def serving(
    answers: Answers, host: str = "127.0.0.1", port: int = 0, by: ssl.SSLContext | None = None
) -> Iterator[Server]:
    """`by`: with the certificate of this context."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            found.asked.append(asked)
            answers(self, asked)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    class Listening(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, *_: object) -> None:
            """A client that hangs up is no news."""

    server = Listening((host, port), Handler)
    if by is not None:
        server.socket = by.wrap_socket(server.socket, server_side=True)
    found = Server(host, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
