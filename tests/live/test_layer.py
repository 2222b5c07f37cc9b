"""Our channel layer between two processes; here two instances, which know each other only through PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from pipelines.web.live.layer import HINTS, MOST, RESYNC, MessageTooLarge, Parcel, PostgresLayer
from tests.waiting import LONG, eventually, let_others_run

pytestmark = pytest.mark.django_db(transaction=True)
TOPIC = "gateline_live_test"


@pytest.fixture
def here() -> Iterator[PostgresLayer]:
    layer = PostgresLayer(topic=TOPIC, capacity=5)
    yield layer
    layer.close()


@pytest.fixture
def there() -> Iterator[PostgresLayer]:
    layer = PostgresLayer(topic=TOPIC)
    yield layer
    layer.close()


async def next_of(layer: PostgresLayer, channel: str) -> dict[str, Any]:
    return await asyncio.wait_for(layer.receive(channel), LONG)


async def member(layer: PostgresLayer, group: str) -> str:
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    assert await asyncio.to_thread(layer.wait_until_listening_or_timeout, LONG)
    return channel


async def test_a_message_reaches_the_members_of_its_group_in_another_process(
    here: PostgresLayer, there: PostgresLayer
) -> None:
    channel = await member(here, "project.1")
    await there.group_send("project.1", {"type": "note", "n": 1})
    assert await next_of(here, channel) == {"type": "note", "n": 1}


async def test_a_message_reaches_its_own_process_once(here: PostgresLayer, there: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    await here.group_send("project.1", {"type": "note", "n": 1})
    await here.group_send("project.1", {"type": "note", "n": 2})
    assert [(await here.receive(channel))["n"] for _ in range(2)] == [1, 2]
    # What the notice of PostgreSQL brought back would come before what another process sends afterwards.
    assert await asyncio.to_thread(here.wait_until_sent, LONG)
    await there.group_send("project.1", {"type": "note", "n": 3})
    assert (await next_of(here, channel))["n"] == 3


async def test_other_groups_hear_nothing(here: PostgresLayer, there: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    await there.group_send("project.2", {"type": "note", "n": 1})
    await there.group_send("project.1", {"type": "note", "n": 2})
    assert (await next_of(here, channel))["n"] == 2


async def test_a_channel_that_left_hears_nothing(here: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    await here.group_discard("project.1", channel)
    await here.group_send("project.1", {"type": "note", "n": 1})
    await here.group_add("project.1", channel)
    await here.group_send("project.1", {"type": "note", "n": 2})
    assert (await next_of(here, channel))["n"] == 2


async def test_a_consumer_that_ended_leaves_nothing_behind(here: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    waiting = asyncio.create_task(here.receive(channel))
    await let_others_run()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not here._mailboxes and not here._groups


@pytest.mark.wide
async def test_a_full_mailbox_becomes_one_resync(here: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    for n in range(9):
        await here.group_send("project.1", {"type": "note", "n": n})
    await let_others_run()
    assert await next_of(here, channel) == RESYNC


def hinted(*rows: tuple[int, str, int]) -> dict[str, Any]:
    return {"type": HINTS, "hints": list(rows)}


async def test_hints_that_wait_become_one_message_with_the_last_version_of_each_task(
    here: PostgresLayer,
) -> None:
    channel = await member(here, "project.1")
    sent = [hinted((1, "WI-a-1", 3)), hinted((1, "WI-a-2", 1)), hinted((1, "WI-a-1", 4), (2, "WI-a-1", 1))]
    for message in [*sent, {"type": "note"}, hinted((1, "WI-a-2", 2))]:
        await here.group_send("project.1", message)
    assert await next_of(here, channel) == hinted((1, "WI-a-1", 4), (1, "WI-a-2", 1), (2, "WI-a-1", 1))
    assert await next_of(here, channel) == {"type": "note"}
    assert await next_of(here, channel) == hinted((1, "WI-a-2", 2))
    assert sent[0] == hinted((1, "WI-a-1", 3)), "a message belongs to all channels of its group"


async def test_many_more_tasks_than_a_page_shows_become_a_resync(here: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    for number in range(0, MOST + 100, 50):
        rows = [(1, f"WI-a-{number + one}", 1) for one in range(50)]
        here._deliver(Parcel("elsewhere", "project.1", hinted(*rows)))
    assert await next_of(here, channel) == RESYNC


async def test_a_lost_connection_is_made_again_and_then_everybody_is_told_to_resync(
    here: PostgresLayer, there: PostgresLayer
) -> None:
    channel = await member(here, "project.1")
    await sync_to_async(end_connections_called)("gateline-listen")
    assert await next_of(here, channel) == RESYNC
    await there.group_send("project.1", {"type": "note", "n": 1})
    assert (await next_of(here, channel))["n"] == 1


async def test_what_was_sent_while_the_connection_was_lost_arrives_afterwards(
    here: PostgresLayer, there: PostgresLayer
) -> None:
    channel = await member(here, "project.1")
    await there.group_send("project.1", {"type": "note", "n": 1})
    assert (await next_of(here, channel))["n"] == 1
    await sync_to_async(end_connections_called)("gateline-notify")
    await there.group_send("project.1", {"type": "note", "n": 2})
    assert (await next_of(here, channel))["n"] == 2


@pytest.mark.wide
async def test_many_messages_go_in_few_transactions(here: PostgresLayer, there: PostgresLayer) -> None:
    channel = await member(here, "project.1")
    here.capacity = 1000
    await there.group_send("project.1", {"type": "note", "n": -1})
    assert await asyncio.to_thread(there.wait_until_sent, LONG)
    before = await sync_to_async(commits)()
    assert there._notifier
    with there._notifier._work:  # while it is held up, as by a slow transaction, they gather
        for n in range(300):
            await there.group_send(f"project.{n % 7}", {"type": "note", "n": n})
    assert await asyncio.to_thread(there.wait_until_sent, LONG)
    await eventually(lambda: here._mailboxes[channel]._waiting)
    assert await sync_to_async(commits)() - before < 100


async def test_a_message_of_8000_bytes_is_refused(here: PostgresLayer) -> None:
    with pytest.raises(MessageTooLarge):
        await here.group_send("project.1", {"type": "note", "text": "x" * 8000})


def end_connections_called(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = %s AND datname = current_database()",
            [name],
        )
        assert cursor.fetchone()[0] >= 1


def commits() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
