"""The ASGI application: HTTP by Django, sockets by Channels. Any ASGI server can serve it;
the bounds of `manage.py web` are not its own (config/request_bounds.py)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("GATELINE_ROLE", "web")

import django
from channels.routing import ProtocolTypeRouter
from django.conf import settings

from config.embedded import layout
from config.embedded.server_share import acquire_share
from config.secret_files import read_secret_files_into_environment

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Callable[..., Awaitable[Any]], Callable[..., Awaitable[Any]]], Awaitable[Any]]

read_secret_files_into_environment(os.environ)
if not os.environ.get("DATABASE_URL"):
    # Another ASGI server than `manage.py web` has no share in the embedded server yet.
    acquire_share(layout.state_folder())

django.setup(set_prefix=False)

# These import models: they come after Django is set up.
from config.request_handler import SingleThreadHandler
from pipelines.api.mcp.endpoint import AgentEndpoint
from pipelines.web.live.routing import sockets


class Prefixed:
    """Serves under the path of BASE_URL, whether or not the proxy in front strips it."""

    def __init__(self, app: App, prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Callable[..., Any], send: Callable[..., Any]) -> Any:
        path = scope.get("path")
        # The slashes keep /gatelines from counting as below /gateline.
        if self.prefix and path is not None and not f"{path}/".startswith(f"{self.prefix}/"):
            path = self.prefix + path
        if self.prefix and path is not None:
            scope = {**scope, "path": path, "root_path": self.prefix}
        return await self.app(scope, receive, send)


application = Prefixed(
    ProtocolTypeRouter({"http": AgentEndpoint(SingleThreadHandler()), "websocket": sockets}),
    settings.FORCE_SCRIPT_NAME or "",
)
