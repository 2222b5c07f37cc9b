"""`manage.py create_member` and `create_token`: for scripts and CI."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from pipelines import access
from pipelines.models import ApiToken, Membership, User
from pipelines.people import accounts
from tests.factories import World

pytestmark = pytest.mark.django_db


def run(*words: str, world: World) -> tuple[list[str], str]:
    """Its lines, and what it says beside them."""
    out, beside = io.StringIO(), io.StringIO()
    project = f"{world.project.owner.key}/{world.project.key}"
    call_command(*words, "--project", project, stdout=out, stderr=beside)
    return out.getvalue().splitlines(), beside.getvalue()


def test_a_new_person_becomes_a_member_without_a_password(world: World) -> None:
    said, _ = run("create_member", "mia", "--role", "reviewer", "--email", "mia@example.com", world=world)
    member = Membership.objects.get(project=world.project, user__username="mia")
    assert (member.roles, member.execute, member.user.email) == (["reviewer"], False, "mia@example.com")
    assert not member.user.has_usable_password()
    assert not member.user.is_staff and not member.user.is_superuser
    assert "changepassword mia" in said[-1]


def test_it_can_be_run_again_and_gives_the_roles_named_last(world: World) -> None:
    run("create_member", "mia", "--role", "viewer", world=world)
    words = ("--role", "designer", "--role", "reviewer", "--role", "viewer", "--execute")
    said, _ = run("create_member", "mia", *words, world=world)
    [member] = Membership.objects.filter(user__username="mia")
    assert (member.roles, member.execute) == (["designer", "reviewer"], True)
    assert len(said) == 1, "who exists is told of no password"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("create_member", "bad name!", "--role", "viewer"), "username"),
        (("create_member", "mia", "--role", "king"), "invalid choice"),
        (("create_token", "nobody", "--scope", "read"), "create_member nobody"),
        (("create_token", "ci", "--machine", "--scope", "decide"), "never decide"),
        (("create_token", "ci", "--machine", "--scope", "king"), "invalid choice"),
        (("create_token", "ci", "--machine", "--scope", "read", "--days", "0"), "1 to 366 days"),
        (("create_token", "ci", "--machine", "--scope", "read", "--days", "99999999999"), "1 to 366 days"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(world: World, words: Any, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        run(*words, world=world)
    assert not ApiToken.objects.exists()
    assert not User.objects.filter(username__in=("bad name!", "mia", "nobody")).exists()


def test_an_unknown_project_is_refused_and_the_known_are_named(world: World) -> None:
    with pytest.raises(CommandError, match=str(world.project)):
        call_command("create_member", "mia", "--project", "no/where", "--role", "viewer")


def test_a_members_token_is_alone_on_the_last_line_and_bound_to_the_project(world: World) -> None:
    name = world.reviewer.username
    lines, beside = run("create_token", name, "--scope", "read", "--scope", "decide", world=world)
    token = accounts.find_token_and_note_use(lines[-1], timezone.now())
    assert token is not None and lines == [lines[-1]]
    assert name in beside and lines[-1] not in beside
    assert (token.user, token.project, token.scopes) == (world.reviewer, world.project, ["decide", "read"])
    assert access.is_permitted(token, "decide", world.project)
    assert not access.is_permitted(token, "design", world.project)
    path = f"/api/owners/{world.project.owner.key}/projects/{world.project.key}/lines"
    assert Client().get(path, headers={"Authorization": f"Bearer {lines[-1]}"}).status_code == 200


@pytest.mark.parametrize(
    ("scopes", "role"), [(["read"], "viewer"), (["read", "submit"], "operator"), (["design"], "designer")]
)
def test_a_machine_gets_the_least_role_that_its_scopes_need(
    world: World, scopes: list[str], role: str
) -> None:
    words = [word for scope in scopes for word in ("--scope", scope)]
    lines, _ = run("create_token", "ci", "--machine", *words, world=world)
    token = accounts.find_token_and_note_use(lines[-1], timezone.now())
    assert token is not None
    assert (token.kind, token.name, token.role, token.project) == ("machine", "ci", role, world.project)
