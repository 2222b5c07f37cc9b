"""Sockets: who may open one, what it tells, and when it ends (house §4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.contrib.sessions.models import Session
from django.db import transaction

from pipelines.models import LineVersion, Membership, Role, Task, User
from pipelines.ports.observers import Hint, PersonHint
from pipelines.web.live import hint_repair, hints
from pipelines.web.live.consumer import NO_LONGER, TRY_AGAIN
from pipelines.web.live.hints import project_group_name
from tests.factories import World, make_member, make_project, make_user
from tests.live.conftest import hints as told
from tests.live.conftest import session_of
from tests.waiting import LONG

pytestmark = pytest.mark.django_db(transaction=True)
Knock = Callable[..., WebsocketCommunicator]
Enter = Callable[..., Awaitable[WebsocketCommunicator]]


async def refused(socket: WebsocketCommunicator) -> bool:
    accepted, _ = await socket.connect(timeout=LONG)
    return not accepted


async def test_a_signed_out_socket_is_refused_before_it_is_accepted(world: World, knock: Knock) -> None:
    assert await refused(knock(world.project))


async def test_a_strangers_socket_is_refused_before_it_is_accepted(world: World, knock: Knock) -> None:
    session = await sync_to_async(lambda: session_of(world.stranger))()
    assert await refused(knock(world.project, session))


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9999", "http://[", "null", ""])
async def test_a_socket_of_another_origin_is_refused(world: World, knock: Knock, origin: str) -> None:
    session = await sync_to_async(lambda: session_of(world.viewer))()
    assert await refused(knock(world.project, session, origin=origin))


@pytest.mark.parametrize(
    "query",
    [
        {"project": ""},
        {"project": "acme"},
        {"project": "acme/nothing"},
        {"project": "a/b/c"},
        {"project": "acme/\0"},
        {"project": "x" * 5000 + "/y"},
        {"line": "nothing"},
        {"task": "WI-x-1"},
        {"task": "WI-app-99999999999999999999999999"},
    ],
)
async def test_a_socket_for_what_is_not_there_is_refused(
    world: World, knock: Knock, query: dict[str, str]
) -> None:
    session = await sync_to_async(lambda: session_of(world.viewer))()
    assert not await refused(knock(world.project, session))
    more = {name: value for name, value in query.items() if name != "project"}
    assert await refused(knock(query.get("project", world.project), session, **more))


async def test_a_socket_at_another_address_is_refused(world: World, knock: Knock) -> None:
    session = await sync_to_async(lambda: session_of(world.viewer))()
    socket = knock(world.project, session)
    socket.scope["path"] = "/elsewhere/"
    assert await refused(socket)


@pytest.mark.parametrize("odd", [{"type": "live.line"}, {"type": "live.hints"}], ids=lambda odd: odd["type"])
async def test_a_message_that_fails_costs_a_snapshot_and_not_what_comes_after_it(
    world: World, enter: Enter, odd: dict[str, str]
) -> None:
    """Such as one of a process of another version."""
    version = await sync_to_async(world.line)()
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)())
    await get_channel_layer().group_send(project_group_name(world.project.pk), odd)
    assert await socket.receive_json_from(timeout=LONG) == {"resync": True}
    task = await sync_to_async(world.start)(version)
    assert await told(socket) == {task.name: 1}
    await socket.disconnect()


async def test_a_member_is_told_the_task_and_its_version_after_the_commit(world: World, enter: Enter) -> None:
    version = await sync_to_async(world.line)()
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)())
    task = await sync_to_async(world.start)(version)
    assert await told(socket) == {task.name: 1}
    await sync_to_async(world.report)(task)
    seen = 1
    while seen < await sync_to_async(lambda: Task.objects.get(pk=task.pk).seq)():
        seen = (await told(socket))[task.name]
    await socket.disconnect()


async def test_news_behind_the_bell_is_told_to_its_person_alone(world: World, enter: Enter) -> None:
    there = [await sync_to_async(getattr)(world, role) for role in ("stranger", "viewer")]
    members = Membership.objects.select_related("project__owner")
    elsewhere = (await sync_to_async(members.get)(user=there[0])).project
    stranger, viewer = await enter(elsewhere, there[0]), await enter(world.project, there[1])
    hints.push_hints([PersonHint(there[0].pk)])
    assert await stranger.receive_json_from(timeout=LONG) == {"notified": True}
    # What the viewer hears first is what comes after it.
    hints.push_hints([PersonHint(there[1].pk)])
    assert await viewer.receive_json_from(timeout=LONG) == {"notified": True}
    hints.push_hints([Hint(world.project.pk, 1, "WI-app-1", 1)])
    assert await told(viewer) == {"WI-app-1": 1}
    for socket in (stranger, viewer):
        await socket.disconnect()


async def test_nothing_is_told_of_a_transaction_that_is_rolled_back(world: World, enter: Enter) -> None:
    version = await sync_to_async(world.line)()
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)())
    await sync_to_async(lambda: world.operator)()  # who is there before, and stays

    def begin_and_roll_back() -> None:
        with transaction.atomic():
            world.start(version)
            transaction.set_rollback(True)

    await sync_to_async(begin_and_roll_back)()
    later = await sync_to_async(world.start)(version)
    assert await told(socket) == {later.name: 1}
    await socket.disconnect()


async def test_a_socket_of_one_line_hears_nothing_of_another(world: World, enter: Enter) -> None:
    one = await sync_to_async(lambda: world.line(key="one"))()
    other = await sync_to_async(lambda: world.line(key="other"))()
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)(), line="one")
    await sync_to_async(world.start)(other)
    mine = await sync_to_async(world.start)(one)
    assert set(await told(socket)) == {mine.name}
    await socket.disconnect()


async def test_a_socket_of_one_task_hears_nothing_of_another(world: World, enter: Enter) -> None:
    version = await sync_to_async(world.line)()
    mine = await sync_to_async(world.start)(version)
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)(), task=mine.name)
    await sync_to_async(world.start)(version)
    await sync_to_async(world.report)(mine)
    assert set(await told(socket)) == {mine.name}
    await socket.disconnect()


async def test_a_socket_of_all_projects_hears_of_each_that_its_person_sees(
    world: World, enter: Enter
) -> None:
    """Home and Tasks with several projects in view; two tasks of one name are told apart."""

    def prepare() -> tuple[User, World, list[LineVersion], LineVersion]:
        other = World(make_project(world.project.key, "another"), world.worker)
        strange = World(make_project("strange"), world.worker)
        person = make_member(world.project, Role.VIEWER)
        Membership.objects.create(project=other.project, user=person, roles=[Role.VIEWER])
        return person, other, [world.line(), other.line()], strange.line()

    person, other, lines, strange = await sync_to_async(prepare)()
    await sync_to_async(lambda: (world.operator, other.operator))()
    socket = await enter("*", person)
    await sync_to_async(World(strange.line.project, world.worker).start)(strange)
    for place, line in zip((world, other), lines, strict=True):
        task = await sync_to_async(place.start)(line)
        message = await socket.receive_json_from(timeout=LONG)
        assert message == {"hints": [{"task": task.name, "version": 1, "of": line.line_id}]}
    await sync_to_async(Membership.objects.filter(user=person, project=other.project).delete)()
    assert await ended(socket) == TRY_AGAIN, "it comes back, and hears of what is left"
    again = await enter("*", person)
    await sync_to_async(Membership.objects.filter(user=person).delete)()
    assert await ended(again) == NO_LONGER


async def test_who_sees_no_project_has_no_socket_of_all(world: World, knock: Knock) -> None:
    session = await sync_to_async(lambda: session_of(make_user("nobody")))()
    assert await refused(knock("*", session))
    assert await refused(knock("*"))
    assert await refused(knock("*", await sync_to_async(lambda: session_of(world.viewer))(), line="x"))


async def test_a_lost_hint_is_healed_by_a_look_at_the_database(
    world: World, enter: Enter, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = await sync_to_async(world.line)()
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)())
    monkeypatch.setattr(hints.sender, "put", lambda lost: None)
    task = await sync_to_async(world.start)(version)
    assert await told(socket) == {task.name: 1}
    await socket.disconnect()


async def test_a_layer_that_forgot_everything_has_pages_fetch_and_tells_them_again(
    world: World, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the look at the database, which tells nothing here."""
    version = await sync_to_async(world.line)()
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)())
    monkeypatch.setattr(hint_repair.HintRepair, "_lost_tasks", lambda self, changed: [])
    await get_channel_layer().flush()
    assert await socket.receive_json_from(timeout=LONG) == {"resync": True}
    task = await sync_to_async(world.start)(version)
    assert await told(socket) == {task.name: 1}
    await socket.disconnect()


