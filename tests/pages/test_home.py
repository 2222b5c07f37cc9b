"""Home: what happened today with its reasons, and each task in one panel about its reader."""

from __future__ import annotations

import pytest
from django.urls import reverse

from pipelines import engine
from pipelines.models import User
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
    for words in ("5 started", "1 completed", "2 failed", "1 cancelled", "2 moves"):
        assert words in today, words
    assert "ruff found &lt;12&gt; problems." in today
    assert ">not_a_repository</code>" in today
    assert "Not needed any more." in today
    assert "Release › ship" in today, "where it is now"
    order = [today.index(f">{title}<") for title in ("Stopped", "Going on", "Mute", "Bad", "Ok")]
    assert order == sorted(order), "newest first, each task once"


def test_nothing_of_another_project_and_no_zero_is_told(world: World, signed_in: As) -> None:
    world.start(world.line(stations=["build"]), title="Secret plan")
    page = text(signed_in(world.stranger).get(reverse("home")))
    assert "Secret plan" not in page
    assert "Nothing happened in the last 24 hours." in page
    today = panel(text(signed_in(world.viewer).get(reverse("home"))), "today")
    assert "1 started" in today and "failed" not in today and "0 moves" not in today


def test_publications_are_told_to_designers(world: World, signed_in: As) -> None:
    world.line(stations=["build"], key="release")
    link = at(world, "line-version", "release", 1)
    assert link in panel(text(signed_in(world.designer).get(reverse("home"))), "today")
    assert link not in text(signed_in(world.operator).get(reverse("home")))


def test_open_tasks_are_counted_by_status_each_with_its_filter(world: World, signed_in: As) -> None:
    version = world.line(**gated())
    for _ in range(2):
        world.start(version)
    world.report(world.start(version))
    client = signed_in(world.viewer)
    page = text(client.get(reverse("home")))
    counts = page.partition('aria-label="Open tasks"')[2].partition("</nav>")[0]
    assert "<b>2</b> Queued" in counts and "<b>1</b> Waiting for review" in counts
    assert "Running" not in counts
    address = f"{reverse('tasks-everywhere')}?status=awaiting_review"
    assert address in counts
    assert text(client.get(address)).count("Waiting for review") > 1


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
    assert "Open inbox (1)" in mine
    theirs = people_of(world, world.viewer, signed_in)
    assert "Raise the limit" in panel(theirs, "troubled"), (
        "a viewer cannot free it, and sees that it is stuck"
    )
    assert "No rule of weigh took this outcome." in panel(theirs, "troubled")
    assert 'id="requested"' not in theirs, "a viewer requests nothing"
