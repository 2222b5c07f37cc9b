"""Home: what happened today with its reasons, and each task in one panel about its reader."""

from __future__ import annotations

import re
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines import engine
from pipelines.models import GateVisit, Job, LineVersion, Task, User
from pipelines.ports.terms import SHIPPED
from tests.factories import World, station
from tests.pages.conftest import As, at, text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


def panel(page: str, key: str) -> str:
    """One card, by its id."""
    return page.partition(f'id="{key}"')[2].partition("</section>")[0]


def people_of(world: World, user: User, signed_in: As) -> str:
    return text(signed_in(user).get(reverse("needs-me"), {"fragment": "first"}))


def test_today_tells_what_ran_with_counts_and_why_it_failed(world: World, signed_in: As) -> None:
    version = world.line(stations=["build", "ship"], key="release")
    done, broken, silent, going = (
        world.start(version, title=title) for title in ("Ok", "Bad", "Mute", "Going on")
    )
    world.report(done)
    world.report(done)
    world.report(broken, {"result": "failure", "summary": "ruff found <12> problems."})
    world.report(silent, {"result": "failure", "failure_type": "not_a_repository"})
    world.report(going)
    stopped = world.start(version, title="Stopped")
    engine.cancel(stopped.pk, actor=engine.Actor.person(world.operator), reason="Not needed any more.")
    today = panel(text(signed_in(world.viewer).get(reverse("home"))), "today")
    for words in ("5 started", "1 completed", "2 failed", "1 cancelled"):
        assert words in today, words
    assert "ruff found &lt;12&gt; problems." in today
    assert ">not_a_repository</code>" in today
    assert "Not needed any more." in today
    assert "Release › ship" in today, "where it is now"
    order = [today.index(f">{title}<") for title in ("Stopped", "Going on", "Mute", "Bad", "Ok")]
    assert order == sorted(order), "newest first, each task once"
    task = world.start(version, title=version.line.name)
    today = panel(text(signed_in(world.viewer).get(reverse("home"))), "today")
    own = today.partition(f">{task.name}<")[2].partition("</li>")[0]
    assert own.count(version.line.name) == 1, "a task that is called like its line names it once"


def test_nothing_of_another_project_and_no_zero_is_told(world: World, signed_in: As) -> None:
    world.start(world.line(stations=["build"]), title="Secret plan")
    page = text(signed_in(world.stranger).get(reverse("home")))
    assert "Secret plan" not in page
    assert "Nothing happened in the last 24 hours." in page
    today = panel(text(signed_in(world.viewer).get(reverse("home"))), "today")
    assert "1 started" in today and "failed" not in today


def test_publications_are_told_to_designers(world: World, signed_in: As) -> None:
    world.line(stations=["build"], key="release")
    link = at(world, "line-version", "release", 1)
    client = signed_in(world.designer)
    assert 'id="today"' not in text(client.get(reverse("home"))), "there is only the first task to be done"
    client.post(reverse("first-steps-dismiss"))
    assert link in panel(text(client.get(reverse("home"))), "today")
    LineVersion.objects.update(name=SHIPPED)
    assert link not in text(client.get(reverse("home"))), "nobody here published what came with the demo"
    assert link not in text(signed_in(world.operator).get(reverse("home")))


@pytest.mark.wide
def test_open_tasks_are_counted_by_status_each_with_its_filter(world: World, signed_in: As) -> None:
    version = world.line(**gated())
    for _ in range(2):
        world.start(version)
    world.report(world.start(version))
    client = signed_in(world.viewer)
    page = text(client.get(reverse("home")))
    counts = page.partition('aria-label="Tasks now"')[2].partition("</nav>")[0]
    assert "<b>2</b> queued" in counts and "<b>1</b> waiting" in counts and "1 for review" in counts
    assert "running" not in counts and "completed" not in counts, "what there is none of is absent"
    address = f"{reverse('tasks-everywhere')}?status=waiting"
    assert address in counts
    assert text(client.get(address)).count("Waiting for review") > 1
    assert "Queued</span>" not in text(client.get(f"{address}&fragment=table"))


@pytest.mark.wide
@pytest.mark.broken
def test_lines_tell_what_is_open_and_what_completed(world: World, signed_in: As) -> None:
    version = world.line(**gated())
    client = signed_in(world.viewer)

    def lines(**query: str) -> str:
        return panel(text(client.get(reverse("home"), query)), "lines")

    assert "Release" in lines() and not any(
        word in lines() for word in ("Running", "Completed", "Median", "<svg")
    )
    task = world.start(version)
    world.report(task)
    assert ">Waiting</th>" in lines() and ">Running</th>" not in lines()
    world.vote(task)
    world.report(task)
    task.refresh_from_db()
    fields = (field.attname for field in Task._meta.concrete_fields if not field.primary_key)
    kept, now = {name: getattr(task, name) for name in fields}, timezone.now()
    for days in (1, 3, 3, 20):
        ended = now - timedelta(days=days)
        times = {"created_at": ended - timedelta(minutes=30), "changed_at": ended, "ended_at": ended}
        Task.objects.create(**{**kept, **times, "number": task.number + Task.objects.count()})
    shown = lines(fragment="live")
    assert ">Completed</th>" in shown and "4 completed in 14 days" in shown and "30 min" in shown
    assert shown.count("day-bar-empty") == 11 and shown.count("day-bar-today") == 1
    assert ">Waiting</th>" not in shown