def test_a_hint_that_is_on_its_way_is_not_sent_again() -> None:
    """What a look finds first waits for the next look; what arrives in between was not lost."""
    healer = hint_repair.HintRepair()
    one, other = (hint_repair.ChangedTask(1, 1, name, 1) for name in ("WI-a-1", "WI-a-2"))
    again = hint_repair.ChangedTask(1, 1, "WI-a-2", 2)
    assert healer._lost_tasks([one, other]) == []
    healer.note_sent_versions([(1, "WI-a-1", 1)])
    assert healer._lost_tasks([one, again]) == [again]
    healer.note_sent_versions([(1, "WI-a-2", 2)])
    assert healer._lost_tasks([one, again]) == []


@pytest.mark.wide
async def test_healing_asks_once_for_all_sockets_of_the_process(
    world: World, enter: Enter, django_assert_num_queries: Callable[..., object]
) -> None:
    version = await sync_to_async(world.line)()
    await sync_to_async(world.start)(version)
    viewers = [await sync_to_async(lambda: world.viewer)(), await sync_to_async(lambda: world.operator)()]
    sockets = [await enter(world.project, viewer) for viewer in viewers * 3]
    subscriptions = {socket.subscription for socket in hint_repair.healer._sockets}
    now, _ = await sync_to_async(hint_repair.now_and_changed_tasks)({world.project.pk}, None)

    def look() -> None:
        with django_assert_num_queries(1):  # type: ignore[attr-defined]
            hint_repair.now_and_changed_tasks({world.project.pk}, now - hint_repair.OVERLAP)
        with django_assert_num_queries(3):  # type: ignore[attr-defined]
            hint_repair.subscription_check(subscriptions)

    await sync_to_async(look)()
    for socket in sockets:
        await socket.disconnect()


