"""“Inbox”: everything for which a person must act, each with its own verb, on the page and over the API."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from pipelines import engine
from pipelines.models import Membership, Task, Token, User
from reviews.inbox.item import Act
from reviews.inbox.kinds import KINDS
from tests.factories import World, station
from tests.reviews.inbox_items import (
    approval,
    blocked,
    escalation,
    found,
    gate,
    held,
    late,
    manual,
    missing,
    page,
    question,
    stuck,
)
from tests.reviews.test_pages import as_

pytestmark = pytest.mark.django_db


def test_the_handbook_has_each_kind_by_the_name_of_its_tab() -> None:
    handbook = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
    table = handbook.partition("| kind | what it is | what you do there |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([^|-][^|]*) \|", table, re.MULTILINE)
    assert rows == [str(kind.label) for kind in KINDS]


SAYS: dict[str, tuple[Callable[[World], Task], str, list[str]]] = {
    "gate": (gate, "sent the task to this review", ["review"]),
    "question": (question, "Which colour?", ["answer", "cancel"]),
    "approval": (approval, "May these calls be run?", ["approve", "deny", "cancel"]),
    "blocked": (blocked, "The van is full.", ["answer", "retry", "cancel"]),
    "stuck": (stuck, "No rule of weigh took this outcome.", ["retry", "draw", "migrate", "cancel"]),
    "late": (
        late,
        "count takes longer than the 1\xa0min expected. Its log ends with: Shelf 1",
        ["again", "log", "cancel"],
    ),
    "manual": (manual, "Manual station.", ["complete"]),
    "held": (held, "holds this task: Lunch", ["release", "cancel"]),
    "missing": (missing, "Missing: ", ["supply", "look", "retry", "cancel"]),
}


@pytest.mark.smoke(2)
@pytest.mark.parametrize("kind", SAYS)
def test_each_kind_says_what_is_asked_and_offers_its_verbs(world: World, kind: str) -> None:
    make, sentence, verbs = SAYS[kind]
    task = make(world)
    (one,) = found(world.admin)
    assert (one.need.kind, one.need.task) == (kind, task)
    assert sentence in one.need.sentence.text
    assert [verb.key for verb in one.verbs] == verbs
    shown = page(world.admin)
    assert task.title in shown and (kind != "blocked" or "A flat tyre" in shown)
    for verb in one.verbs:
        assert verb.label in shown


def test_only_who_may_act_is_asked(world: World) -> None:
    for make, _, _ in SAYS.values():
        make(world)
    kinds = {
        role: {one.need.kind for one in found(world.person(role))}
        for role in ("viewer", "operator", "reviewer")
    }
    work = set(SAYS) - {"gate"}
    assert kinds == {"viewer": set(), "operator": work, "reviewer": {*work, "gate"}}
    assert found(world.stranger) == []
    # Changing the line is for who designs.
    stuck_one = next(one for one in found(world.operator) if one.need.kind == "stuck")
    assert [verb.key for verb in stuck_one.verbs] == ["retry", "cancel"]


@pytest.mark.wide
def test_the_number_of_queries_does_not_grow_with_the_items(world: World) -> None:
    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            found(world.admin)
        return len(queries)

    for make in (*(make for make, _, _ in SAYS.values()), escalation):
        make(world)
    found(world.admin)  # versions are parsed once per process
    before = asked()
    for make in [*(make for make, _, _ in SAYS.values()), escalation] * 2:
        make(world)
    found(world.admin)
    assert len(found(world.admin)) == 3 * (len(SAYS) + 1)
    assert asked() == before <= 27


@pytest.mark.wide
def test_the_page_is_narrowed_by_kind_and_project(world: World) -> None:
    question(world), stuck(world)
    assert "Which colour?" in page(world.operator, kind="question")
    assert "No rule of weigh" not in page(world.operator, kind="question")
    assert "No items of this kind." in page(world.operator, kind="gate")
    assert "Which colour?" in page(world.operator, project="acme/app", kind="nonsense")
    assert "Which colour?" in page(world.operator, project="someone/else")


def test_the_empty_page_says_what_runs(world: World) -> None:
    world.start(world.line())
    shown = page(world.operator)
    assert "Nothing needs you." in shown
    assert "1 task is queued or running." in shown
    Membership.objects.all().delete()
    assert "Nothing needs you." in page(world.operator)


def test_the_number_in_the_sidebar_is_that_of_the_items(world: World) -> None:
    question(world), stuck(world)
    assert as_(world.operator).get(reverse("needs-count")).content.strip() == b"2"
    assert as_(world.viewer).get(reverse("needs-count")).content.strip() == b""


def test_text_of_agents_is_shown_as_text(world: World) -> None:
    rule = {"id": "on", "when": {"result": "success"}, "to": "ship"}
    task = world.start(world.line(stations=[station("pack", rule), "ship"]))
    world.report(task, {"result": "blocked", "summary": "<script>x</script>"})
    assert "<script>x" not in page(world.operator)


# Over the API


def api(world: World, user: User, *scopes: str, **filters: str) -> Any:
    _, secret = world.token_of(user, *scopes)
    return Client().get("/api/needs", filters, headers={"Authorization": f"Bearer {secret}"})


@pytest.mark.wide
def test_the_api_gives_the_same_items(world: World) -> None:
    for make, _, _ in SAYS.values():
        make(world)
    answer = api(world, world.admin)
    assert [each["id"] for each in answer.json()] == [one.need.id for one in found(world.admin)]
    one = next(each for each in answer.json() if each["kind"] == "stuck")
    assert one["error"] == "NoValidTransition"
    assert one["remedy"]
    assert [verb["key"] for verb in one["verbs"]] == SAYS["stuck"][2]
    assert [each["kind"] for each in api(world, world.admin, kind="gate").json()] == ["gate"]
    assert api(world, world.admin, project="someone/else").json() == []


def test_the_api_refuses_an_unknown_kind_and_a_token_that_may_not_read(world: World) -> None:
    assert api(world, world.admin, kind="x").status_code == 400
    assert api(world, world.admin, "submit").status_code == 403


def test_every_act_of_the_table_has_its_form(world: World) -> None:
    for kind in KINDS:
        for verb in kind.verbs:
            assert not isinstance(verb, Act) or {"reason", "text", "answer", "token_version", "digest"} & set(
                verb.form.base_fields
            )


def test_a_token_that_is_gone_is_no_item(world: World) -> None:
    task = stuck(world)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="x")
    assert Token.objects.filter(task=task).exists()
    assert found(world.operator) == []
