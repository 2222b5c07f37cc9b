"""Roles are a set, not a ladder (house §5): at gates, in lint and on the page of members."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from pipelines.engine.moves.entitlement import EntitledPerson
from pipelines.errors import Forbidden
from pipelines.lines import project_lint
from pipelines.models import Membership, Role, User
from pipelines.models.people import included_roles, roles_granting, smallest_equal_roles
from tests.factories import World, document, make_member, station


def test_designer_and_reviewer_include_operator_and_not_each_other() -> None:
    assert included_roles(["designer"]) == {"viewer", "operator", "designer"}
    assert included_roles(["reviewer"]) == {"viewer", "operator", "reviewer"}
    assert included_roles(["admin"]) == set(Role.values)
    assert included_roles(["nonsense"]) == frozenset()
    assert roles_granting("designer") == ["designer", "admin"]


def test_a_set_is_kept_as_small_as_it_can_be() -> None:
    assert smallest_equal_roles(["reviewer", "viewer", "operator", "designer"]) == ["designer", "reviewer"]
    assert smallest_equal_roles(["viewer", "admin", "reviewer"]) == ["admin"]


def _signed_in(user: User) -> Client:
    """With a password, so that no page asks for one first."""
    user.set_password("correct horse battery")
    user.save()
    client = Client()
    client.force_login(user)
    return client


def _asks(world: World, role: str) -> None:
    stations = [station("build", {"id": "on", "to": "ship", "gates": ["look"]}), "ship"]
    gate = {"key": "look", "name": "Look", "approval": {"who": [{"role": role, "count": 1}]}}
    world.line(document(stations=stations, gates=[gate]))


@pytest.mark.django_db
def test_a_gate_that_asks_for_designers_refuses_a_reviewer(world: World) -> None:
    _asks(world, "designer")
    task = world.start(world.project.lines.get().live)  # type: ignore[arg-type]
    world.report(task)
    with pytest.raises(Forbidden):
        world.vote(task, by=world.reviewer)
    world.vote(task, by=make_member(world.project, ("designer", "reviewer")))
    assert world.at(task) == ["ship"]


@pytest.mark.django_db
def test_lint_knows_that_a_designer_is_no_reviewer(world: World) -> None:
    assert world.designer
    (voter,) = project_lint.project_people(world.project).voters
    assert voter.roles == {"viewer", "operator", "designer"}
    assert project_lint.project_people(world.project).operators == {world.designer.username}


def test_a_vote_of_before_counts_as_it_did() -> None:
    vote = {"username": "ann", "role": "reviewer", "groups": []}
    assert EntitledPerson.from_dict(1, vote).as_voter.roles == {"viewer", "operator", "designer", "reviewer"}
    assert EntitledPerson.from_dict(1, {**vote, "role": "designer"}).as_voter.roles == {
        "viewer",
        "operator",
        "designer",
    }


@pytest.mark.django_db
def test_a_member_without_a_role_cannot_be_stored(world: World) -> None:
    assert world.viewer
    for roles in ([], ["boss"]):
        with pytest.raises(IntegrityError), transaction.atomic():
            Membership.objects.update(roles=roles)


@pytest.mark.django_db
def test_an_admin_gives_several_roles_on_the_page_of_members(world: World) -> None:
    client, project = _signed_in(world.admin), world.project
    member = Membership.objects.get(user=world.viewer)
    address = reverse("member-change", args=[project.owner.key, project.key, member.pk])
    client.post(address, {"roles": ["reviewer", "designer", "viewer"]})
    member.refresh_from_db()
    assert member.roles == ["designer", "reviewer"]
    refused = client.post(address, {}, follow=True)
    assert "Choose at least one role." in refused.content.decode()
    member.refresh_from_db()
    assert member.roles == ["designer", "reviewer"]


@pytest.mark.django_db
def test_a_reviewer_is_offered_no_publishing(world: World) -> None:
    _asks(world, "reviewer")
    client, line = _signed_in(world.reviewer), world.project.lines.get()
    where = [world.project.owner.key, world.project.key, line.key]
    assert client.get(reverse("line-publish", args=where)).status_code == 403
    page = client.get(reverse("line", args=where)).content.decode()
    assert reverse("line-publish", args=where) not in page
    assert reverse("line-edit", args=where) not in page


@pytest.mark.django_db
def test_roles_that_changed_count_at_the_next_request(world: World) -> None:
    """Of a page and of a token, given and taken, by an admin: nothing is remembered."""
    version = world.line()
    admin, client = _signed_in(world.admin), _signed_in(world.viewer)
    bearer = {"Authorization": f"Bearer {world.token_of(world.viewer)[1]}"}
    where = [world.project.owner.key, world.project.key]
    member = Membership.objects.get(user=world.viewer)
    change = reverse("member-change", args=[*where, member.pk])
    edit = reverse("line-edit", args=[*where, version.line.key])
    starters = f"/api/owners/{where[0]}/projects/{where[1]}/lines/{version.line.key}/draft/starters"

    def answers() -> tuple[int, int]:
        return client.get(edit).status_code, Client().get(starters, headers=bearer).status_code

    assert answers() == (403, 403)
    for given, status in (
        ({"roles": ["designer"]}, 200),
        ({"roles": ["viewer"]}, 403),
        ({"remove": "yes"}, 404),
    ):
        admin.post(change, given)
        assert answers() == (status, status), given
