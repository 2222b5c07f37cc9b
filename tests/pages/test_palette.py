"""What Ctrl+K finds: people and commands beside lines and tasks, each for those only who may."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines.models import Membership, Role, User
from tests.factories import World, make_member, make_project, make_user
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db


def options(client: Client, words: str, project: object = "") -> dict[str, str]:
    """Where each goes, or what it clicks, by its label."""
    page = text(client.get(reverse("palette"), {"q": words, "project": str(project)}))
    found = re.findall(r'<(?:a|li) class="option" ([^>]*)>.*?<span class="truncate">(.*?)</span>', page)
    return {label.strip(): _leads(attributes) for attributes, label in found}


def _leads(attributes: str) -> str:
    address, click = re.search(r'href="(.+?)"', attributes), re.search(r'data-click="(.+?)"', attributes)
    return address[1] if address else click[1] if click else ""


def test_people_of_my_projects_are_found_by_name_and_by_their_admins_by_address(
    world: World, signed_in: As
) -> None:
    person = make_user("grace", first_name="Grace", last_name="Hopper")
    member = Membership.objects.create(project=world.project, user=person, roles=[Role.VIEWER])
    beside = f"{at(world, 'project-settings')}#member-{member.pk}"
    for words in ("grace", "hopper gra"):
        assert options(signed_in(world.viewer), words)["Grace Hopper"] == beside
    own = at(world, "member-change", member.pk)
    for words in ("grace", "grace@example"):
        assert options(signed_in(world.admin), words)["Grace Hopper"] == own
    # Only admins see addresses, so nobody else finds them out bit by bit.
    assert "Grace Hopper" not in options(signed_in(world.viewer), "grace@example")
    assert f'id="member-{member.pk}"' in text(signed_in(world.viewer).get(at(world, "project-settings")))
    assert "Grace Hopper" not in options(signed_in(world.stranger), "grace")
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert "Grace Hopper" not in options(signed_in(world.viewer), "grace")


def test_a_person_of_several_projects_stands_once(world: World, signed_in: As) -> None:
    person = make_user("grace", first_name="Grace", last_name="Hopper")
    other = make_project("second")
    for project in (world.project, other):
        Membership.objects.create(project=project, user=person, roles=[Role.VIEWER])
    Membership.objects.create(project=other, user=world.viewer, roles=[Role.VIEWER])
    page = text(signed_in(world.viewer).get(reverse("palette"), {"q": "hopper"}))
    assert page.count("Grace Hopper") == 1
    assert f"{world.project.name}, {other.name}" in page


@pytest.mark.parametrize(
    ("role", "words", "may"),
    [
        ("viewer", "new task", False),
        ("operator", "new task", True),
        ("operator", "new line", False),
        ("designer", "new line", True),
        ("designer", "invite", False),
        ("admin", "invite", True),
        ("admin", "add member", True),
        ("designer", "audit log", False),
        ("viewer", "insights", True),
    ],
)
def test_commands_are_offered_to_those_who_may(
    world: World, signed_in: As, role: str, words: str, may: bool
) -> None:
    assert bool(options(signed_in(world.person(role)), words, world.project)) is may


@pytest.mark.wide
def test_commands_lead_where_they_are_done(world: World, signed_in: As) -> None:
    client, here = signed_in(world.admin), world.project
    assert options(client, "invite", here) == {"Invite people": at(world, "project-settings") + "#invite"}
    assert options(client, "log out", here) == {"Sign out": "#user-menu [data-sign-out]"}
    assert options(client, "dark", here) == {"Dark theme": "#user-menu [name=theme][value=dark]"}
    assert options(client, "unread", here) == {"Notifications": reverse("notifications")}
    assert options(client, "switch to", here) == {f"Switch to {here.name}": at(world, "lines")}
    assert options(client, "new task") == {"New task": reverse("task-new-everywhere")}
    assert options(client, "new task", "other/elsewhere") == options(client, "new task"), (
        "not a project of mine"
    )
    page = text(client.get(reverse("home")))
    assert "data-sign-out" in page and 'id="user-menu"' in page


@pytest.mark.wide
def test_statements_are_as_many_for_20_projects(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)

    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            options(client, "e", world.project)
        return len(found)

    before = asked()
    for n in range(19):
        project = make_project(f"more{n}")
        Membership.objects.create(project=project, user=world.admin, roles=[Role.ADMIN])
        make_member(project, Role.VIEWER, f"reader{n}")
    assert asked() == before <= 14
