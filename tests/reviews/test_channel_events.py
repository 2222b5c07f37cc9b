"""Channels tell of what fails, is stuck, late or merged without further choice, and of more by filter."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines import engine
from pipelines.models import AdministrativeAct, Project, Task
from pipelines.ports.observers import HealthBreached, emit_consequences
from pipelines.work.scheduler import timers
from reviews.channels.channel import ChannelUnavailable
from reviews.channels.message_delivery import send_message_unless_sent_or_skipped
from reviews.channels.topics import BY_KEY
from reviews.models import ChannelConnection, ChannelMessage
from tests.factories import World, make_world, station
from tests.reviews.conftest import gated
from tests.reviews.test_channels import HOSTILE, Chat, at, chat, connect, deliver, tickets
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["chat"]


FAILED = {"result": "failure"}


def line_of(world: World, key: str = "plain") -> Any:
    """A line of two stations; where the first fails, the task does."""
    rules = [
        {"id": "on", "when": {"result": "success"}, "to": "next"},
        {"id": "no", "when": {"result": "failure"}, "to": "failed"},
    ]
    stations = [station("make", *rules), station("next", {"id": "end", "to": "completed"})]
    return world.line(key=key, stations=stations)


def sticking_line(world: World) -> Any:
    """A line whose task is stuck where nothing is put out."""
    has_number = {"output": {"path": "n", "op": "gt", "value": 9}}
    rule = {"id": "big", "when": has_number, "to": "completed"}
    return world.line(key="sticking", stations=[station("make", rule)], policy={"no_match": "stuck"})


def topics_of(connection_row: ChannelConnection) -> list[str]:
    return list(connection_row.messages.order_by("pk").values_list("topic", flat=True))


def sent(chat_server: Chat) -> list[dict[str, Any]]:
    return [document for _path, document in chat_server.calls]


def test_a_failure_is_told_without_further_choice(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook")
    task = world.start(line_of(world), title=HOSTILE)
    world.report(task, FAILED)
    assert topics_of(hook) == ["failed"] and tickets() == 1
    deliver()
    [document] = sent(chat)
    assert document["type"] == "task.failed"
    assert document["data"]["task"] == task.name and document["data"]["summary"].startswith("Failed at ")
    assert document["data"]["link"].endswith(f"/{task.name}/") or task.name in document["data"]["link"]
    assert "\u202e" not in document["data"]["title"]


def test_stuck_is_told_with_its_reason_unless_it_went_on(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook")
    task = world.start(sticking_line(world))
    world.report(task)
    assert world.status(task) == "stuck" and topics_of(hook) == ["stuck"]
    deliver()
    [document] = sent(chat)
    assert document["type"] == "task.stuck" and document["data"]["summary"].startswith("Stuck at ")
    other = world.start(task.pinned)
    world.report(other)
    engine.cancel(other.pk, actor=engine.ENGINE)
    deliver()
    assert len(sent(chat)) == 1
    assert hook.messages.latest("pk").state == "skipped"


def test_late_is_told_once(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook")
    due = timezone.now() + timedelta(hours=1)
    world.start(line_of(world), due_at=due)
    for _ in range(2):
        timers.run_due_timers_and_triggers(now=due + timedelta(seconds=1))
    assert topics_of(hook) == ["late"]
    deliver()
    assert sent(chat)[0]["data"]["summary"] == "Late: its due time has passed"


def test_late_is_not_told_of_what_has_ended_or_was_decided(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook", topics=["late"])
    due = timezone.now() + timedelta(hours=5)
    task = world.start(line_of(world), due_at=due)
    version = world.line(**gated(due={"after": "4h"}))
    reviewed = [world.start(version) for _ in range(2)]
    for each in reviewed:
        world.report(each)
    timers.run_due_timers_and_triggers(now=due + timedelta(seconds=1))
    assert topics_of(hook) == ["late"] * 3
    engine.cancel(task.pk, actor=engine.ENGINE)
    world.vote(reviewed[0])
    deliver()
    assert [document["data"]["task"] for document in sent(chat)] == [reviewed[1].name]
    assert sent(chat)[0]["data"]["summary"] == "Late: a review is overdue"


def test_an_escalation_is_not_told_of_once_it_is_resolved(world: World, chat: Chat) -> None:
    connect(world, chat, "webhook", topics=["escalated"])
    tasks = [world.start(line_of(world, key)) for key in ("one", "two")]
    for each in tasks:
        engine.escalate(each.pk, user=world.operator, trigger="architecture", reason="Too large")
    engine.cancel(tasks[0].pk, actor=engine.ENGINE)
    deliver()
    assert [document["data"]["task"] for document in sent(chat)] == [tasks[1].name]


def test_what_completes_without_a_change_is_not_merged(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook")
    task = world.start(line_of(world))
    for _station in range(2):
        world.report(task)
    deliver()
    assert topics_of(hook) == ["merged"] and sent(chat) == []
    assert hook.messages.get().state == "skipped"


def test_the_others_are_told_by_choice(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook", topics=["started", "moved", "decided", "published", "escalated"])
    task = world.start(line_of(world))
    world.report(task)
    world.report(task)
    reviewed = world.start(world.line(**gated()))
    world.report(reviewed, {"result": "success"})
    world.vote(reviewed)
    escalated = world.start(task.pinned)
    engine.escalate(escalated.pk, user=world.operator, trigger="architecture", reason="Too large")
    assert topics_of(hook).count("started") == 3 and topics_of(hook).count("published") == 2
    assert {"moved", "decided", "escalated"} <= {*topics_of(hook)} and "waiting" not in topics_of(hook)
    deliver()
    types = {document["type"] for document in sent(chat)}
    assert types == {"line.published", "task.started", "task.moved", "task.decided", "task.escalated"}
    moved = next(document for document in sent(chat) if document["type"] == "task.moved")
    assert " → " in moved["data"]["summary"]


def test_health_is_told_by_choice(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook", topics=["health"])
    now = timezone.now()
    for person in (world.admin, world.designer):
        emit_consequences(
            HealthBreached("queue", "Queue", "12", "10", "Add a runner.", world.project.pk, person.pk, now)
        )
    assert topics_of(hook) == ["health"]
    deliver()
    assert sent(chat)[0]["data"]["summary"] == "Queue: 12, over the limit of 10. Add a runner."


def test_without_waiting_no_review_is_told(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook", topics=["failed"])
    task = world.start(world.line(**gated()))
    world.report(task, {"result": "success"})
    assert hook.messages.count() == 0


def test_a_channel_of_another_project_hears_nothing(world: World, chat: Chat) -> None:
    foreign = make_world()
    hook = connect(foreign, chat, "webhook", topics=list(BY_KEY))
    disabled = connect(world, chat, "webhook", topics=list(BY_KEY), enabled=False)
    world.report(world.start(line_of(world)), FAILED)
    assert hook.messages.count() == disabled.messages.count() == 0


@pytest.mark.smoke(1)
@pytest.mark.parametrize(("kind", "thread"), [("slack", "thread_ts"), ("mattermost", "root_id")])
def test_the_messages_of_a_task_are_one_thread(world: World, chat: Chat, kind: str, thread: str) -> None:
    connect(world, chat, kind, topics=["started", "failed"])
    task = world.start(line_of(world))
    deliver()
    world.report(task, FAILED)
    deliver()
    first, second = sent(chat)
    assert thread not in first and second[thread] in ("17.5", "post1")


def test_what_is_sent_again_later_begins_no_thread(world: World, chat: Chat) -> None:
    """Mattermost takes a reply for no root of a thread."""
    channel = connect(world, chat, "mattermost", topics=["started", "moved", "escalated"])
    chat.refuse = 400
    task = world.start(line_of(world))
    deliver()
    chat.refuse = 0
    world.report(task)
    deliver()
    channel.messages.filter(topic="moved").update(ref="root")
    letter = channel.messages.get(topic="started")
    as_(world.admin).post(at(world, "channel-again", letter.pk))
    deliver()
    channel.messages.filter(topic="started").update(ref="reply")
    engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Too large")
    deliver()
    assert [document.get("root_id") for document in sent(chat)] == [None, None, "root", "root"]


def test_what_fails_is_tried_again_and_listed(world: World, chat: Chat) -> None:
    hook = connect(world, chat, "webhook")
    world.report(world.start(line_of(world)), FAILED)
    chat.refuse = 503
    with pytest.raises(ChannelUnavailable):
        deliver()
    page = as_(world.admin).get(at(world, "project-channels")).content.decode()
    assert "Not sent" in page and "answered 503" in page and Task.objects.get().name in page
    chat.refuse = 0
    send_message_unless_sent_or_skipped(hook.messages.get().pk)
    message = ChannelMessage.objects.get()
    assert (message.state, message.attempts) == ("sent", 2)
    page = as_(world.admin).get(at(world, "project-channels")).content.decode()
    assert "after 2 tries" in page and "Latest messages" in page


def test_a_test_is_sent_when_it_is_saved(world: World, chat: Chat) -> None:
    admin, here = as_(world.admin), at(world, "project-channels")
    form = {"kind": "slack", "address": f"{chat.server.url}/api", "room": "reviews", "secret": "xoxb-1"}
    page = admin.post(here, form | {"name": "Good"}, follow=True).content.decode()
    assert "Connected. Slack accepted a test." in page and sent(chat)[0]["text"] == "A test from Gateline"
    assert (
        "Slack accepted a message" in page and "Connect another channel" in page and "Bot token" not in page
    )
    page = admin.post(here, form | {"name": "Bad", "secret": "xoxb-2"}, follow=True).content.decode()
    assert "Connected, but the test was not sent. Slack answered invalid_auth." in page
    assert "Not sent" in page and "No message was accepted yet." in page
    assert "Bot token" in admin.get(f"{here}?kind=slack").content.decode()
    assert [row.topics for row in ChannelConnection.objects.all()] == [
        ["waiting", "failed", "stuck", "late", "merged"]
    ] * 2


def test_what_it_tells_is_chosen_and_changed(world: World, chat: Chat) -> None:
    admin, here = as_(world.admin), at(world, "project-channels")
    form = {"kind": "teams", "name": "T", "address": f"{chat.server.url}/x", "choice": "yes"}
    admin.post(here, form | {"topics": ["moved", "failed", "nothing"]})
    channel = ChannelConnection.objects.get()
    assert channel.topics == ["failed", "moved"]
    assert "Tells: failed, moved" in " ".join(admin.get(here).content.decode().split())
    change = at(world, "channel-change", channel.pk)
    admin.post(change, {"choice": "yes", "topics": "late"})
    assert ChannelConnection.objects.get().topics == ["late"]
    admin.post(change, {"choice": "yes"})
    assert ChannelConnection.objects.get().topics == []
    assert AdministrativeAct.objects.filter(kind="channel.changed").count() == 2
    stranger = make_world()
    assert as_(stranger.admin).post(change, {"choice": "yes", "topics": "late"}).status_code in (403, 404)
    assert ChannelConnection.objects.get().topics == []


def test_a_move_takes_as_many_statements_for_few_channels_as_for_many(world: World, chat: Chat) -> None:
    version, counts = line_of(world), []
    for number in (1, 10):
        while Project.objects.get(pk=world.project.pk).channels.count() < number:
            connect(world, chat, "webhook", name=f"hook {world.project.channels.count()}")
        job = world.started(world.start(version))
        with CaptureQueriesContext(connection) as statements:
            engine.report([world.report_of(job, FAILED)])
        counts.append(len(statements))
    assert counts[0] == counts[1]
