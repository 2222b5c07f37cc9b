"""Who leaves a project, or altogether: what they answered for is handed on, their credentials die at once."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import AdministrativeAct, Agent, Invitation, Membership, User
from pipelines.people import accounts, departures, invitations, members
from tests.factories import World, make_member
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db(transaction=True)


def agent_of(world: World, user: User) -> Agent:
    return Agent.objects.create(project=world.project, key="coder", owner=user, created_at=timezone.now())


def token(user: User, world: World, *, bound: bool) -> str:
    project = world.project if bound else None
    given = {"kind": "person", "name": "t", "scopes": ["read"], "now": timezone.now(), "created_by": user}
    return accounts.mint_token_and_secret(**given, user=user, project=project)[1]  # type: ignore[arg-type]


def test_who_leaves_loses_roles_groups_and_tokens_of_the_project(world: World, signed_in: As) -> None:
    group = world.group("security", world.operator)
    bound, free = token(world.operator, world, bound=True), token(world.operator, world, bound=False)
    client = signed_in(world.operator)
    assert client.post(at(world, "project-leave"), {"leave": "yes"}).headers["Location"] == reverse("home")
    assert client.get(at(world, "lines")).status_code == 404
    assert not group.members.exists()
    assert accounts.find_token_and_note_use(bound, timezone.now()) is None
    assert accounts.find_token_and_note_use(free, timezone.now()) is not None
    api = Client(headers={"Authorization": f"Bearer {free}"})
    owner, project = world.project.owner.key, world.project.key
    assert api.get(f"/api/owners/{owner}/projects/{project}/members").status_code == 404
    act = AdministrativeAct.objects.get(kind="member.left")
    assert act.actor == f"person:{world.operator.pk}"


def test_the_last_admin_stays(world: World, signed_in: As) -> None:
    client = signed_in(world.admin)
    client.post(at(world, "project-leave"), {"leave": "yes"})
    assert "needs at least one admin" in text(client.get(at(world, "project-settings")))
    with pytest.raises(members.LastAdmin):
        departures.deactivate_user(world.admin, heir=None, by=None, now=timezone.now())
    assert User.objects.get(pk=world.admin.pk).is_active


def test_an_admin_who_cannot_sign_in_is_no_admin_that_stays(world: World, signed_in: As) -> None:
    second, client = make_member(world.project, "admin"), signed_in(world.admin)
    departures.deactivate_user(second, heir=None, by=world.admin, now=timezone.now())
    client.post(at(world, "project-leave"), {"leave": "yes"})
    assert "needs at least one admin" in text(client.get(at(world, "project-settings")))
    own = Membership.objects.get(user=world.admin)
    for form in ({"remove": "yes"}, {"roles": ["viewer"]}):
        client.post(at(world, "member-change", own.pk), form)
        own.refresh_from_db()
        assert own.roles == ["admin"]
    member = Membership.objects.get(user=second)
    client.post(at(world, "member-change", member.pk), {"remove": "yes"})
    assert not Membership.objects.filter(user=second).exists()


def test_who_answers_for_an_agent_hands_it_on_first(world: World, signed_in: As) -> None:
    agent = agent_of(world, world.operator)
    client = signed_in(world.operator)
    client.post(at(world, "project-leave"), {"leave": "yes"})
    assert "responsible for agents" in text(client.get(at(world, "project-settings")))
    assert Membership.objects.filter(user=world.operator).exists()
    assert world.operator == Agent.objects.get(pk=agent.pk).owner


def test_an_admin_who_removes_somebody_takes_over_their_agents(world: World, signed_in: As) -> None:
    agent, member = agent_of(world, world.operator), Membership.objects.get(user=world.operator)
    signed_in(world.admin).post(at(world, "member-change", member.pk), {"remove": "yes"})
    agent.refresh_from_db()
    assert agent.owner == world.admin
    assert agent.events.get().kind == "changed"


def test_deactivating_ends_everything_that_signs_in(world: World, signed_in: As) -> None:
    second = make_member(world.project, "admin")
    agent = agent_of(world, second)
    client, secret = signed_in(second), token(second, world, bound=False)
    (invited,) = invitations.create_invitations(
        world.project, [], roles=["viewer"], execute=False, groups=(), by=second, now=timezone.now()
    )
    assert world.admin
    with pytest.raises(departures.NeedsHeir):
        departures.deactivate_user(second, heir=None, by=None, now=timezone.now())
    for nobody in (second, world.stranger):
        with pytest.raises(departures.NoHeir):
            departures.deactivate_user(second, heir=nobody, by=None, now=timezone.now())
    assert accounts.find_token_and_note_use(secret, timezone.now()) is not None
    departures.deactivate_user(second, heir=world.admin, by=None, now=timezone.now())
    agent.refresh_from_db()
    assert agent.owner == world.admin
    assert client.get(reverse("home")).status_code == 302
    assert accounts.find_token_and_note_use(secret, timezone.now()) is None
    assert Invitation.objects.get(pk=invited.pk).revoked_at is not None
    assert Membership.objects.filter(user=second).exists()


def test_the_command_deactivates_and_activates_again(world: World) -> None:
    name, out = world.viewer.username, io.StringIO()
    call_command("deactivate_person", name, stdout=out)
    assert not User.objects.get(username=name).is_active
    call_command("deactivate_person", name, "--again", stdout=out)
    assert User.objects.get(username=name).is_active
    kinds = AdministrativeAct.objects.order_by("pk").values_list("kind", "actor")
    assert list(kinds) == [("person.deactivated", "command"), ("person.reactivated", "command")]
    with pytest.raises(CommandError, match="no user"):
        call_command("deactivate_person", "nobody", stdout=out)
    with pytest.raises(CommandError, match="at least one admin"):
        call_command("deactivate_person", world.admin.username, stdout=out)
