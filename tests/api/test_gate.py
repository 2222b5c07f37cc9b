"""`POST …/tasks/{task}/gates/{gate}` (ALP A16, A19, A31)."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import connection

from pipelines.models import Task
from tests.api.conftest import Api, Apis, gate_path
from tests.factories import World, make_world, station
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(world: World) -> Task:
    task = world.start(world.line(**gated()), title="Add login")
    world.report(task)
    return task


def test_A16_approving_sends_the_task_to_the_rules_target(world: World, api: Apis, waiting: Task) -> None:
    answer = api.as_(world.reviewer).post(gate_path(waiting), {"action": "approve"})
    assert answer.status_code == 200, answer.content
    assert answer.json()["task"]["columnId"] == "ship"
    assert answer.json()["task"]["status"] == "queued"
    assert answer.json()["state"] == "decided"


def test_A16_rejecting_fails_the_task_and_keeps_the_reason(world: World, api: Apis, waiting: Task) -> None:
    answer = api.as_(world.reviewer).post(gate_path(waiting), {"action": "reject", "reason": "Too early."})
    assert answer.json()["task"]["status"] == "failed"
    assert waiting.gate_visits.get().reason == "Too early."


@pytest.mark.parametrize("secret", [None, "gl_wrong", "nonsense", "gl_" + "x" * 5000])
def test_A19_without_a_good_token_it_answers_401(api: Apis, waiting: Task, secret: str | None) -> None:
    answer = api.with_secret(secret).post(gate_path(waiting), {"action": "approve"})
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_A19_who_is_not_asked_is_answered_403(world: World, api: Apis, waiting: Task) -> None:
    for person in (world.viewer, world.designer):
        assert api.as_(person).post(gate_path(waiting), {"action": "approve"}).status_code == 403
    assert world.status(waiting) == "awaiting_review"


def test_the_requester_is_barred_unless_the_gate_lets_them(world: World, api: Apis) -> None:
    task = world.start(world.line(**gated()), by=world.reviewer)
    world.report(task)
    refused = api.as_(world.reviewer).post(gate_path(task), {"action": "approve"})
    assert refused.status_code == 403
    assert "requested this task" in refused.json()["detail"]


def test_who_made_the_token_of_a_machine_requested_what_it_starts(world: World, api: Apis) -> None:
    version, reviewer = world.line(**gated()), api.as_(world.reviewer)
    body = {"title": "By a machine"}
    made = api.machine("read", "submit").post(f"/stages/{version.line.key}/tasks", body)
    assert made.status_code == 201, made.content
    task = Task.objects.get()
    world.report(task)
    refused = api.as_(world.admin).post(gate_path(task), {"action": "approve"})
    assert refused.status_code == 403 and "a machine token that you made" in refused.json()["detail"]
    assert reviewer.post(gate_path(task), {"action": "approve"}).status_code == 200


def test_a_machine_can_never_decide(world: World, api: Apis, waiting: Task) -> None:
    everything = api.machine("read", "submit", "report", "design", role="admin")
    assert everything.post(gate_path(waiting), {"action": "approve"}).status_code == 403


def test_a_token_without_the_scope_cannot_decide(world: World, api: Apis, waiting: Task) -> None:
    answer = api.as_(world.reviewer, "read", "submit").post(gate_path(waiting), {"action": "approve"})
    assert answer.status_code == 403


def test_A31_ids_of_elsewhere_are_404(world: World, api: Apis, waiting: Task) -> None:
    reviewer = api.as_(world.reviewer)
    line, name = waiting.line.key, waiting.name
    for path in (
        f"/stages/{line}/tasks/{name}/gates/unknown",
        f"/stages/{line}/tasks/WI-{world.project.key}-999/gates/review",
        f"/stages/{line}/tasks/{waiting.pk}/gates/review",
        f"/stages/other/tasks/{name}/gates/review",
    ):
        assert reviewer.post(path, {"action": "approve"}).status_code == 404, path
    assert api.as_(world.stranger).post(gate_path(waiting), {"action": "approve"}).status_code == 404
    other = make_world()
    theirs = other.start(other.line(**gated()))
    other.report(theirs)
    assert theirs.number == waiting.number
    assert reviewer.post(gate_path(theirs), {"action": "approve"}).status_code == 404
    there = Api(other.project, world.token_of(world.reviewer)[1])
    assert there.post(gate_path(theirs), {"action": "approve"}).status_code == 404
    assert world.status(waiting) == "awaiting_review"
    assert reviewer.post(gate_path(waiting), {"action": "approve"}).status_code == 200
    assert other.status(theirs) == "awaiting_review"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"action": "accept"}, "action"),
        ({}, "action"),
        ({"action": "reject"}, "reason"),
        ({"action": "reject", "reason": " \n"}, "reason"),
        ({"action": "send_back"}, "reason"),
        ({"action": "approve", "surprise": 1}, "surprise"),
        ({"action": "approve", "visit": "x"}, "visit"),
        ({"action": ["approve"]}, "action"),
    ],
)
def test_A19_a_malformed_decision_is_400_and_names_the_place(
    world: World, api: Apis, waiting: Task, body: object, path: str
) -> None:
    answer = api.as_(world.reviewer).post(gate_path(waiting), body)
    assert answer.status_code == 400, answer.content
    assert path in [error["path"] for error in answer.json()["errors"]]
    assert world.status(waiting) == "awaiting_review"


def test_A19_a_second_decision_is_409_and_names_the_first(world: World, api: Apis, waiting: Task) -> None:
    first, second = world.reviewers(2)
    assert api.as_(first).post(gate_path(waiting), {"action": "approve"}).status_code == 200
    late = api.as_(second).post(gate_path(waiting), {"action": "reject", "reason": "No."})
    assert late.status_code == 409
    assert late.json()["by"] == str(first)


def test_A19_a_task_that_does_not_wait_there_is_409(world: World, api: Apis) -> None:
    line = gated()
    line["stations"][1] = station("ship", {"id": "out", "to": "completed", "gates": ["last"]})
    line["gates"].append({"key": "last"})
    task, reviewer = world.start(world.line(**line)), api.as_(world.reviewer)
    assert reviewer.post(gate_path(task), {"action": "approve"}).status_code == 409
    world.report(task)
    assert reviewer.post(gate_path(task, "last"), {"action": "approve"}).status_code == 409
    assert world.status(task) == "awaiting_review"


def test_a_vote_on_other_evidence_is_409(world: World, api: Apis, waiting: Task) -> None:
    reviewer = api.as_(world.reviewer)
    stale = reviewer.post(gate_path(waiting), {"action": "approve", "evidence": "0" * 64})
    assert stale.status_code == 409
    unknown = reviewer.post(gate_path(waiting), {"action": "approve", "visit": str(uuid.uuid4())})
    assert unknown.status_code == 400
    shown = waiting.gate_visits.get().evidence_digest
    assert reviewer.post(gate_path(waiting), {"action": "approve", "evidence": shown}).status_code == 200


def test_two_votes_are_needed_where_the_gate_says_so(world: World, api: Apis) -> None:
    task = world.start(world.line(**gated(approval={"who": [{"role": "reviewer", "count": 2}]})))
    world.report(task)
    first, second = world.reviewers(2)
    assert api.as_(first).post(gate_path(task), {"action": "approve"}).json()["state"] == "open"
    again = api.as_(first).post(gate_path(task), {"action": "approve"})
    assert again.status_code == 409
    assert api.as_(second).post(gate_path(task), {"action": "approve"}).json()["state"] == "decided"


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_of_many_who_decide_at_once_one_gets_through(world: World, api: Apis) -> None:
    task = world.start(world.line(**gated()))
    world.report(task)
    people = [api.as_(person) for person in world.reviewers(8)]
    answers: list[int] = []

    def decide(index: int) -> None:
        body = {"action": "approve"} if index % 2 else {"action": "reject", "reason": "No."}
        answers.append(people[index].post(gate_path(task), body).status_code)
        connection.close()

    threads = [threading.Thread(target=decide, args=(index,)) for index in range(len(people))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200] + [409] * 7
