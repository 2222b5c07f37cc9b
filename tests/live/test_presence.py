"""Who has a canvas open: told to the others within moments, and forgotten however they went."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.utils import timezone

from pipelines.lines import comments, publishing
from pipelines.models import Line, Membership, User
from pipelines.web.live import hints, presence
from tests.factories import World, document
from tests.live.conftest import session_of
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)
Enter = Callable[..., Awaitable[WebsocketCommunicator]]
Knock = Callable[..., WebsocketCommunicator]
BUILD = {"kind": "station", "key": "build"}


@pytest.fixture
async def line(world: World) -> Line:
    return await sync_to_async(
        lambda: publishing.create_line(world.project, "drawn", "Drawn", document(key="drawn"), world.designer)
    )()


async def person(world: World, role: str) -> User:
    return await sync_to_async(lambda: getattr(world, role))()


@pytest.fixture
def no_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says again what was said: what is heard was said at once."""
    monkeypatch.setattr(presence, "EVERY", 10 * LONG)


@pytest.fixture
def draw(world: World, line: Line, enter: Enter) -> Callable[[str], Awaitable[WebsocketCommunicator]]:
    """The socket of a canvas that somebody of this role opened."""

    async def opened(role: str) -> WebsocketCommunicator:
        return await enter(world.project, await person(world, role), line="drawn", draw="1")

    return opened


Draw = Callable[[str], Awaitable[WebsocketCommunicator]]


async def say(socket: WebsocketCommunicator, chosen: Any = None, *, away: bool = False) -> None:
    await socket.send_to(text_data=json.dumps({"here": {"chosen": chosen, "away": away}}))


