"""Whatever ends a socket, a process or a message: in the end each page shows what the database has.

A page here keeps what it was told, as versions by task: it subscribes, takes a snapshot, and takes another one
when it is told to or comes back. It never looks by itself."""

from __future__ import annotations

import json
import random
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from channels.layers import channel_layers
from django.conf import settings as current
from django.db import connection

from pipelines import engine
from pipelines.models import Project, Task
from pipelines.web.live import hints
from tests.factories import World
from tests.fixtures.site import Site, start_web, stop
from tests.live.conftest import session_of
from tests.live.plain_sockets import PlainSocket
from tests.live.redis_server import Redis, needs_redis
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
END_CONNECTIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name IN ('gateline-listen', 'gateline-notify')"""
Versions = dict[str, int]


def shown_by_database(project: Project) -> Versions:
    rows = Task.objects.filter(project=project).values_list("number", "seq")
    return {f"WI-{project.key}-{number}": seq for number, seq in rows}


@dataclass
class Page:
    address: str
    cookie: str
    project: Project
    shown: Versions = field(default_factory=dict)
    heard = starts = 0
    socket: PlainSocket | None = None

    def come_back(self) -> None:
        """Subscribe, and take a snapshot afterwards; at the next turn again where nobody answers."""
        try:
            self.socket = PlainSocket(self.address, self.cookie)
        except OSError:
            return
        self.starts += 1
        self.shown = shown_by_database(self.project)

    def cut(self) -> None:
        if self.socket is not None:
            self.socket.cut()
        self.socket = None

    def read(self) -> None:
        assert self.socket is not None
        try:
            texts = self.socket.texts()
        except OSError:
            self.cut()
            return
        for message in map(json.loads, texts):
            if message.get("resync"):
                self.shown = shown_by_database(self.project)
            for hint in message.get("hints", ()):
                self.heard += 1
                self.shown[hint["task"]] = max(hint["version"], self.shown.get(hint["task"], 0))


def turn(pages: Iterable[Page]) -> None:
    """Read all that has come; who is cut off comes back."""
    pages = list(pages)
    for page in pages:
        if page.socket is None:
            page.come_back()
    poll, of_file = select.poll(), {page.socket.fileno(): page for page in pages if page.socket is not None}
    for number in of_file:
        poll.register(number, select.POLLIN)
    for number, _event in poll.poll(0):
        of_file[number].read()


class Moves:
    """Tasks of a line of two stations, that begin and go to and fro."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world, self.chance = world, chance
        self.version = world.line(stations=["a", "b"])
        self.tasks = [world.start(self.version) for _ in range(5)]
        self.made = 0

    def one(self) -> None:
        self.made += 1
        if self.chance.random() < 0.05:
            self.tasks.append(self.world.start(self.version))
            return
        token = self.world.token(self.chance.choice(self.tasks))
        to = "b" if token.station == "a" else "a"
        engine.move_or_retry_by_hand(token.pk, user=self.world.operator, token_version=token.version, to=to)


