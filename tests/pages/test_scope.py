"""Home, Inbox and Tasks over all of a person's projects; the switcher narrows them, and the address says so."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.models import Escalation, GateVisit, Line, Membership, Role, Task, Token, User
from tests.factories import World, make_project, make_user, make_world, station
from tests.pages.conftest import As, at, text
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
PAGES = ("home", "needs-me", "tasks-everywhere")


def joined(user: User, *worlds: World, role: str = Role.ADMIN) -> User:
    for world in worlds:
        Membership.objects.create(project=world.project, user=user, roles=[role])
    return user


def waiting(world: World, title: str) -> Task:
    """A task that needs a reviewer, beside one of the same title that is queued."""
    version = world.line(**gated())
    world.start(version, title=title)
    task = world.start(version, title=title)
    world.report(task)
    return task


@pytest.fixture
def worlds(world: World) -> tuple[World, World]:
    return world, make_world()


@pytest.fixture
def person(worlds: tuple[World, World]) -> User:
    return joined(make_user("both"), *worlds)


def parts(client: Client, **query: str) -> str:
    """All that the three pages show: Home asks the inbox for what needs its reader."""
    inbox = {"fragment": "first", **query}
    return "".join(
        [text(client.get(reverse(name), query)) for name in PAGES]
        + [text(client.get(reverse("needs-me"), inbox))]
    )


@pytest.mark.wide
def test_all_of_my_projects_are_shown_each_row_with_its_own(
    worlds: tuple[World, World], person: User, signed_in: As
) -> None:
    one, other = worlds
    waiting(one, "Raise the limit")
    waiting(other, "Translate invoices")
    waiting(strange := make_world(), "Nobody else knows")
    client = signed_in(person)
    for name in PAGES:
        query = {"fragment": "first"} if name == "needs-me" else {}
        page = text(client.get(reverse(name), query))
        assert "Raise the limit" in page and "Translate invoices" in page, name
        assert one.project.name in page and other.project.name in page, name
        assert text(client.get(reverse(name))).count('data-live-project="*"') == 1, "it renews itself"
    assert "Nobody else knows" not in parts(client)
    assert strange.project.name not in parts(client)
    assert text(client.get(reverse("needs-count"))).strip() == "2"


@pytest.mark.wide
def test_the_switcher_narrows_them_and_the_sidebar_keeps_it(
    worlds: tuple[World, World], person: User, signed_in: As
) -> None:
    one, other = worlds
    waiting(one, "Raise the limit")
    waiting(other, "Translate invoices")
    client, chosen = signed_in(person), str(other.project)
    shown = parts(client, project=chosen)
    assert "Translate invoices" in shown and "Raise the limit" not in shown
    assert text(client.get(reverse("needs-count"), {"project": chosen})).strip() == "1"
    query = f"?project={chosen.replace('/', '%2F')}"
    for name in PAGES:
        page = text(client.get(reverse(name), {"project": chosen}))
        assert all(f'href="{reverse(to)}{query}"' in page for to in PAGES), name
        assert "All projects" in page
        assert f'href="{reverse(name)}?"' in page or f'href="{reverse(name)}"' in page
    page = text(client.get(at(other, "lines")))
    assert all(f'href="{reverse(to)}{query}"' in page for to in PAGES), "a project's own pages, too"


def test_a_project_that_is_not_mine_narrows_nothing_and_is_named_nowhere(
    worlds: tuple[World, World], person: User, signed_in: As
) -> None:
    waiting(worlds[0], "Raise the limit")
    strange = make_world()
    waiting(strange, "Nobody else knows")
    shown = parts(signed_in(person), project=str(strange.project))
    assert "Raise the limit" in shown and "Nobody else knows" not in shown
    assert strange.project.name not in shown


def test_who_has_one_project_sees_no_project_column(world: World, signed_in: As) -> None:
    waiting(world, "Raise the limit")
    page = text(signed_in(world.reviewer).get(reverse("tasks-everywhere")))
    assert "Raise the limit" in page and ">Project</th>" not in page
    assert f'href="{reverse("needs-me")}"' in page
    assert "All projects" not in page


def test_filters_of_the_table_keep_the_project(
    worlds: tuple[World, World], person: User, signed_in: As
) -> None:
    one, other = worlds
    waiting(one, "Raise the limit")
    waiting(other, "Raise the price")
    query = {"project": str(one.project), "q": "Raise"}
    client = signed_in(person)
    part = client.get(reverse("tasks-everywhere"), {**query, "fragment": "table"})
    assert "Raise the limit" in text(part) and "Raise the price" not in text(part)
    assert part.headers["HX-Replace-Url"].endswith(f"?project=acme%2F{one.project.key}&q=Raise")
    page = text(client.get(reverse("tasks-everywhere"), query))
    assert f'<input type="hidden" name="project" value="{one.project}">' in page


def test_a_review_keeps_the_list_and_the_project_beside_it(
    worlds: tuple[World, World], person: User, signed_in: As
) -> None:
    one, other = worlds
    first, second = waiting(one, "Raise the limit"), waiting(other, "Translate invoices")
    client, chosen = signed_in(person), f"project=acme%2F{one.project.key}"
    page = text(client.get(reverse("gate-visit", args=[one.visit(first).pk]) + f"?{chosen}"))
    assert "Raise the limit" in page and "Translate invoices" not in page
    assert f"{reverse('gate-decide', args=[one.visit(first).pk])}?{chosen}" in page
    beside = text(client.get(reverse("gate-visit", args=[other.visit(second).pk])))
    assert "Raise the limit" in beside and "Translate invoices" in beside


def test_a_new_task_is_started_on_a_line_of_any_project(
    worlds: tuple[World, World], person: User, signed_in: As
) -> None:
    one, other = worlds
    one.line(stations=["a"], key="first")
    other.line(stations=["a"], key="second")
    page = text(signed_in(person).get(reverse("task-new-everywhere")))
    assert at(one, "task-new", "first") in page and at(other, "task-new", "second") in page
    assert at(one, "task-new", "first") not in text(
        signed_in(other.operator).get(reverse("task-new-everywhere"))
    )


@pytest.mark.wide
@pytest.mark.broken
def test_statements_are_as_many_for_1_000_rows_and_for_20_projects(world: World, signed_in: As) -> None:
    """Rows are copied in the database, so the record does not tell them."""
    client = signed_in(joined(person := make_user("busy"), world))
    task, escalated = waiting(world, "Raise the limit"), escalation(world)
    copied(task, 9)
    few = statements(client)
    copied(task, 990)
    line = Line.objects.get(pk=task.line_id)
    lines = Line.objects.bulk_create(
        Line(**given(line, key=f"line{n}", name=f"Line {n}")) for n in range(200)
    )
    for each in lines[:20]:
        copied(task, 1, line=each)
    assert statements(client) == few
    for n in range(19):
        project = make_project(f"further{n}")
        Membership.objects.create(project=project, user=person, roles=[Role.ADMIN])
        copied(task, 1, project=project)
        (other,) = copied(escalated, 1, project=project)
        Escalation.objects.create(**given(Escalation.objects.get(task=escalated), pk=uuid4(), task=other))
    assert statements(client) == few
    assert max(few.values()) <= 25


def escalation(world: World) -> Task:
    rule = {"id": "on", "when": {"eval": {"op": "equals", "value": "never"}}, "to": "ship"}
    line = {"key": "heavy", "policy": {"no_match": "escalate"}}
    task = world.start(world.line(stations=[station("weigh", rule), "ship"], **line))
    world.report(task)
    return task


def statements(client: Client) -> dict[str, int]:
    pages = [(name, {}) for name in (*PAGES, "needs-count")]
    pages += [("needs-me", {"fragment": "first"}), ("home", {"fragment": "live"})]
    client.get(reverse("needs-count"))  # versions are parsed once per process
    found = {}
    for name, query in pages:
        with CaptureQueriesContext(connection) as asked:
            assert client.get(reverse(name), query).status_code == 200
        found[f"{name} {query}"] = len(asked)
    return found


def copied(task: Task, count: int, **values: object) -> list[Task]:
    """Rows like those of this task, where it waits."""
    token, visit = Token.objects.get(task=task), GateVisit.objects.filter(task=task).first()
    last = Task.objects.latest("number").number
    more = [{**values, "number": last + n + 1} for n in range(count)]
    tasks = Task.objects.bulk_create(Task(**given(task, **each)) for each in more)
    tokens = Token.objects.bulk_create(Token(**given(token, task=each)) for each in tasks)
    if visit:
        rows = (given(visit, pk=uuid4(), task=each.task, token=each) for each in tokens)
        GateVisit.objects.bulk_create(GateVisit(**row) for row in rows)
    return tasks


def given(row: Model, **values: object) -> dict[str, Any]:
    """What makes another row like this one."""
    kept = [
        field for field in row._meta.concrete_fields if field.name not in values and not field.primary_key
    ]
    return {field.attname: getattr(row, field.attname) for field in kept} | values
