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
    # The first of a name: a page of the help may be called as the page that it is about.
    return {label.strip(): _leads(attributes) for attributes, label in reversed(found)}


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
        ("viewer", "New task", False),
        ("operator", "New task", True),
        ("operator", "New line", False),
        ("designer", "New line", True),
        ("designer", "Invite people", False),
        ("admin", "Invite people", True),
        ("designer", "Connect a repository", False),
        ("designer", "Audit log", False),
        ("viewer", "Insights", True),
    ],
)
def test_commands_are_offered_to_those_who_may(
    world: World, signed_in: As, role: str, words: str, may: bool
) -> None:
    client = signed_in(world.person(role))
    for project in (world.project, ""):
        assert (words in options(client, words, project)) is (may and (project != "" or words != "Insights"))


@pytest.mark.wide
def test_commands_lead_where_they_are_done(world: World, signed_in: As) -> None:
    client, here = signed_in(world.admin), world.project
    for words, option, address in (
        ("invite", "Invite people", at(world, "project-settings") + "#invite"),
        ("log out", "Sign out", "#user-menu [data-sign-out]"),
        ("dark", "Dark theme", "#user-menu [name=theme][value=dark]"),
        ("unread news", "Notifications", reverse("notifications")),
        ("switch to", f"Switch to {here.name}", at(world, "lines")),
    ):
        found = options(client, words, here)
        assert next(reversed(found)) == option and found[option] == address, found
    assert options(client, "new task")["New task"] == reverse("task-new-everywhere")
    assert options(client, "new task", "other/elsewhere") == options(client, "new task"), (
        "not a project of mine"
    )
    page = text(client.get(reverse("home")))
    assert "data-sign-out" in page and 'id="user-menu"' in page


PHRASES = {
    "invite a colleague": "Invite people",
    "add a user": "Invite people",
    "how do I add my team": "Invite people",
    "new token": "New machine token",
    "my api key": "New personal token (API key)",
    "add a secret": "Add a secret or variable",
    "environment variable": "Add a secret or variable",
    "connect slack": "Connect Slack, Teams, Mattermost, or a webhook",
    "tell us in slack when it fails": "Connect Slack, Teams, Mattermost, or a webhook",
    "failure alert": "Connect Slack, Teams, Mattermost, or a webhook",
    "post to teams": "Connect Slack, Teams, Mattermost, or a webhook",
    "webhook": "New webhook",
    "connect my repository": "Connect a repository",
    "connect github": "Connect a repository",
    "set up my own repository": "Set up with a repository",
    "start a task": "New task",
    "create a workflow": "New line",
    "import yaml": "New line",
    "back up": "Operating › Back up",
    "how do I restore a backup": "Operating › Back up",
    "every night": "New schedule",
    "nightly": "New schedule",
    "schedule": "New schedule",
    "run it on a schedule": "New schedule",
    "cron": "New schedule",
    "send mail with smtp": "Operating › Settings",
    "dark mode": "Dark theme",
    "log out": "Sign out",
    "change my password": "Password",
    "2fa": "Second factor",
    "passkey": "Second factor",
    "time zone": "Personal settings",
    "vacation": "Away",
    "out of office": "Away",
    "fewer mails": "Choose notifications",
    "quiet hours": "Choose notifications",
    "keyboard shortcuts": "Show shortcuts",
    "what needs my approval": "Inbox",
    "rename the project": "Project settings",
    "cost limit": "Project settings",
    "new project": "Projects, new project",
    "audit": "Audit log",
    "who changed what": "Audit log",
    "add a runner": "Add a runner",
    "ai agents": "Agents",
    "statistics": "Insights",
    "reviewer group": "Groups",
    "public holidays": "Working time",
    "Grace": "Grace Hopper",
    "scanner": "Scanner",
}


def test_what_a_newcomer_types_is_found_first(world: World, signed_in: As) -> None:
    person = make_user("grace", first_name="Grace", last_name="Hopper")
    Membership.objects.create(project=world.project, user=person, roles=[Role.VIEWER])
    world.start(world.line(key="scanner"), title="Find the needle")
    client = signed_in(world.admin)
    found = {words: next(reversed(options(client, words, world.project)), "") for words in PHRASES}
    wrong = {words: (found[words], option) for words, option in PHRASES.items() if found[words] != option}
    print(wrong)
    assert len(PHRASES) >= 40 and not wrong, wrong


def test_the_help_offers_to_do_it_by_the_same_index(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    client.get(at(world, "lines"))
    page = text(client.get(reverse("help"), {"q": "invite a colleague"}))
    assert f'href="{at(world, "project-settings")}#invite"' in page
    assert f'href="{reverse("help-page", args=["people"])}#invite-people"' in page
    assert '#invite"' not in text(signed_in(world.viewer).get(reverse("help"), {"q": "invite a colleague"}))


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
    assert asked() == before <= 16