@dataclass
class Troubles:
    """Of pages, of web processes and of the bus between them."""

    pages: list[Page]
    sites: list[Site]
    folder: Path
    chance: random.Random
    bus: dict[str, str]
    done: dict[str, int] = field(default_factory=dict)
    _turn: list[Callable[[], None]] = field(default_factory=list)

    def cut_some(self) -> None:
        for page in self.chance.sample(self.pages, 1 + len(self.pages) // 5):
            page.cut()

    def kill_web(self) -> None:
        """Without a goodbye, and another one in its place."""
        place = self.chance.randrange(len(self.sites))
        site = self.sites[place]
        site.process.kill()
        site.process.wait()
        self.sites[place] = start_web(self.folder, int(site.url.rpartition(":")[2]), **self.bus)

    def flush_bus(self) -> None:
        """What waits in it is lost, and so is who listens."""
        with connection.cursor() as cursor:
            cursor.execute(END_CONNECTIONS)

    def lose_hints(self) -> None:
        """Those that this process would send next."""
        with hints.sender._work:
            hints.sender._pending.clear()

    def one(self) -> None:
        """Each in its turn, in random order."""
        if not self._turn:
            acts = (self.cut_some, self.flush_bus, self.lose_hints, self.kill_web)
            self._turn = self.chance.sample(acts, len(acts))
        act = self._turn.pop()
        act()
        self.done[act.__name__] = self.done.get(act.__name__, 0) + 1


class RedisTroubles(Troubles):
    def flush_bus(self) -> None:
        from redis import Redis as Client  # noqa: PLC0415  # loaded where there is one

        with Client.from_url(self.bus["REDIS_URL"]) as client:
            client.flushall()
            client.client_kill_filter(_type="pubsub")


@contextmanager
def sites(folder: Path, count: int, **bus: str) -> Iterator[list[Site]]:
    found: list[Site] = []
    try:
        found += [start_web(folder, **bus) for _ in range(count)]
        yield found
    finally:
        for site in found:
            stop(site.process)


def held_against_database(
    world: World,
    folder: Path,
    make: Callable[..., Troubles],
    *,
    webs: int,
    count: int,
    enough: Callable[[Troubles], bool],
    every: int,
    **bus: str,
) -> Troubles:
    """Move tasks while things go wrong until it is `enough`; then compare each page with the database."""
    chance = random.Random(7)
    cookie = f"{current.SESSION_COOKIE_NAME}={session_of(world.viewer)}"
    with sites(folder, webs, **bus) as running:
        pages = [
            Page(
                f"{running[place % webs].url.replace('http', 'ws')}/live/?project={world.project}",
                cookie,
                world.project,
            )
            for place in range(count)
        ]
        moves, troubles = Moves(world, chance), make(pages, running, folder, chance, bus)
        turn(pages)
        while not enough(troubles):
            for _ in range(every):
                moves.one()
                turn(pages)
            troubles.one()

        def differing() -> list[tuple[str, Any]]:
            turn(pages)
            there = shown_by_database(world.project)
            return [
                (page.address, set(page.shown.items()) ^ set(there.items()))
                for page in pages
                if page.shown != there
            ]

        until(lambda: not differing(), lambda: f"missed after {troubles.done}: {differing()[:3]}")
        for page in pages:
            page.cut()
    print(
        f"{moves.made} moves, {sum(page.heard for page in pages)} deliveries to {count} pages, "
        f"{sum(page.starts for page in pages)} subscriptions, {troubles.done}, none missed for good"
    )
    return troubles


def test_each_page_shows_what_the_database_has_after_whatever_went_wrong(
    world: World, tmp_path: Path
) -> None:
    wanted = {"cut_some", "kill_web", "flush_bus", "lose_hints"}
    held_against_database(
        world,
        tmp_path,
        Troubles,
        webs=1,
        count=6,
        every=4,
        enough=lambda troubles: wanted <= set(troubles.done),
    )


@pytest.mark.soak
def test_of_100_000_deliveries_none_is_missed_for_good(world: World, tmp_path: Path) -> None:
    held_against_database(world, tmp_path, Troubles, webs=2, count=100, every=25, enough=told(100_000))


@pytest.mark.soak
@needs_redis
def test_of_100_000_deliveries_over_redis_none_is_missed_for_good(
    world: World, tmp_path: Path, redis: Redis, settings: Any
) -> None:
    redis.start()
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [redis.url], "prefix": "gateline"},
        }
    }
    channel_layers.backends.clear()
    held_against_database(
        world, tmp_path, RedisTroubles, webs=2, count=100, every=25, enough=told(100_000), REDIS_URL=redis.url
    )


def told(count: int) -> Callable[[Troubles], bool]:
    return lambda troubles: sum(page.heard for page in troubles.pages) >= count
