"""Starting tasks by their form."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Repository, Task
from tests.factories import World, document
from tests.pages.asking import ASKING
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def test_the_start_form_is_made_from_the_inputs_of_the_line(world: World, signed_in: As) -> None:
    version = world.line(ASKING)
    page = text(signed_in(world.operator).get(at(world, "task-new", version.line.key)))
    for words in ("Repository", "How often", "As 2026-11-30.", "fast", 'value="main"'):
        assert words in page


def test_a_task_is_started_by_the_form_and_its_page_opens(world: World, signed_in: As) -> None:
    version, first = world.line(ASKING), world.start(world.line(key="other"))
    answer = signed_in(world.operator).post(
        at(world, "task-new", version.line.key),
        {
            "title": "Check it",
            "inputs.repository": "https://example.com/app.git",
            "inputs.times": "3",
            "inputs.kind": "fast",
            "labels": "one, two ,,",
            "priority": "high",
            "due_at": "2026-12-31T17:00",
            "depends_on": f"{first.name}, ",
        },
    )
    task = Task.objects.get(title="Check it")
    assert answer.headers["Location"] == at(world, "task", task.name)
    assert task.inputs == {
        "repository": "https://example.com/app.git",
        "revision": "main",
        "times": 3,
        "kind": "fast",
    }
    assert (task.labels, task.priority, task.requester) == (["one", "two"], "high", world.operator)
    assert f"{task.due_at:%Y-%m-%d %H:%M %Z}" == "2026-12-31 17:00 UTC"
    assert world.status(task) == "held"
    page = text(signed_in(world.operator).get(at(world, "task", task.name)))
    assert "Depends on" in page and "Release" in page
    assert "Needed by" in text(signed_in(world.operator).get(at(world, "task", first.name)))


def test_each_showing_of_the_form_starts_one_task(world: World, signed_in: As) -> None:
    """A second click sends the same once more; another title is another request."""
    version, blocked = world.line(), world.start(world.line(key="other"))
    client, here = signed_in(world.operator), at(world, "task-new", version.line.key)
    page = text(client.get(here, {"blocks": blocked.name}))
    [key] = re.findall(r'name="request_key" value="(\w+)"', page)
    form = {"title": "Check it", "request_key": key, "blocks": blocked.name}
    first, again = client.post(here, form), client.post(here, form)
    task = Task.objects.get(title="Check it")
    assert first["Location"] == again["Location"] == at(world, "task", task.name)
    assert [row.on for row in blocked.depends_on.all()] == [task]
    # What was refused can be put right and sent again
    odd = form | {"due_at": "soon"}
    assert [client.post(here, odd).status_code for _ in range(2)] == [422, 422]
    assert client.post(here, form | {"title": "Check that"}).status_code == 302
    assert Task.objects.filter(line=version.line).count() == 2


def test_a_title_that_is_left_as_it_is_follows_what_is_filled_in(world: World, signed_in: As) -> None:
    fields = [
        {"key": "app", "label": "App", "default": "web"},
        {"key": "strict", "type": "yes_no", "default": True},
    ]
    address = at(world, "task-new", world.line(key="checks", name="Check", inputs=fields).line.key)
    client = signed_in(world.operator)
    page = text(client.get(address))
    assert page.count('value="Check: web"') == 2
    assert "checked" in page
    sent = {"title": "Check: web", "default_title": "Check: web", "inputs.app": "api"}
    client.post(address, sent)
    task = Task.objects.get()
    assert task.title == "Check: api"
    assert task.inputs == {"app": "api", "strict": False}
    client.post(address, {**sent, "title": " ", "inputs.app": "worker"})
    assert Task.objects.latest("pk").title == "Check: worker"
    client.post(address, {**sent, "title": "My own", "inputs.strict": "on"})
    task = Task.objects.latest("pk")
    assert (task.title, task.inputs["strict"]) == ("My own", True)


def test_a_form_with_faults_comes_back_with_them_and_with_what_was_typed(world: World, signed_in: As) -> None:
    version = world.line(ASKING)
    answer = signed_in(world.operator).post(
        at(world, "task-new", version.line.key),
        {"title": "", "inputs.times": "many", "inputs.on": "tomorrow", "description": "Kept <b>text</b>"},
    )
    assert answer.status_code == 422
    page = text(answer)
    for words in ("Title is required.", "Repository is required.", "How often has to be a number.", "many",
                  "On has to be a date like", "Kept &lt;b&gt;text"):  # fmt: skip
        assert words in page
    assert not Task.objects.exists()


@pytest.mark.smoke(5)
@pytest.mark.parametrize(
    "given",
    [
        {"title": "a\0b"},
        {"title": "x" * 400},
        {"title": "t", "priority": "urgent"},
        {"title": "t", "labels": "y" * 500},
        {"title": "t", "inputs.repository": "--upload-pack=x"},
        {"title": "t", "inputs.times": "1e999"},
        {"title": "t", "inputs.times": "9" * 5000},
        {"title": "t", "inputs.times": "NaN"},
        {"title": "t", "inputs.times": "٣"},
        {"title": "t", "inputs.kind": "medium"},
        {"title": "t", "inputs.on": "2026-02-30"},
        {"title": "t", "due_at": "2026-02-30T10:00"},
        {"title": "t", "due_at": "tomorrow"},
        {"title": "t", "depends_on": "WI-app-99"},
    ],
)
def test_nonsense_in_the_form_is_a_form_with_faults(
    world: World, signed_in: As, given: dict[str, str]
) -> None:
    version = world.line(ASKING)
    filled = {"inputs.repository": "https://example.com/app.git", **given}
    answer = signed_in(world.operator).post(at(world, "task-new", version.line.key), filled)
    assert answer.status_code in (302, 422)
    if "times" not in str(given):
        assert answer.status_code == 422


def test_with_one_line_new_task_leads_straight_to_its_form(world: World, signed_in: As) -> None:
    version = world.line(ASKING)
    client = signed_in(world.operator)
    assert client.get(at(world, "task-new-choose")).headers["Location"] == at(
        world, "task-new", version.line.key
    )
    world.line(document(key="other"))
    assert "Choose a line" in text(client.get(at(world, "task-new-choose")))


def in_a_repository(world: World) -> str:
    said = {"key": "repository", "type": "repository", "label": "Repository", "required": True}
    workspace = {"git": {"repository": "input.repository"}}
    return world.line(name="Fix", inputs=[said], workspace=workspace).line.key


def connected(world: World, name: str) -> str:
    address = f"https://git.example.com/team/{name}.git"
    Repository.objects.create(project=world.project, name=name, address=address, connected_at=timezone.now())
    return address


@pytest.mark.wide
def test_a_connected_repository_is_chosen_in_place_of_a_typed_address(world: World, signed_in: As) -> None:
    address = at(world, "task-new", in_a_repository(world))
    page = text(signed_in(world.operator).get(address))
    assert (
        "An admin connects one under Settings › Repositories." in page
        and "<select" not in page.split("Desc")[0]
    )
    assert at(world, "project-repositories") in text(signed_in(world.admin).get(address))
    app = connected(world, "app")
    client = signed_in(world.operator)
    page = text(client.get(address))
    assert f'<option value="{app}" selected> app · {app} </option>' in page
    assert page.count('value="Fix: app"') == 2, "the only one there is needs no choosing"
    shop = connected(world, "shop")
    page = text(client.get(address))
    assert f'<option value="{shop}" > shop' in page and "selected> app" not in page
    client.post(address, {"title": "Fix it", "inputs.repository": shop})
    assert Task.objects.get().inputs == {"repository": shop}


def test_a_repository_that_is_not_connected_is_refused(world: World, signed_in: As) -> None:
    address = at(world, "task-new", in_a_repository(world))
    sent = {"title": "Fix it", "inputs.repository": "https://git.example.com/other.git"}
    client = signed_in(world.operator)
    answer = client.post(address, sent)
    assert answer.status_code == 422 and "Repository is not connected to this project." in text(answer)
    assert not Task.objects.exists()
    app = connected(world, "app")
    client.post(address, {**sent, "inputs.repository": "app"})
    assert Task.objects.get().inputs == {"repository": app}, "its name is understood, too"


def test_new_task_on_a_page_of_a_line_knows_the_line(world: World, signed_in: As) -> None:
    line = world.line(key="release").line
    world.line(key="other")
    client, address = signed_in(world.operator), at(world, "task-new", line.key)
    for page in ("line", "line-live", "line-tasks"):
        shown = text(client.get(at(world, page, line.key)))
        assert f'href="{address}" data-hotkey="n"' in shown, page
    assert address not in text(client.get(at(world, "tasks"))).partition('data-hotkey="n"')[0]


def test_home_starts_a_task_with_what_the_form_holds(world: World, signed_in: As) -> None:
    version = world.line(inputs=[{"key": "branch", "default": "main"}, {"key": "why", "required": True}])
    client, address = signed_in(world.operator), at(world, "task-new", version.line.key)
    assert client.post(address, {"at_once": "yes"}).status_code == 422, "the form asks for what is missing"
    version = world.line(key="whole", inputs=[{"key": "branch", "default": "main"}])
    answer = client.post(at(world, "task-new", "whole"), {"at_once": "yes"})
    assert answer.headers["Location"] == reverse("home")
    assert Task.objects.get().inputs == {"branch": "main"}
