"""A vote counts for the visit that its sender saw: it cannot be replayed onto a later one. A request with an
idempotency key is carried out once."""

from __future__ import annotations

import threading
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from pipelines.models import GateVisit, RecordedAnswer, Task, Vote
from pipelines.web.shell import repeated_requests
from tests.api.conftest import Api, Apis, gate_path
from tests.factories import World, station
from tests.reviews.conftest import gated

pytestmark = pytest.mark.django_db
ROUNDS = 6
APPROVE = {"action": "approve"}


def loop() -> dict[str, Any]:
    """`build` goes to itself past the gate `review`, as often as it is approved."""
    again = {"id": "again", "to": "build", "gates": ["review"]}
    return {
        "key": "loop",
        "stations": [station("build", again)],
        "gates": [{"key": "review"}],
        "policy": {"self_loop_limit": "none"},
    }


@pytest.fixture
def looping(world: World) -> Task:
    task = world.start(world.line(**loop()))
    world.report(task)
    return task


def at_the_next_visit(world: World, task: Task) -> GateVisit:
    """A person lets it pass on the page; the station runs again and stops at its gate again."""
    world.vote(task)
    world.report(task)
    return world.visit(task)


def test_A19_a_body_without_a_visit_counts_at_the_first_visit_only(
    world: World, api: Apis, looping: Task
) -> None:
    reviewer = api.as_(world.reviewer)
    first = reviewer.post(gate_path(looping), APPROVE)
    assert first.status_code == 200, first.content
    for _ in range(ROUNDS - 1):
        world.report(looping)
        visit = world.visit(looping)
        replayed = reviewer.post(gate_path(looping), APPROVE)
        assert replayed.status_code == 409
        assert replayed.json()["visit"] == str(visit.pk)
        assert replayed.json()["evidence"] == visit.evidence_digest
        assert world.visit(looping) == visit
        named = reviewer.post(gate_path(looping), APPROVE | {"visit": replayed.json()["visit"]})
        assert named.status_code == 200
    assert Vote.objects.filter(visit__task=looping).count() == ROUNDS


def test_a_replayed_vote_with_its_key_gets_its_first_answer(world: World, api: Apis, looping: Task) -> None:
    reviewer = api.as_(world.reviewer)
    first = reviewer.post(gate_path(looping), APPROVE, key="deploy-42")
    assert first.status_code == 200
    world.report(looping)
    for _ in range(ROUNDS - 1):
        replayed = reviewer.post(gate_path(looping), APPROVE, key="deploy-42")
        assert (replayed.status_code, replayed.content) == (200, first.content)
        assert replayed["Idempotent-Replayed"] == "true"
        at_the_next_visit(world, looping)
    assert Vote.objects.filter(visit__task=looping, via="api").count() == 1


@pytest.mark.parametrize("named", ["visit", "evidence"])
def test_a_vote_that_names_an_earlier_visit_is_409(
    world: World, api: Apis, looping: Task, named: str
) -> None:
    reviewer = api.as_(world.reviewer)
    visit = world.visit(looping)
    body = (
        APPROVE | {"visit": {"visit": str(visit.pk)}, "evidence": {"evidence": visit.evidence_digest}}[named]
    )
    assert reviewer.post(gate_path(looping), body).status_code == 200
    world.report(looping)
    for _ in range(ROUNDS - 1):
        replayed = reviewer.post(gate_path(looping), body)
        assert replayed.status_code == 409
        assert replayed.json()["visit"] == str(world.visit(looping).pk)
        at_the_next_visit(world, looping)
    assert Vote.objects.filter(visit__task=looping, via="api").count() == 1


def test_evidence_that_two_visits_show_names_neither(world: World, api: Apis, looping: Task) -> None:
    """As after a migration, which closes a visit and asks again about the same."""
    seen = world.visit(looping).evidence_digest
    visit = at_the_next_visit(world, looping)
    GateVisit.objects.filter(pk=visit.pk).update(evidence_digest=seen)
    answer = api.as_(world.reviewer).post(gate_path(looping), APPROVE | {"evidence": seen})
    assert answer.status_code == 409
    assert answer.json()["visit"] == str(visit.pk)


def test_the_task_names_the_visit_beside_the_gate(world: World, api: Apis, looping: Task) -> None:
    reader, where = api.as_(world.viewer), f"/stages/loop/tasks/{looping.name}"
    for _ in range(2):
        visit = at_the_next_visit(world, looping)
        for told in (reader.get(where).json(), reader.get("/stages/loop/tasks").json()[0]):
            assert told["pendingGateId"] == "review"
            assert (told["visit"], told["evidence"]) == (str(visit.pk), visit.evidence_digest)
    world.vote(looping)
    told = reader.get(where).json()
    assert (told["pendingGateId"], told["visit"], told["evidence"]) == (None, None, None)


# Idempotency keys


