"""Absences over the API: one's own, with the scopes they need."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from pipelines.models import Absence, User
from pipelines.people import accounts
from pipelines.ports import clock
from tests.factories import World, make_member, make_project

pytestmark = pytest.mark.django_db
PATH = "/api/v1/absences"


def ask(secret: str, method: str, path: str = PATH, **body: Any) -> tuple[int, Any]:
    answer = Client().generic(
        method, path, json.dumps(body), "application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    content = answer.json() if answer.content else None
    if isinstance(content, dict):
        # Another one for each request
        content.pop("request_id", None)
    return answer.status_code, content


def test_one_names_a_stand_in_looks_and_is_back(world: World) -> None:
    _, mine = world.token_of(world.reviewer, "read", "decide")
    until = (clock.now() + timedelta(days=3)).isoformat()
    owner = f"{world.project.owner.key}/{world.project.key}"
    said = {"stand_in": world.viewer.username, "until": until}
    assert ask(mine, "POST", **said)[0] == 201
    status, made = ask(mine, "POST", **said, project=owner)
    assert (status, made["project"]) == (201, owner)
    assert [each["project"] for each in ask(mine, "GET")[1]] == [None, owner]
    _, other = world.token_of(world.operator, "read", "decide")
    assert ask(other, "GET") == (200, [])
    for absent in (made["id"], 2**70, -1):
        assert ask(other, "DELETE", f"{PATH}/{absent}")[0] == 404
    assert ask(mine, "DELETE", f"{PATH}/{made['id']}") == (204, None)
    assert Absence.objects.get().project is None
    Absence.objects.update(until=clock.now() - timedelta(seconds=1))
    assert ask(mine, "GET") == (200, []), "it is over"


def test_what_does_not_fit_is_refused_at_its_place(world: World) -> None:
    _, mine = world.token_of(world.reviewer, "read", "decide")
    soon = (clock.now() + timedelta(days=1)).isoformat()
    elsewhere = make_project("else", "where")
    hidden = make_member(elsewhere, "reviewer", "hidden")
    given = {"stand_in": world.viewer.username, "until": soon}
    for wrong, path in (
        ({"stand_in": "nobody"}, "stand_in"),
        ({"stand_in": "x\0"}, "stand_in"),
        ({"stand_in": world.reviewer.username}, "stand_in"),
        ({"stand_in": hidden.username}, "stand_in"),
        ({"until": "2001-01-01T00:00:00Z"}, "until"),
        ({"until": "9999-12-31T23:59:59Z"}, "until"),
        ({"until": "2001-01-01T00:00:00"}, "until"),
    ):
        status, problem = ask(mine, "POST", **given | wrong)
        assert (status, problem["errors"][0]["path"].split(".")[-1]) == (400, path), wrong
    unknown = ask(mine, "POST", **given, project="no/such")
    assert unknown[0] == 404 and ask(mine, "POST", **given, project="where/else") == unknown
    assert not Absence.objects.exists()


def test_a_token_names_nobody_beyond_its_scope_and_its_project(world: World) -> None:
    soon = (clock.now() + timedelta(days=1)).isoformat()
    said = {"stand_in": world.viewer.username, "until": soon}
    _, reads = world.token_of(world.reviewer, "read")
    assert ask(reads, "POST", **said)[0] == 403
    _, machine = world.machine("read", "submit")
    assert ask(machine, "GET")[0] == ask(machine, "DELETE", f"{PATH}/1")[0] == 403
    assert ask(machine, "POST", **said)[0] == 403
    bound = _bound(world, world.reviewer)
    assert ask(bound, "POST", **said)[0] == 403, "that would count in other projects, too"
    assert ask(bound, "POST", **said, project=f"{world.project.owner.key}/{world.project.key}")[0] == 201
    assert Absence.objects.get().project == world.project


def _bound(world: World, user: User) -> str:
    _, secret = accounts.mint_token_and_secret(
        kind="person",
        name="bound",
        scopes=["read", "decide"],
        now=clock.now(),
        created_by=user,
        user=user,
        project=world.project,
    )
    return secret