@pytest.mark.wide
@pytest.mark.broken
def test_needs_say_votes_and_time_left_and_only_the_next_is_amber(world: World, signed_in: As) -> None:
    first, second, third = (world.start(world.line(**gated()), title=title) for title in ("A", "B", "C"))
    for task, hours in ((first, -3), (second, 2), (third, 9)):
        world.report(task)
        GateVisit.objects.filter(task=task).update(due_at=timezone.now() + timedelta(hours=hours, minutes=5))
    page = people_of(world, world.reviewer, signed_in)
    needs = panel(page, "needs-you")
    assert needs.count("0 of 1 vote") == 3 and "3 reviews" in needs
    assert needs.count("Overdue 2 h") == 1 and needs.count("tone-danger strong") == 1
    assert needs.count("tone-attention strong") == 1 and needs.count("left</span>") == 2
    assert reverse("gate-visit", args=[world.visit(first).pk]) in needs.partition("Review next")[0]
    assert "1 overdue review is listed under Needs you." in panel(page, "troubled")
    theirs = people_of(world, world.viewer, signed_in)
    assert "Late" in panel(theirs, "troubled") and "Waits at Release review." in panel(theirs, "troubled")
    late = {"fragment": "table", "late": "yes"}
    assert text(signed_in(world.viewer).get(reverse("tasks-everywhere"), late)).count("WI-") >= 1
    assert "<b>1</b> late" in text(signed_in(world.viewer).get(reverse("home")))


def test_work_that_takes_longer_than_expected_is_late_here_as_on_the_board(
    world: World, signed_in: As
) -> None:
    slow = station("count", kind="command", work={"argv": ["true"]}, limits={"expected": "1m"})
    version = world.line(stations=[slow, "ship"], key="stock")
    hanging, quick = (world.start(version, title=title) for title in ("Main store", "Cellar"))
    for task, minutes in ((hanging, 5), (quick, 0)):
        begun = timezone.now() - timedelta(minutes=minutes)
        Job.objects.filter(pk=world.started(task).pk).update(started_at=begun)
    late = {"fragment": "table", "late": "yes"}
    for who, may_move in ((world.operator, True), (world.viewer, False)):
        client = signed_in(who)
        assert "<b>1</b> late" in text(client.get(reverse("home")))
        table = text(client.get(reverse("tasks-everywhere"), late))
        assert hanging.name in table and quick.name not in table
        people = people_of(world, who, signed_in)
        listed = panel(people, "needs-you" if may_move else "troubled")
        assert "Main store" in listed and "Late" in listed and "Cellar" not in listed
        assert ("Run again" in listed) == may_move, "whoever may run it again is asked to"
        assert not may_move or 'id="troubled"' not in people
        item = reverse("need-act", args=["late", world.token(hanging).pk])
        board = text(signed_in(who).get(at(world, "line-live", "stock")))
        assert board.count(item) == int(may_move)
    world.report(hanging)
    assert "late" not in text(signed_in(world.viewer).get(reverse("home"))).partition("Tasks now")[2][:2_000]


def test_newcomers_are_shown_first_steps_until_somebody_went_them(world: World, signed_in: As) -> None:
    version = world.line(stations=["build"], key="release")
    client = signed_in(world.operator)
    assert 'id="first-task"' in text(client.get(reverse("home")))
    world.report(world.start(version, by=world.designer))
    page = text(client.get(reverse("home")))
    assert 'id="first-task"' not in page and "First steps" in page, "what is wrong stands first from now on"


@pytest.mark.wide
def test_what_i_requested_shows_its_path(world: World, signed_in: As) -> None:
    version = world.line(**gated())
    task, other = (world.start(version, by=world.operator, title=title) for title in ("A", "B"))
    world.report(task)
    requested = panel(people_of(world, world.operator, signed_in), "requested")
    one, two = requested.split("<li>")[1:]
    assert other.name in one and "Step 1 of 4" in one and one.count("strip-step strip-here") == 1
    assert "Step 2 of 4" in two and two.count("strip-step strip-done") == 1, "built, and at its review"
    assert "<title>Release review</title>" in two and two.count("strip-step strip-ahead") == 2
    world.vote(task)
    again = panel(people_of(world, world.operator, signed_in), "requested").split("<li>")[2]
    assert "Step 3 of 4" in again and again.count("strip-step strip-done") == 2


