"""The one socket route behind its guards: a host of ours, the same origin, then a signed-in person."""

from __future__ import annotations

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.urls import path

from pipelines.web.live.consumer import LiveConsumer
from pipelines.web.live.origin import SameOriginGuard, refuse

urlpatterns = [path("live/", LiveConsumer.as_asgi(), name="live")]

# Channels takes an ASGI application where Django wants a view.
_routes = URLRouter([*urlpatterns, path("<path:_>", refuse)])  # type: ignore[arg-type]
# The same origin first: the library's guard fails at an origin that is no address.
sockets = SameOriginGuard(
    AllowedHostsOriginValidator(AuthMiddlewareStack(_routes)), trusted=settings.CSRF_TRUSTED_ORIGINS
)
