"""With REDIS_URL: short commands end quietly, and sockets do without Redis while it is away. A real redis-server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from channels.testing import WebsocketCommunicator

from tests.factories import World
from tests.fixtures.site import ROOT, environment
from tests.live.conftest import hints as told
from tests.live.conftest import session_of
from tests.live.redis_server import Redis, needs_redis
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)
PUSH = (
    "from pipelines.web.live.hints import push_hints; from pipelines.ports.observers import Hint; "
    "push_hints([Hint(1, 1, 'WI-a-1', 1)])"
)


@pytest.mark.smoke(1)
@needs_redis
@pytest.mark.parametrize("there", [True, False], ids=["there", "away"])
def test_a_short_command_that_tells_the_bus_prints_no_traceback(redis: Redis, there: bool) -> None:
    if there:
        redis.start()
    ended = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", PUSH],
        cwd=ROOT,
        env=environment(REDIS_URL=redis.url),
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr and "Exception ignored" not in ended.stderr, ended.stderr
    assert there or "hints lost" in ended.stderr


@needs_redis
async def test_a_socket_is_closed_while_redis_is_away_and_opens_again(
    world: World, redis: Redis, settings: Any, knock: Callable[..., WebsocketCommunicator]
) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [redis.url]},
        }
    }
    channel_layers.backends.clear()
    session = await to_thread(lambda: session_of(world.viewer))
    away = knock(world.project, session)
    assert (await away.connect(timeout=LONG))[0] is False
    await to_thread(redis.start)
    back = knock(world.project, session)
    assert (await back.connect(timeout=LONG))[0] is True
    task = await to_thread(lambda: world.start(world.line(stations=["a"])))
    while task.name not in await told(back):
        pass
    await back.disconnect()
    await channel_layers["default"].flush()
    channel_layers.backends.clear()


@pytest.mark.wide
@needs_redis
async def test_an_open_socket_lives_through_the_death_of_redis(
    world: World, redis: Redis, settings: Any, knock: Callable[..., WebsocketCommunicator], caplog: Any
) -> None:
    """Either it tells what changes all the same, or it ends with the code on which a page polls and comes back."""
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [redis.url]},
        }
    }
    channel_layers.backends.clear()
    session = await to_thread(lambda: session_of(world.viewer))
    version = await to_thread(lambda: world.line(stations=["a"]))
    await to_thread(redis.start)
    open_ = knock(world.project, session)
    assert (await open_.connect(timeout=LONG))[0] is True
    for change in (redis.stop, redis.start):
        await to_thread(change)
        task = await to_thread(lambda: world.start(version))
        while task.name not in await told(open_):
            pass
    await open_.disconnect()
    assert [each for each in caplog.records if each.exc_info] == []
    await channel_layers["default"].flush()
    channel_layers.backends.clear()


async def to_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    wrapped: Callable[..., Awaitable[Any]] = sync_to_async(function)
    return await wrapped(*arguments)
