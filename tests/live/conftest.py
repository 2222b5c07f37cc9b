"""What the tests of the live view share: sockets of a signed-in person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections

from pipelines.models import Project, User
from pipelines.web.live.routing import sockets
from tests.live.redis_server import Redis
from tests.waiting import LONG

HOST = "127.0.0.1:8000"
ORIGIN = f"http://{HOST}"


def session_of(user: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


@pytest.fixture(autouse=True)
async def _a_fresh_layer() -> AsyncIterator[None]:
    """Each test gets a channel layer of its own, and leaves neither threads nor connections behind."""
    _close_layers()
    yield
    await sync_to_async(connections.close_all)()
    _close_layers()


def _close_layers() -> None:
    """What other tests left listening, too: it would ask for the database after its end."""
    for layer in channel_layers.backends.values():
        layer.close()
    channel_layers.backends.clear()


@pytest.fixture
def knock() -> Callable[..., WebsocketCommunicator]:
    """A socket at /live/, not yet connected; `session` is a session's key, "" is signed out."""

    def make(
        project: Project | str, session: str = "", origin: str = ORIGIN, **more: str
    ) -> WebsocketCommunicator:
        name = project if isinstance(project, str) else f"{project.owner.key}/{project.key}"
        headers = [(b"host", HOST.encode()), (b"origin", origin.encode())]
        if session:
            headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
        path = f"/live/?{urlencode({'project': name, **more})}"
        return WebsocketCommunicator(sockets, path, headers=headers)

    return make


@pytest.fixture
def enter(knock: Callable[..., WebsocketCommunicator]) -> Callable[..., Awaitable[WebsocketCommunicator]]:
    """An accepted socket of this person."""

    async def make(project: Project, user: User, **more: str) -> WebsocketCommunicator:
        socket = knock(project, await sync_to_async(session_of)(user), **more)
        accepted, _ = await socket.connect(timeout=LONG)
        assert accepted
        return socket

    return make


async def hints(socket: WebsocketCommunicator) -> dict[str, int]:
    """The versions told by the next message."""
    message: dict[str, Any] = await socket.receive_json_from(timeout=LONG)
    return {hint["task"]: hint["version"] for hint in message.get("hints", [])}


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    """Not started yet."""
    found = Redis(tmp_path)
    yield found
    found.stop()
