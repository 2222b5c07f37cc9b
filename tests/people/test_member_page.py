"""The list of members, and the page of one: who may act on whose account, what they leave behind."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from unittest.mock import patch

import pytest
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import AdministrativeAct, Agent, Membership, Project, User
from pipelines.people.groups import gates_naming_user
from pipelines.people.members import may_manage_account
from pipelines.queries import members
from pipelines.web.shell import middleware
from tests.factories import World, make_member, make_project, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db

NEW = "another horse battery"


def pk_of(user: User, project: Project) -> int:
    return Membership.objects.get(user=user, project=project).pk


def page_of(world: World, user: User, name: str = "member-change") -> str:
    return at(world, name, pk_of(user, world.project))


def test_the_list_says_how_people_sign_in_and_when_they_were_there(world: World, signed_in: As) -> None:
    world.group("security", world.operator)
    Authenticator.objects.create(user=world.operator, type=Authenticator.Type.TOTP, data={})
    User.objects.filter(pk=world.operator.pk).update(password="pbkdf2_sha256$1$a$b")
    client = signed_in(world.admin)
    page = text(client.get(at(world, "project-settings")))
    for words in (
        "2 people",
        "Second factor: authenticator app",
        "No second factor",
        "1 person has no second factor",
    ):
        assert words in page, words
    listed = {row.membership.user: row for row in members.member_rows(world.project)}
    assert listed[world.operator].groups == ("Security",)
    assert listed[world.operator].last_active is None
    assert listed[world.admin].last_active is not None
    assert "Manage" not in text(signed_in(world.operator).get(at(world, "project-settings")))


def test_activity_is_noted_with_the_session_and_not_at_every_page(world: World, signed_in: As) -> None:
    client = signed_in(world.viewer)
    long_ago = timezone.now() - timedelta(days=2)
    key = client.session.session_key
    UserSession.objects.create(user=world.viewer, session_key=key, ip="127.0.0.1", last_seen_at=long_ago)
    sessions = UserSession.objects.filter(user=world.viewer)
    with patch.object(middleware.time, "monotonic") as clock:
        for at_second, noted in ((0.0, False), (299.0, False), (301.0, True)):
            clock.return_value = at_second
            client.get(reverse("home"))
            assert (sessions.get().last_seen_at > long_ago) is noted


def test_a_project_of_one_is_told_that_it_approves_itself(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    assert "You are the only member" in text(client.get(at(world, "project-settings")))
    assert world.viewer
    assert "You are the only member" not in text(client.get(at(world, "project-settings")))


def test_who_is_left_alone_is_told_that_they_cannot_approve_their_own_work_yet(
    world: World, signed_in: As
) -> None:
    client = signed_in(world.admin)
    world.viewer.memberships.get().delete()
    page = text(client.get(at(world, "project-settings")))
    assert "you cannot approve your own work before" in page and "You may approve" not in page
    Project.objects.update(left_at=timezone.now() - timedelta(days=31))
    assert "You may approve what you requested" in text(client.get(at(world, "project-settings")))


def test_an_admin_creates_a_link_that_sets_a_new_password_once(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    signed_in(world.operator)
    shown = client.post(page_of(world, world.operator, "member-reset-link"), {"link": "yes"})
    assert "no-store" in shown.headers["Cache-Control"]
    link = re.search(r'data-copy="([^"]+)"', shown.content.decode())
    assert link
    path = "/sign-in/" + unescape(link[1]).partition("/sign-in/")[2]
    guest = Client()
    form = guest.get(path, follow=True)
    assert form.status_code == 200
    guest.post(form.request["PATH_INFO"], {"password1": NEW, "password2": NEW})
    world.operator.refresh_from_db()
    assert world.operator.check_password(NEW)
    assert "password1" not in text(Client().get(path, follow=True)), "it works once"
    assert AdministrativeAct.objects.get(kind="password.link").actor == f"person:{world.admin.pk}"
    assert "/sign-in/reset" not in text(client.get(page_of(world, world.operator)))


def test_only_an_admin_of_all_their_projects_acts_on_an_account(world: World, signed_in: As) -> None:
    elsewhere = make_project("elsewhere", "other")
    user, root = world.operator, make_member(world.project, "viewer")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()
    assert may_manage_account(world.admin, user)
    Membership.objects.create(project=elsewhere, user=user, roles=["viewer"])
    client = signed_in(world.admin)
    for refused in (user, root, world.admin):
        assert not may_manage_account(world.admin, refused)
        for name, given in (("member-reset-link", "link"), ("member-account", "deactivate")):
            assert client.post(page_of(world, refused, name), {given: "yes"}).status_code == 400
    assert "Only an admin of every project" in text(client.get(page_of(world, user)))
    Membership.objects.create(project=elsewhere, user=world.admin, roles=["admin"])
    assert may_manage_account(world.admin, user)


def test_an_account_is_deactivated_and_activated_again_on_its_page(world: World, signed_in: As) -> None:
    theirs, client = signed_in(world.operator), signed_in(world.admin)
    account = page_of(world, world.operator, "member-account")
    assert client.post(account).status_code == 400, "an empty post does nothing"
    client.post(account, {"deactivate": "yes"})
    world.operator.refresh_from_db()
    assert not world.operator.is_active
    assert theirs.get(reverse("home")).status_code == 302
    assert not [
        s for s in Session.objects.all() if s.get_decoded().get("_auth_user_id") == str(world.operator.pk)
    ]
    page = text(client.get(page_of(world, world.operator)))
    assert "Activate account" in page and "Create reset link" not in page
    assert "Deactivated" in text(client.get(at(world, "project-settings")))
    client.post(account, {"again": "yes"})
    world.operator.refresh_from_db()
    assert world.operator.is_active
    kinds = AdministrativeAct.objects.filter(kind__startswith="person.").order_by("pk")
    assert [act.kind for act in kinds] == ["person.deactivated", "person.reactivated"]


def test_gates_that_ask_for_somebody_by_name_are_listed_before_they_go(world: World, signed_in: As) -> None:
    user = world.operator
    asks = {
        "key": "review",
        "name": "Sign-off",
        "mode": "manual",
        "approval": {"who": [{"user": user.username}]},
    }
    rule = {"id": "on", "to": "ship", "gates": ["review"]}
    stations = [station("build", rule), "ship"]
    before = world.line(stations=stations, gates=[asks])
    world.start(before)
    assert [(n.gate, n.live, n.tasks) for n in gates_naming_user(user, world.project)] == [
        ("Sign-off", True, 1)
    ]
    world.line(stations=stations, gates=[{**asks, "approval": {"who": [{"role": "reviewer"}]}}])
    assert [(n.gate, n.live, n.tasks) for n in gates_naming_user(user, world.project)] == [
        ("Sign-off", False, 1)
    ]
    client = signed_in(world.admin)
    assert "Gates that name this person" in text(client.get(page_of(world, user)))
    assert "1 open task" in text(signed_in(user).get(at(world, "project-settings")))
    assert "Gates that name this person" not in text(client.get(page_of(world, world.admin)))


def test_who_leaves_names_who_takes_over_the_agents(world: World, signed_in: As) -> None:
    agent = Agent.objects.create(
        project=world.project, key="coder", owner=world.operator, created_at=timezone.now()
    )
    heir = make_member(world.project, "operator")
    client = signed_in(world.operator)
    assert "New owner of the agents" in text(client.get(at(world, "project-settings")))
    client.post(at(world, "project-leave"), {"leave": "yes", "heir": str(world.stranger.pk)})
    assert Membership.objects.filter(user=world.operator).exists(), "a stranger takes nothing over"
    client.post(at(world, "project-leave"), {"leave": "yes", "heir": str(heir.pk)})
    agent.refresh_from_db()
    assert agent.owner == heir
    assert not Membership.objects.filter(user=world.operator).exists()