def test_who_may_still_see_is_asked_every_two_seconds() -> None:
    """As docs/live.md says; the product promises five."""
    assert hint_repair.EVERY * hint_repair.SEATS_EVERY <= 2


async def test_losing_the_membership_ends_the_socket(world: World, enter: Enter) -> None:
    viewer = await sync_to_async(lambda: world.viewer)()
    socket = await enter(world.project, viewer)
    await sync_to_async(Membership.objects.filter(user=viewer).delete)()
    assert await ended(socket) == NO_LONGER


async def test_signing_out_ends_the_socket(world: World, enter: Enter) -> None:
    viewer = await sync_to_async(lambda: world.viewer)()
    socket = await enter(world.project, viewer)
    await sync_to_async(Session.objects.all().delete)()
    assert await ended(socket) == NO_LONGER


async def test_a_changed_password_ends_the_socket(world: World, enter: Enter) -> None:
    viewer = await sync_to_async(lambda: world.viewer)()
    socket = await enter(world.project, viewer)

    def change() -> None:
        viewer.set_password("another one")
        viewer.save()

    await sync_to_async(change)()
    assert await ended(socket) == NO_LONGER


async def test_whoever_is_dismissed_hears_no_more_hints(world: World, enter: Enter) -> None:
    version = await sync_to_async(world.line)()
    viewer = await sync_to_async(lambda: world.viewer)()
    socket = await enter(world.project, viewer)
    another = await enter(world.project, await sync_to_async(lambda: world.operator)())
    await sync_to_async(Membership.objects.filter(user=viewer).delete)()
    assert await ended(socket) == NO_LONGER
    task = await sync_to_async(world.start)(version)
    assert await told(another) == {task.name: 1}
    assert socket.output_queue.empty()
    await another.disconnect()


async def test_what_a_client_says_is_ignored(world: World, enter: Enter) -> None:
    socket = await enter(world.project, await sync_to_async(lambda: world.viewer)())
    await socket.send_to(text_data='{"project": "other/elsewhere"}')
    await socket.send_to(bytes_data=b"\x00\xff")
    task = await sync_to_async(lambda: world.start(world.line()))()
    assert await told(socket) == {task.name: 1}
    await socket.disconnect()


async def ended(socket: WebsocketCommunicator) -> int:
    """The code with which the server closes the socket."""
    while True:
        message = await socket.receive_output(timeout=LONG)
        if message["type"] == "websocket.close":
            return int(message["code"])


def test_hints_of_one_task_are_merged_to_the_newest() -> None:
    sender = hints.HintSender()
    sender._thread = object()  # type: ignore[assignment]  # nothing is sent
    sender.put(
        [Hint(1, 1, "WI-a-7", 2), Hint(1, 1, "WI-a-7", 4), Hint(1, 1, "WI-a-7", 3), Hint(1, 1, "WI-a-8", 1)]
    )
    assert [(hint.task, hint.seq) for hint in sender._pending.values()] == [("WI-a-7", 4), ("WI-a-8", 1)]