def test_a_task_that_needs_me_is_not_listed_again(world: World, signed_in: As) -> None:
    stuck = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    version = world.line(
        stations=[station("weigh", stuck), "ship"], key="sticks", policy={"no_match": "stuck"}
    )
    task = world.start(version, by=world.operator, title="Raise the limit")
    world.report(task)
    other = world.start(version, by=world.operator, title="Translate invoices")
    mine = people_of(world, world.operator, signed_in)
    assert "Raise the limit" in panel(mine, "needs-you")
    assert "Raise the limit" not in panel(mine, "requested") + panel(mine, "troubled")
    assert other.name in panel(mine, "requested")
    assert "1 other" in mine and "Review next" not in mine
    theirs = people_of(world, world.viewer, signed_in)
    assert "Raise the limit" in panel(theirs, "troubled"), (
        "a viewer cannot free it, and sees that it is stuck"
    )
    assert "No rule of weigh took this outcome." in panel(theirs, "troubled")
    assert 'id="requested"' not in theirs, "a viewer requests nothing"


def test_a_panel_that_lists_eight_of_more_does_not_count_eight(world: World, signed_in: As) -> None:
    version = world.line(key="many", policy={"on_failure": "stuck"}, stations=["fetch", "ship"])
    for number in range(9):
        world.report(world.start(version, by=world.operator, title=f"Stuck {number}"), {"result": "failure"})
        world.start(version, by=world.operator, title=f"Queued {number}")
    troubled = panel(people_of(world, world.viewer, signed_in), "troubled")
    requested = panel(people_of(world, world.operator, signed_in), "requested")
    assert ("8+" in troubled, troubled.count("<li class=")) == (True, 8)
    assert ("8+" in requested, requested.count("<li>")) == (True, 8)


def test_what_is_wrong_stands_in_its_row(world: World, signed_in: As) -> None:
    """To who can help and to who only looks: stuck and blocked, each with its cause, and blocked beside its line."""
    version = world.line(key="feed", policy={"on_failure": "stuck"}, stations=["fetch", "ship"])
    world.report(world.start(version, title="One"), {"result": "failure", "summary": "The disk is full."})
    world.report(world.start(version, title="Two"), {"result": "blocked", "summary": "The van is full."})
    needs = panel(people_of(world, world.operator, signed_in), "needs-you")
    assert "Stuck: The disk is full." in needs and "Blocked: The van is full." in needs
    theirs = panel(people_of(world, world.viewer, signed_in), "troubled")
    assert "The disk is full." in theirs and "The van is full." in theirs
    lines = panel(text(signed_in(world.viewer).get(reverse("home"))), "lines")
    assert "1 blocked" in lines


def test_what_happened_yesterday_has_its_date_and_the_newest_stands_first(
    world: World, signed_in: As
) -> None:
    version = world.line(stations=["fetch"])
    tasks = [world.start(version, title=title) for title in ("Old", "Older", "New")]
    now = timezone.now()
    # A reader for whom it is noon, whenever this runs: the night is 13 hours ago
    world.viewer.time_zone = f"Etc/GMT{now.hour - 12:+d}"
    world.viewer.save()
    yesterday = now.astimezone(ZoneInfo(world.viewer.time_zone)) - timedelta(hours=13)
    for task, hours in zip(tasks, (13, 14, 0), strict=True):
        Task.objects.filter(pk=task.pk).update(changed_at=now - timedelta(hours=hours))
    today = panel(text(signed_in(world.viewer).get(reverse("home"))), "today")
    assert [today.index(f">{title}<") for title in ("New", "Old", "Older")] == sorted(
        today.index(f">{title}<") for title in ("New", "Old", "Older")
    )
    assert today.count(f"{yesterday:%A, {yesterday.day} %B}") == 1
    assert "today-day" not in today.partition(">New<")[0]


def test_each_task_that_needs_me_opens_itself_and_not_the_first_of_the_inbox(
    world: World, signed_in: As
) -> None:
    rule = {"id": "to-ok", "to": "completed", "when": {"result": "success"}}
    version = world.line(key="feed", policy={"on_failure": "stuck"}, stations=[station("fetch", rule)])
    for title in ("Older", "Newer"):
        world.report(world.start(version, title=title), {"result": "failure"})
    client = signed_in(world.operator)
    needs = client.get(reverse("needs-me"), {"fragment": "first"}).content.decode()
    links = re.findall(r'href="([^"]*/needs-me/stuck/[^"]*)"', needs)
    items = [client.get(link).content.decode().partition('class="need"')[2] for link in links]
    assert [re.findall("Older|Newer", item)[0] for item in items] == re.findall("Older|Newer", needs)
    assert len(items) == 2
