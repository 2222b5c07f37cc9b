"""The one socket route behind its guards: a host of ours, the same origin, then a signed-in person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.urls import path

from pipelines.web.live.consumer import LiveConsumer

# Sockets only for pages of this very origin: cookies do not know ports, so the allowed hosts alone say too
# little.


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[Any]]


def is_same_origin(headers: Collection[tuple[bytes, bytes]], trusted: Collection[str]) -> bool:
    """Browsers always send an Origin with a socket; without one, or with another's, nothing is told."""
    header_values = {name.lower(): value for name, value in headers}
    origin = header_values.get(b"origin", b"").decode("latin-1")
    if origin in trusted:
        return True
    host = header_values.get(b"host", b"").decode("latin-1")
    try:
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:  # “http://[”: no browser sends it
        return False


class SameOriginGuard:
    """Refuses before accept. `trusted`: origins that count as ours behind a proxy that rewrites Host."""

    def __init__(self, app: App, trusted: Collection[str]) -> None:
        self.app, self.trusted = app, frozenset(trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> Any:
        if is_same_origin(scope["headers"], self.trusted):
            return await self.app(scope, receive, send)
        return await refuse_handshake(scope, receive, send)


async def refuse_handshake(scope: Scope, receive: Receive, send: Send) -> None:
    """Closed before accept: the handshake answers 403."""
    await send({"type": "websocket.close"})


urlpatterns = [path("live/", LiveConsumer.as_asgi(), name="live")]

# Channels takes an ASGI application where Django wants a view.
_routes = URLRouter([*urlpatterns, path("<path:_>", refuse_handshake)])  # type: ignore[arg-type]
# The same origin first: the library's guard fails at an origin that is no address.
sockets = SameOriginGuard(
    AllowedHostsOriginValidator(AuthMiddlewareStack(_routes)), trusted=settings.CSRF_TRUSTED_ORIGINS
)
