"""Who is told of what behind the bell, what they see of it, and what becomes of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string

from pipelines import engine
from pipelines.lines import comments
from pipelines.models import Agent, Delivery, Due, Membership, Repository, Role, Task, User
from pipelines.people import departures, invitations, members
from pipelines.templatetags.gateline import icon
from pipelines.work.scheduler import timers
from reviews.models import Notification
from reviews.notifications import notification_queries, retention
from reviews.notifications.table import BY_KEY, KINDS
from tests.factories import World, make_member, station
from tests.pages.conftest import As, signed_in
from tests.reviews.conftest import gated

__all__ = ["signed_in"]

pytestmark = pytest.mark.django_db


def told(user: User, kind: str = "") -> list[str]:
    """What this person reads behind the bell, of one kind or all."""
    return [
        each.wording.text
        for each in notification_queries.latest_bell_notifications(user, unread=True, limit=99)
        if kind in ("", each.row.kind)
    ]


def test_a_review_waits_for_everybody_whose_word_would_count(world: World) -> None:
    also = make_member(world.project, Role.REVIEWER)
    others = [world.operator, world.viewer]
    task = world.start(world.line(**gated()), title="Add login", by=world.reviewer)
    world.report(task)
    for person in (also, world.admin):
        assert told(person) == ["“Add login” waits for your review: Release review."]
    assert [told(person) for person in others] == [[], []]
    assert told(world.reviewer, "review") == []  # who requested it is barred


def test_a_member_whom_the_gate_names_is_told_although_their_word_does_not_count(world: World) -> None:
    task = world.start(world.line(**gated(notify=[world.viewer.email.upper()])))
    world.report(task)
    assert len(told(world.viewer, "review")) == 1


def test_a_review_that_was_decided_waits_for_nobody(world: World, waiting: Task) -> None:
    assert told(world.admin, "review")
    world.vote(waiting, by=world.reviewer)
    assert told(world.admin, "review") == []


def test_who_has_voted_is_asked_no_more_although_others_are(world: World, signed_in: As) -> None:
    two = {"who": [{"role": "reviewer", "count": 2}]}
    task = world.start(world.line(**gated(approval=two)), by=world.operator)
    reviewer = world.reviewer
    world.report(task)
    visit = world.visit(task)
    form = {"word": "approve", "token_version": visit.token_version, "evidence_digest": visit.evidence_digest}
    assert signed_in(reviewer).post(reverse("gate-decide", args=[visit.pk]), form).status_code == 302
    assert (told(reviewer), len(told(world.admin))) == ([], 1)


def test_who_may_decide_is_told_when_it_is_overdue(world: World) -> None:
    assert world.reviewer
    task = world.start(world.line(**gated(due={"after": "1h"}, notify=[])), title="Add login")
    world.report(task)
    Due.objects.filter(task=task).update(due_at=timezone.now())
    timers.run_due_timers_and_triggers()
    assert "The review of “Add login” is overdue." in told(world.reviewer)


@pytest.mark.parametrize(
    ("outcome", "kind", "text"),
    [
        ({"result": "success"}, "completed", "“A task” is completed."),
        ({"result": "failure"}, "failed", "“A task” failed."),
    ],
)
def test_the_requester_is_told_how_a_task_ended(
    world: World, outcome: dict[str, Any], kind: str, text: str
) -> None:
    worse = {"id": "worse", "when": {"result": "failure"}, "to": "failed"}
    task = world.start(world.line(stations=[station("build", worse, {"id": "on", "to": "completed"})]))
    world.report(task, outcome)
    assert told(world.operator, kind) == [text]
    assert told(world.admin) == []


def test_the_requester_is_told_where_a_task_is_blocked_each_time(world: World) -> None:
    asked = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which colour?"}}
    task = world.start(world.line(stations=["build"]))
    world.report(task, {"result": "success", "signals": [asked]})
    assert told(world.operator, "waiting") == ["“A task” is blocked at build."]


def test_who_is_responsible_is_told_of_an_escalation(world: World) -> None:
    assert world.admin.email
    task = world.start(world.line(), title="Add login")
    engine.escalate(task.pk, user=world.operator, trigger="security", reason="A key.")
    assert told(world.admin, "escalation") == ["“Add login” was escalated to you."]
    (shown,) = [
        each
        for each in notification_queries.latest_bell_notifications(world.admin, unread=True, limit=9)
        if each.row.kind == "escalation"
    ]
    assert shown.address.endswith(f"#escalation-{task.escalated.get().pk}")
    engine.resolve_escalation(task.escalated.get().pk, user=world.admin, word="go_on", reason="Read it.")
    shown.row.refresh_from_db()
    assert shown.row.read_at, "resolved: it waits for nobody any more"


def test_who_is_named_in_a_comment_is_told_once_and_strangers_never(world: World) -> None:
    line = world.line(stations=["build"]).line
    named = world.operator
    text = f"@{named.username.upper()}: look, and @{world.stranger.username}, @nobody, {named.username}@example.com."
    row = comments.write_comment(line, world.designer, text, timezone.now(), kind="station", key="build")
    assert told(named, "mention") == [f"{world.designer} mentioned you in a comment on the line {line.name}."]
    (shown,) = [
        each
        for each in notification_queries.latest_bell_notifications(named, unread=True, limit=9)
        if each.row.kind == "mention"
    ]
    assert shown.address.endswith("/draw/#station=build&tab=comments")
    assert shown.wording.facts == [("Comment", text)]
    comments.edit_comment(
        line, row.pk, world.designer, text + f" And @{world.viewer.username}.", 1, timezone.now()
    )
    assert len(told(named, "mention")) == 1
    assert len(told(world.viewer, "mention")) == 1
    assert told(world.stranger, "mention") == told(world.designer, "mention") == []
    comments.write_comment(
        line, named, f"Mail {world.viewer.username}@example.com", timezone.now(), kind="line"
    )
    assert len(told(world.viewer, "mention")) == 1


def test_who_takes_an_agent_over_is_told(world: World) -> None:
    Agent.objects.create(project=world.project, key="coder", owner=world.operator, created_at=timezone.now())
    departures.remove_person(
        world.project, world.operator, heir=world.designer, by=world.admin, now=timezone.now()
    )
    assert told(world.designer) == ["You now own the agent coder."]


def test_who_invited_is_told_that_somebody_joined(world: World) -> None:
    (made,) = invitations.create_invitations(
        world.project, [], roles=[Role.VIEWER], execute=False, groups=(), by=world.admin, now=timezone.now()
    )
    invitations.accept_invitation(made, world.stranger, timezone.now())
    assert told(world.admin) == [f"{world.stranger} accepted your invitation to {world.project.name}."]


def test_a_member_is_told_of_roles_that_somebody_else_changed(world: World) -> None:
    member = Membership.objects.get(user=world.viewer)
    for by in (world.admin, world.viewer):
        roles = [Role.OPERATOR] if by == world.admin else [Role.VIEWER]
        members.change_member(world.project, member.pk, roles=roles, execute=False, by=by, now=timezone.now())
    assert told(world.viewer) == [f"Your roles in {world.project.name} are now: Operator."]
    members.add_member(
        world.project, world.stranger, roles=["viewer"], execute=False, by=None, now=timezone.now()
    )
    assert told(world.stranger) == [f"You are now a member of {world.project.name}: Viewer."]


def test_a_hold_by_somebody_else_and_a_failed_dependency_are_told_to_the_requester(world: World) -> None:
    version = world.line(stations=["build"])
    mine, own, first = (
        world.start(version, title=title, by=world.operator) for title in ("Add login", "Own", "First")
    )
    for task, by in ((mine, world.admin), (own, world.operator)):
        token = world.token(task)
        engine.hold(token.pk, user=by, token_version=token.version, reason="The contract is not signed.")
    [row] = Notification.objects.filter(kind="waiting")
    words = {
        "by": str(world.admin),
        "station": "build",
        "status": "held",
        "reason": "The contract is not signed.",
    }
    assert (row.user, row.data) == (world.operator, words), "who holds it themselves knows"
    assert told(world.operator, "waiting") == [f"{world.admin} put “Add login” on hold at build."]
    after = world.start(version, title="Second", by=world.operator, depends_on=[first.name])
    assert len(told(world.operator, "waiting")) == 1, "it goes on by itself"
    world.report(first, {"result": "failure"})
    timers.run_due_timers_and_triggers()
    assert world.status(after) == "held"
    assert f"“Second” waits for {first.name}, which did not complete." in told(world.operator, "waiting")


def test_nothing_of_a_project_that_one_has_left(world: World, waiting: Task, signed_in: As) -> None:
    client = signed_in(world.admin)
    row = Notification.objects.get(user=world.admin)
    assert "Add login" in client.get(reverse("notifications")).content.decode()
    Membership.objects.filter(user=world.admin).delete()
    assert "Add login" not in client.get(reverse("notifications")).content.decode()
    assert client.get(reverse("notifications"), {"fragment": "count"}).content == b""
    assert client.get(reverse("notification", args=[row.pk])).status_code == 404
    client.post(reverse("notifications-read"), {"notification": row.pk})
    row.refresh_from_db()
    assert row.read_at is None


def test_each_leads_to_what_it_speaks_of_and_is_read_then(world: World, waiting: Task, signed_in: As) -> None:
    client = signed_in(world.admin)
    row = Notification.objects.get(user=world.admin)
    response = client.get(reverse("notification", args=[row.pk]))
    assert response.headers["Location"] == reverse("gate-visit", args=[world.visit(waiting).pk])
    assert told(world.admin) == []


def test_one_is_marked_as_read_or_all(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    version = world.line(**gated())
    for title in ("One", "Two", "Three"):
        world.report(world.start(version, title=title))
    one = Notification.objects.filter(user=world.admin).earliest("pk")
    bell = client.post(
        reverse("notifications-read"), {"notification": one.pk}, headers={"HX-Request": "true"}
    )
    assert bell.headers["HX-Trigger"] == "gl:notified"
    assert "One" not in bell.content.decode() and "Two" in bell.content.decode()
    assert client.get(reverse("notifications"), {"fragment": "count"}).content.strip() == b"2"
    client.post(reverse("notifications-read"))
    assert told(world.admin) == []
    page = client.get(reverse("notifications")).content.decode()
    assert "One" in page and "Three" in page and "Mark all as read" not in page


def test_nobody_reads_what_others_are_told(world: World, waiting: Task, signed_in: As) -> None:
    row = Notification.objects.get(user=world.admin)
    client = signed_in(world.operator)
    assert client.get(reverse("notification", args=[row.pk])).status_code == 404
    client.post(reverse("notifications-read"), {"notification": row.pk})
    assert told(world.admin)


def test_a_title_is_text(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    world.report(world.start(world.line(**gated()), title="<script>alert(1)</script>"))
    for fragment in ({}, {"fragment": "bell"}):
        page = client.get(reverse("notifications"), fragment).content.decode()
        assert "<script>alert" not in page and "&lt;script&gt;alert" in page


@pytest.mark.wide
def test_as_many_statements_however_many_there_are(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    version = world.line(**gated())
    world.report(world.start(version))
    counts = []
    for more in (0, 8):
        for _ in range(more):
            world.report(world.start(version))
        for query in ({}, {"fragment": "bell"}, {"fragment": "count"}):
            with CaptureQueriesContext(connection) as seen:
                client.get(reverse("notifications"), query)
            counts.append(len(seen))
    assert counts[:3] == counts[3:]
    assert counts[1] <= 4 and counts[2] <= 4, counts


def test_a_member_more_costs_the_move_no_statement(world: World) -> None:
    version = world.line(**gated())
    counts = []
    for _ in range(2):
        task = world.start(version)
        report = world.report_of(world.started(task))
        with CaptureQueriesContext(connection) as seen:
            engine.report([report])
        counts.append(len(seen))
        world.reviewers(5)
    assert counts[0] == counts[1]


def test_old_ones_go(world: World, waiting: Task, settings: Any) -> None:
    now = timezone.now()
    later = now + timedelta(days=settings.NOTIFICATION_DAYS + 1)
    assert retention.delete_batch_of_expired_notifications(now) == 0
    settings.NOTIFICATION_DAYS, days = 0, settings.NOTIFICATION_DAYS
    assert retention.delete_batch_of_expired_notifications(later) == 0
    settings.NOTIFICATION_DAYS = days
    assert "reviews.notifications.retention.delete_batch_of_expired_notifications" in settings.EXPIRES
    assert [import_string(path)(now) for path in settings.EXPIRES] == [0] * len(settings.EXPIRES)
    assert retention.delete_batch_of_expired_notifications(later) > 0
    assert not Notification.objects.exists()


def test_every_kind_is_in_the_table_once() -> None:
    assert len(BY_KEY) == len(KINDS)


def test_every_kind_has_an_icon_that_pages_can_draw() -> None:
    assert [icon(kind.icon) for kind in KINDS if "<svg" not in icon(kind.icon)] == []


@pytest.fixture
def waiting(world: World) -> Task:
    """A task of the operator that awaits review; the administrator is there."""
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    return task


def test_a_station_that_fails_tells_nobody_before_the_task_ends(world: World) -> None:
    line = world.line(
        stations=[station("build", {"id": "again", "when": {"result": "failure"}, "to": "fix"}), "fix"]
    )
    task = world.start(line)
    world.report(task, {"result": "failure"})
    assert told(world.operator) == []


@pytest.mark.broken
def test_who_approved_is_told_as_what_it_was_merged(world: World) -> None:
    """Nothing said so: after the decision people looked for the commit on the pages of the task."""
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    repository = Repository.objects.create(
        project=world.project, name="app", address="/no", connected_at=timezone.now()
    )
    visit = world.visit(task)
    now = timezone.now()
    Delivery.objects.create(
        job=visit.job, task=task, repository=repository, repository_name="app", visit=visit, to="merge",
        branch="main", base="a" * 40, tree="b" * 40, commit="1234567" + "c" * 33, cleared_at=now, landed_at=now,
    )  # fmt: skip
    world.vote(task, by=world.reviewer)
    world.report(task)
    task.refresh_from_db()
    assert task.status == "completed"
    assert told(world.reviewer, "merged") == ["“Add login”, which you approved: Merged as 1234567."]
    (shown,) = [
        each
        for each in notification_queries.latest_bell_notifications(world.reviewer, unread=True, limit=9)
        if each.row.kind == "merged"
    ]
    assert shown.address.endswith(f"{task.name}/#delivered")
    assert [told(person, "merged") for person in (world.admin, world.operator)] == [[], []]
