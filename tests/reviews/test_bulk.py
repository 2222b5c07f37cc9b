"""Deciding several reviews: a table first, then a vote on each, on exactly what was shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pipelines.models import Absence, LineVersion, Task, User, Vote
from tests.factories import World
from tests.pages.conftest import client_of
from tests.reviews.conftest import gated, remark_on

pytestmark = pytest.mark.django_db
PAGE = "/inbox/several/"


def waits(world: World, line: LineVersion, title: str, **more: Any) -> Task:
    task = world.start(line, title=title, **more)
    world.report(task)
    return task


def table(client: Client, world: World, tasks: list[Task], word: str = "approve") -> Any:
    return client.get(PAGE, {"word": word, "visit": [str(world.visit(task).pk) for task in tasks]})


def confirmed(page: Any, word: str = "approve", reason: str = "") -> dict[str, Any]:
    rows = page.context["rows"]
    seen = {f"seen-{row.visit.pk}": row.evidence_version for row in rows if row.option}
    return {"word": word, "reason": reason, "visit": [str(row.visit.pk) for row in rows], **seen}


def test_each_gets_one_vote_and_losers_are_named(world: World, line: LineVersion) -> None:
    tasks = [waits(world, line, f"Task {n}") for n in range(3)]
    own = waits(world, line, "Own", by=world.reviewer)
    client = client_of(world.reviewer)
    page = table(client, world, [*tasks, own])
    assert [row.why for row in page.context["rows"]] == ["", "", "", "You cannot decide here."]
    assert "Approve 3 reviews" in page.content.decode() and not Vote.objects.exists()
    [second] = world.reviewers(1)
    world.vote(tasks[1], by=second)
    answer = client.post(PAGE, confirmed(page))
    assert answer.status_code == 409
    assert [bool(row.done) for row in answer.context["rows"]] == [True, False, True, False]
    assert "This review is closed" in answer.content.decode()
    assert [world.at(each) for each in tasks] == [["ship"]] * 3
    assert Vote.objects.filter(user=world.reviewer).count() == 2
    assert world.status(own) == "awaiting_review"


def test_nothing_is_decided_that_was_not_shown(world: World, line: LineVersion) -> None:
    task = waits(world, line, "Task")
    client = client_of(world.reviewer)
    said = confirmed(table(client, world, [task]))
    key = f"seen-{world.visit(task).pk}"
    for seen in ("", "x:y", "0:" + "0" * 64, said[key].partition(":")[0] + ":" + "0" * 64):
        answer = client.post(PAGE, said | {key: seen})
        assert answer.status_code == 409 and not Vote.objects.exists()


def test_another_gate_or_fields_are_left_for_their_own_page(world: World, line: LineVersion) -> None:
    fields = {"key": "plan", "type": "yes_no", "label": "Read", "required": True}
    first, other = waits(world, line, "First"), world.line(**(gated(fields=[fields]) | {"key": "other"}))
    client = client_of(world.reviewer)
    rows = table(client, world, [first, waits(world, other, "Other")]).context["rows"]
    assert rows[1].why.startswith("Another gate")
    rows = table(client, world, [waits(world, other, "Alone")]).context["rows"]
    assert rows[0].why.startswith("Its approval fills in")


def test_a_rejection_of_several_needs_its_reason(world: World, line: LineVersion) -> None:
    tasks = [waits(world, line, f"Task {n}") for n in range(2)]
    client = client_of(world.reviewer)
    page = table(client, world, tasks, "reject")
    assert client.post(PAGE, confirmed(page, "reject")).status_code == 422
    assert client.post(PAGE, confirmed(page, "reject", "Not now.")).status_code == 200
    assert [world.status(task) for task in tasks] == ["failed", "failed"]


def test_remarks_go_with_a_decision_of_several(world: World, line: LineVersion) -> None:
    tasks = [waits(world, line, f"Task {n}") for n in range(2)]
    remark_on(world.visit(tasks[1]), world.reviewer, "Off by one.")
    client = client_of(world.reviewer)
    page = table(client, world, tasks, "reject")
    assert client.post(PAGE, confirmed(page, "reject", "Not now.")).status_code == 200
    reasons = [task.gate_visits.get().reason for task in tasks]
    assert reasons == ["Not now.", "Not now.\napp.py:3: Off by one."]


def test_what_is_not_seen_is_not_in_the_table(world: World, line: LineVersion) -> None:
    visit = world.visit(waits(world, line, "Secret"))
    page = client_of(world.stranger).get(PAGE, {"visit": [str(visit.pk), "x"], "word": "send_back"})
    assert "Secret" not in page.content.decode() and page.context["rows"] == []
    assert (
        client_of(world.reviewer).get(f"{reverse('needs-me')}?fragment=list").content.count(b"data-choose")
        == 1
    )


def test_who_stands_in_is_asked_in_whose_place(world: World, line: LineVersion) -> None:
    [away] = world.reviewers(1)
    far = datetime(2999, 1, 1, tzinfo=UTC)
    for stand_in in (world.reviewer, world.viewer):
        Absence.objects.update_or_create(
            user=away, defaults={"stand_in": stand_in, "until": far, "created_at": far}
        )
        task = waits(world, line, f"For {stand_in}")
        client = client_of(stand_in)
        page = table(client, world, [task])
        assert f"In place of {away}, who is away" in page.content.decode()
        seat = f"seat-{world.visit(task).pk}"
        assert (f'<select class="input" id="{seat}"' in page.content.decode()) == (stand_in == world.reviewer)
        for wrong in ("", world.operator.username):
            assert client.post(PAGE, confirmed(page) | {seat: wrong}).status_code == 409
        assert world.at(task) == ["build"] and not task.gate_visits.get().votes.exists()
        assert client.post(PAGE, confirmed(page) | {seat: away.username}).status_code == 200
        vote = task.gate_visits.get().votes.get()
        assert (vote.user, vote.stands_for, world.at(task)) == (stand_in, away, ["ship"])


# Over the API


DECISIONS = "/api/v1/decisions"


def bearer(world: World, user: User, *scopes: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {world.token_of(user, *scopes)[1]}"})


def said(world: World, tasks: list[Task], action: str = "approve", **more: Any) -> dict[str, Any]:
    visits = [world.visit(task) for task in tasks]
    items = [{"visit": str(each.pk), "evidence": each.evidence_digest} for each in visits]
    return {"action": action, "items": items, **more}


def test_the_api_decides_each_by_what_it_names(world: World, line: LineVersion) -> None:
    tasks = [waits(world, line, f"Task {n}") for n in range(3)]
    own = waits(world, line, "Own", by=world.reviewer)
    body = said(world, [*tasks, own])
    body["items"][1]["evidence"] = "0" * 64
    answer = bearer(world, world.reviewer).post(DECISIONS, body, "application/json")
    assert answer.status_code == 200
    assert [each["state"] for each in answer.json()["decisions"]] == [
        "decided",
        "refused",
        "decided",
        "refused",
    ]
    assert [each["task"] for each in answer.json()["decisions"]] == [task.name for task in (*tasks, own)]
    assert "no longer what is under review" in answer.json()["decisions"][1]["why"]
    assert {vote.via for vote in Vote.objects.all()} == {"api"}
    assert [world.status(task) for task in (tasks[1], own)] == ["awaiting_review"] * 2


def test_the_api_refuses_what_is_for_one_alone(world: World, line: LineVersion) -> None:
    task = waits(world, line, "Task")
    client = bearer(world, world.reviewer)
    for body in (
        said(world, [task], "send_back", reason="So."),
        said(world, [task], "reject"),
        said(world, [task, task]),
        said(world, []),
        said(world, [task] * 51),
    ):
        assert client.post(DECISIONS, body, "application/json").status_code == 400
    assert not Vote.objects.exists()


def test_the_api_knows_no_reviews_of_others(world: World, line: LineVersion) -> None:
    body = said(world, [waits(world, line, "Task")])
    [answer] = bearer(world, world.stranger).post(DECISIONS, body, "application/json").json()["decisions"]
    assert (answer["task"], answer["state"], answer["why"]) == (None, "refused", "There is no such review.")
    reads = bearer(world, world.reviewer, "read")
    assert reads.post(DECISIONS, body, "application/json").status_code == 403
    assert not Vote.objects.exists()


def test_a_repeated_request_votes_once(world: World, line: LineVersion) -> None:
    body, client = said(world, [waits(world, line, "Task")]), bearer(world, world.reviewer)
    first, again = (
        client.post(DECISIONS, body, "application/json", headers={"Idempotency-Key": "k1"}) for _n in range(2)
    )
    assert first.json() == again.json()
    assert first.json()["decisions"][0]["state"] == "decided" and Vote.objects.count() == 1