async def heard(socket: WebsocketCommunicator, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The first message of which it is true; others are passed over."""
    async with asyncio.timeout(LONG):
        while True:
            message: dict[str, Any] = await socket.receive_json_from(timeout=LONG)
            if true(message):
                return message


def of(user: User, **more: Any) -> Callable[[dict[str, Any]], bool]:
    return lambda message: (
        (here := message.get("here", {})).get("user") == user.pk and more.items() <= here.items()
    )


async def test_each_sees_the_other_and_what_is_chosen(world: World, draw: Draw) -> None:
    one, other = await draw("designer"), await draw("viewer")
    await say(one, BUILD)
    await heard(other, of(world.designer, chosen=BUILD))
    await say(other)
    await heard(one, of(world.viewer, chosen=None))
    await say(one, {"kind": "rule", "key": "on"})
    told = await heard(other, of(world.designer, chosen={"kind": "rule", "key": "on"}))
    assert set(told["here"]) == {"socket", "user", "chosen", "away"}
    for socket in (one, other):
        await socket.disconnect()


@pytest.mark.usefixtures("no_beats")
async def test_who_comes_later_is_told_at_once_who_is_there(world: World, draw: Draw) -> None:
    one = await draw("designer")
    await say(one, BUILD)
    other = await draw("viewer")
    await say(other)
    await heard(other, of(world.designer, chosen=BUILD))
    for socket in (one, other):
        await socket.disconnect()


@pytest.mark.usefixtures("no_beats")
async def test_who_leaves_is_gone_at_once(world: World, draw: Draw) -> None:
    one, other = await draw("designer"), await draw("viewer")
    await say(one)
    socket = (await heard(other, of(world.designer)))["here"]["socket"]
    await one.disconnect()
    await heard(other, lambda m: m.get("here") == {"socket": socket, "gone": True})
    await other.disconnect()


async def test_a_page_that_fell_silent_is_not_told_of_again_until_it_speaks() -> None:
    told: list[dict[str, Any]] = []
    now = [0.0]

    async def tell(message: dict[str, Any]) -> None:
        told.append(message)

    one = presence.Presence(7, tell, clock=lambda: now[0])
    await one.receive('{"here": {"chosen": null}}')
    told.clear()
    now[0] = presence.LOST + 0.1
    await one.announce()
    assert told == []
    await one.receive('{"here": {"chosen": null}}')
    assert [message["type"] for message in told] == ["live.here"]
    await one.receive('{"here": {"chosen": null, "away": true}}')
    told.clear()
    now[0] += 100
    await one.announce()
    assert [message["here"]["away"] for message in told] == [True]
    await one.leave()
    assert told[-1]["here"]["gone"]


async def test_a_flood_is_cut_and_the_last_word_is_said_with_the_next_beat() -> None:
    told: list[dict[str, Any]] = []

    async def tell(message: dict[str, Any]) -> None:
        told.append(message)

    one = presence.Presence(7, tell, clock=lambda: 1.0)
    for number in range(100):
        await one.receive(json.dumps({"here": {"chosen": {"kind": "station", "key": f"s{number}"}}}))
    assert len(told) <= presence.BURST + 1
    await one.leave()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "null",
        "{",
        '{"here": 1}',
        '{"here": {"chosen": "build"}}',
        '{"here": {"chosen": {"kind": "owner", "key": "x"}}}',
        '{"here": {"chosen": {"kind": "station"}}}',
        '{"here": {"chosen": {"kind": "station", "key": ""}}}',
        '{"here": {"chosen": {"kind": "station", "key": ["a"]}}}',
        json.dumps({"here": {"chosen": {"kind": "station", "key": "k" * 201}}}),
        json.dumps({"here": {"chosen": None}, "more": "x" * 1_000}),
        None,
    ],
)
def test_what_is_no_presence_is_ignored(said: str | None) -> None:
    assert presence.parse_presence_or_none(said) is None


async def test_other_lines_and_other_pages_of_the_project_are_not_told(
    world: World, line: Line, draw: Draw, enter: Enter
) -> None:
    other_line = await sync_to_async(
        lambda: publishing.create_line(world.project, "other", "Other", document(key="other"), world.designer)
    )()
    viewer = await person(world, "viewer")
    board = await enter(world.project, viewer, line="drawn")
    elsewhere = await enter(world.project, viewer, line="other", draw="1")
    one = await draw("designer")
    await say(one, BUILD)
    await say(board, BUILD)
    await heard(one, of(world.designer))
    await sync_to_async(lambda: world.start(publishing.publish_draft(line, user=world.admin, based_on=1)))()
    assert "here" not in await heard(board, lambda message: {"here", "hints"} & message.keys())
    changed = document(["build"], key="other")
    await sync_to_async(publishing.save_draft)(other_line, changed, world.designer, 1)
    assert "here" not in await heard(elsewhere, lambda message: {"here", "line"} & message.keys())
    for socket in (one, board):
        await socket.disconnect()


async def test_a_stranger_is_refused_and_who_loses_the_membership_is_gone(
    world: World, line: Line, draw: Draw, knock: Knock
) -> None:
    session = await sync_to_async(lambda: session_of(world.stranger))()
    accepted, _ = await knock(world.project, session, line="drawn", draw="1").connect(timeout=LONG)
    assert not accepted
    one, other = await draw("designer"), await draw("operator")
    await say(other, BUILD)
    socket = (await heard(one, of(world.operator)))["here"]["socket"]
    await sync_to_async(Membership.objects.filter(user=world.operator).delete)()
    await heard(one, lambda m: m.get("here") == {"socket": socket, "gone": True})
    await one.disconnect()


async def test_a_saved_draft_a_comment_and_a_version_are_hinted_to_the_canvas(
    world: World, line: Line, draw: Draw
) -> None:
    one = await draw("viewer")
    changed = document(["build"], key="drawn")
    await sync_to_async(publishing.save_draft)(line, changed, await person(world, "designer"), 1)
    await heard(one, lambda message: message == {"line": "draft", "number": 2})
    await sync_to_async(comments.write_comment)(line, world.designer, "Why?", timezone.now(), kind="line")
    await heard(one, lambda message: message == {"line": "comments", "number": 1})
    await sync_to_async(lambda: publishing.publish_draft(line, user=world.admin, based_on=2))()
    await heard(one, lambda message: message == {"line": "live", "number": 1})
    await one.disconnect()


async def test_a_lost_hint_of_a_draft_is_healed(
    world: World, line: Line, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await draw("viewer")
    monkeypatch.setattr(hints.sender, "put", lambda lost: None)
    changed = document(["build"], key="drawn")
    await sync_to_async(publishing.save_draft)(line, changed, await person(world, "designer"), 1)
    await heard(one, lambda message: message == {"line": "draft", "number": 2})
    await one.disconnect()