def start(api: Api, key: str = "", **more: Any) -> Any:
    return api.post("/stages/release/tasks", {"title": "Add login", **more}, key=key)


@pytest.fixture
def line(world: World) -> None:
    world.line(**gated())


@pytest.mark.usefixtures("line")
def test_a_task_is_started_once_for_a_key(world: World, api: Apis) -> None:
    operator = api.as_(world.operator)
    first = start(operator, "k1")
    assert first.status_code == 201
    world.report(Task.objects.get())
    again = start(operator, "k1")
    assert (again.status_code, again.content) == (201, first.content)
    assert Task.objects.count() == 1
    assert start(operator, "k2").json()["id"] != first.json()["id"]
    assert start(operator).status_code == 201
    assert Task.objects.count() == 3


@pytest.mark.usefixtures("line")
def test_a_key_of_another_request_is_409_with_a_sentence(world: World, api: Apis) -> None:
    operator = api.as_(world.operator)
    assert start(operator, "k1").status_code == 201
    other = start(operator, "k1", priority="high")
    assert other.status_code == 409
    assert "another request" in other.json()["detail"]
    task = Task.objects.get()
    world.report(task)
    reviewer = api.as_(world.reviewer)
    assert reviewer.post(gate_path(task), APPROVE, key="k1").status_code == 200
    elsewhere = reviewer.post(gate_path(task), {"action": "reject", "reason": "No."}, key="k1")
    assert elsewhere.status_code == 409


@pytest.mark.usefixtures("line")
def test_a_key_belongs_to_one_actor(world: World, api: Apis) -> None:
    ids = {
        start(one, "k1").json()["id"]
        for one in (api.as_(world.operator), api.as_(world.admin), api.machine())
    }
    assert len(ids) == 3
    # Another token of the same person repeats that person's request.
    assert start(api.as_(world.operator), "k1").json()["id"] in ids


@pytest.mark.usefixtures("line")
def test_a_repeat_needs_the_rights_of_the_request(world: World, api: Apis) -> None:
    assert start(api.as_(world.operator), "k1").status_code == 201
    assert start(api.as_(world.operator, "read"), "k1").status_code == 403


@pytest.mark.usefixtures("line")
def test_a_refused_request_leaves_its_key_free(world: World, api: Apis) -> None:
    operator = api.as_(world.operator)
    assert start(operator, "k1", inputs={"no": "such field"}).status_code == 400
    assert start(operator, "k1").status_code == 201
    task = Task.objects.get()
    assert not Task.objects.exclude(pk=task.pk).exists()


@pytest.mark.parametrize("depth", [90, 300, 5_000, 200_000])
@pytest.mark.usefixtures("line")
def test_a_deep_body_with_a_key_is_400(world: World, api: Apis, depth: int) -> None:
    operator = api.as_(world.operator)
    body = '{"title": "t", "inputs": {"a": ' + "[" * depth + "]" * depth + "}}"
    answer = operator.post("/stages/release/tasks", body, key="k1")
    assert answer.status_code == 400, answer.content


@pytest.mark.parametrize("key", ["x" * 256, " "])
@pytest.mark.usefixtures("line")
def test_a_key_that_is_too_long_or_blank_is_400(world: World, api: Apis, key: str) -> None:
    answer = start(api.as_(world.operator), key)
    assert answer.status_code == 400
    assert not Task.objects.exists()


@pytest.mark.usefixtures("line")
def test_keys_expire_and_each_actor_keeps_a_bounded_number(
    world: World, api: Apis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_requests, "LARGEST", 3)
    operator, admin = api.as_(world.operator), api.as_(world.admin)
    start(admin, "of somebody else")
    for number in range(5):
        start(operator, f"k{number}")
    kept = RecordedAnswer.objects.filter(actor=f"person:{world.operator.pk}")
    assert sorted(kept.values_list("key", flat=True)) == ["k2", "k3", "k4"]
    assert RecordedAnswer.objects.filter(actor=f"person:{world.admin.pk}").exists()
    old = timezone.now() - timedelta(hours=repeated_requests.HOURS, minutes=1)
    RecordedAnswer.objects.update(at=old)
    start(operator, "k9")
    assert list(RecordedAnswer.objects.values_list("key", flat=True)) == ["k9"]


@pytest.mark.wide
@pytest.mark.django_db(transaction=True)
def test_of_many_requests_with_one_key_at_once_one_starts_a_task(world: World, api: Apis) -> None:
    world.line(**gated())
    operator, answers = api.as_(world.operator), []

    def send() -> None:
        answer = start(operator, "k1")
        answers.append((answer.status_code, answer.json()["id"]))
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert set(answers) == {(201, Task.objects.get().name)}


def test_an_unknown_visit_is_400(world: World, api: Apis, looping: Task) -> None:
    answer = api.as_(world.reviewer).post(gate_path(looping), APPROVE | {"visit": str(uuid.uuid4())})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == "visit"
