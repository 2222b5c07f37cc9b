"""The address /api/mcp: the protocol by its own library, one request at a time and without sessions, so that any web
process answers any request. The library is imported with the first of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from asgiref.sync import sync_to_async

from pipelines.api.mcp.tools import ApiAnswer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[Any]]
PATH: Final = "/api/mcp"
NO_LIBRARY: Final = (
    "This server was installed without the extra “mcp”."
    " Its operator installs the wheel of the release anew with [mcp] behind its name."
)
NO_TOKEN: Final = (
    "Send a token: Authorization: Bearer gl_…"
    " An agent of yours gets one under Personal settings › Personal tokens."
)
OTHER_ORIGIN: Final = "A page of another origin may not call this."
POST_ONLY: Final = "Send each message by POST: there is no stream, and no session to end."
FORWARDED: Final = (b"authorization", b"host", b"x-forwarded-for", b"x-forwarded-proto", b"x-request-id")
"""Headers of the request that go along with what its tools ask. No cookie: the token alone says who asks."""


class AgentEndpoint:
    """Answers the address of the protocol, and hands every other request on to `django`, which also answers what the
    tools ask."""

    def __init__(self, django: App) -> None:
        self._django = django

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"]).removeprefix(scope.get("root_path", ""))
        if path.rstrip("/") != PATH:
            await self._django(scope, receive, send)
            return
        refusal = await self._refusal_or_none(scope)
        if refusal is not None:
            await send_refusal(send, *refusal)
            return
        # In a thread: the first import, and the first description of the API, take seconds
        protocol = await sync_to_async(import_module, thread_sensitive=False)("pipelines.api.mcp.protocol")
        await sync_to_async(protocol.tool_definitions, thread_sensitive=False)()
        manager = protocol.session_manager(ApiRequests(self._django, scope))
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def _refusal_or_none(self, scope: Scope) -> tuple[int, str, Mapping[str, str]] | None:
        """Return status, reason and headers where the request is not let in."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["method"] != "POST":
            return 405, POST_ONLY, {"Allow": "POST"}
        # A page in a browser of this machine could speak to it under another name (DNS rebinding)
        if (origin := headers.get("origin")) and urlsplit(origin).netloc != headers.get("host"):
            return 403, OTHER_ORIGIN, {}
        if not headers.get("authorization", "").lower().startswith("bearer "):
            return 401, NO_TOKEN, {"WWW-Authenticate": "Bearer"}
        if find_spec("mcp") is None:
            return 501, NO_LIBRARY, {}
        # Before the protocol is spoken: is the token in force, the host ours, and the number of wrong ones small
        token = await ApiRequests(self._django, scope)("GET", "/api/v1/projects")
        # 403: a token in force that may not list projects is let in, and its tools are refused by themselves
        if not token.is_error or token.status == 403:
            return None
        detail = token.body.get("detail", "") if isinstance(token.body, dict) else ""
        return token.status, detail, {"WWW-Authenticate": "Bearer"} if token.status == 401 else {}


class ApiRequests:
    """Requests to the API inside this process, with token, host and address of the request that came."""

    def __init__(self, django: App, scope: Scope) -> None:
        self._django, self._scope = django, scope

    async def __call__(self, method: str, path: str, body: bytes = b"", media: str = "") -> ApiAnswer:
        plain_path, _mark, query = path.partition("?")
        prefix = self._scope.get("root_path", "")
        # Who asks and from where alone: length and type are those of another body
        headers = [pair for pair in self._scope["headers"] if pair[0] in FORWARDED]
        scope = {
            **self._scope,
            "method": method,
            "path": prefix + unquote(plain_path),
            "raw_path": (prefix + plain_path).encode(),
            "query_string": query.encode(),
            "headers": [
                *headers,
                (b"accept", b"application/json"),
                (b"content-type", media.encode()),
                (b"content-length", str(len(body)).encode()),
            ],
        }
        # By the whole of Django: its limits, its rights and its errors hold here, too
        exchange = Exchange(body)
        await self._django(scope, exchange.receive, exchange.send)
        return exchange.answer


class Exchange:
    """A request of this process to an application, and the answer that comes."""

    def __init__(self, body: bytes) -> None:
        self._unread: list[bytes] = [body]
        # 500 until it says otherwise: an application that ends without an answer has failed
        self._status, self._parts, self._ended = 500, list[bytes](), asyncio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        if self._unread:
            return {"type": "http.request", "body": self._unread.pop(), "more_body": False}
        # An application that listens for a hang-up hears of none before it has answered
        await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        self._parts.append(message.get("body", b""))
        if not message.get("more_body"):
            self._ended.set()

    @property
    def answer(self) -> ApiAnswer:
        text = b"".join(self._parts).decode(errors="replace")
        try:
            return ApiAnswer(self._status, json.loads(text))
        except ValueError:
            return ApiAnswer(self._status, text)


async def send_refusal(send: Send, status: int, detail: str, headers: Mapping[str, str]) -> None:
    """Answer as the API does what it refuses (RFC 9457)."""
    body = json.dumps({"type": "about:blank", "status": status, "detail": detail}).encode()
    sent = {"Content-Type": "application/problem+json", "Content-Length": str(len(body)), **headers}
    pairs = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
