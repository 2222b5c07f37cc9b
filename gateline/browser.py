"""Signing in by one click: the browser has the session, and hands a token to this program at a port of this machine."""

from __future__ import annotations

import secrets
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from gateline import output
from gateline.output import escaped


def request_token(address: str) -> str:
    """The token that the page of the server hands over; "" where no browser can be opened here."""
    state, tokens = secrets.token_urlsafe(24), list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            values = parse_qs(urlsplit(self.path).query)
            # Only the page opened here knows it: no other site can hand over its own token.
            if not secrets.compare_digest(values.get("state", [""])[0].encode(), state.encode()):
                self.send_error(404)
                return
            tokens.append(values.get("token", [""])[0])
            # Away from the address that has the token in it.
            self.send_response(303)
            self.send_header("Location", f"{address}/account/")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            # The default prints the address, which has the token in it.
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        page = f"{address}/account/command-line/{server.server_port}/{state}/"
        if not webbrowser.open(page):
            return ""
        output.note(f"Press “Sign in the command line” in the browser: {escaped(page)}")
        output.note("To paste a token in its place: Ctrl-C, then gateline login --token-stdin.")
        while not tokens:
            server.handle_request()
    return tokens[0]
