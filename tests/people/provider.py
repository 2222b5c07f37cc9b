"""A provider of OpenID Connect on this machine: says of everybody who asks what `claims` says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class Provider:
    def __init__(self) -> None:
        self.claims: dict[str, Any] = {"sub": "s1", "preferred_username": "pat", "email": "pat@example.com"}
        self.asked: list[dict[str, list[str]]] = []
        """What came to the token endpoint."""
        self.broken = False
        self.address = ""

    def answer(self, path: str) -> dict[str, Any] | None:
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.address,
                "authorization_endpoint": f"{self.address}/authorize",
                "token_endpoint": f"{self.address}/token",
                "userinfo_endpoint": f"{self.address}/userinfo",
                "jwks_uri": f"{self.address}/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            },
            "/token": {"access_token": "a", "token_type": "Bearer"},
            "/userinfo": self.claims,
        }.get(path)


@contextmanager
def provider() -> Iterator[Provider]:
    made = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == "/authorize":
                self._send_back(parse_qs(asked.query))
            else:
                self._answer()

        def _send_back(self, asked: dict[str, list[str]]) -> None:
            """Of a browser: everybody is signed in here already."""
            back = urlencode({"code": "c", "state": asked["state"][0]})
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri'][0]}?{back}")
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.asked.append(parse_qs(body.decode()))
            self._answer()

        def _answer(self) -> None:
            found = made.answer(self.path)
            body = json.dumps(found).encode()
            self.send_response(500 if made.broken else 200 if found is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
