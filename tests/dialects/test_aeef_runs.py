"""AEEF E1, E12, E13, E27, E30: what a work item is and does. Real engine and API."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pipelines import engine
from pipelines.engine.commands.work_items import exchange_items_of_tasks
from pipelines.errors import Conflict, Forbidden, InputError
from pipelines.models import Agent, Escalation, Job, Status, Task
from tests.api.conftest import Apis
from tests.dialects.aeef import machine, owned
from tests.factories import World, make_world, station
from tests.pages.conftest import As, at, text

pytestmark = pytest.mark.django_db
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def there_and_back(world: World, **more: Any) -> Task:
    """testing → (fail) mend → where it came from; passed: ship."""
    stations = [
        station("code", {"id": "coded", "to": "testing"}),
        station(
            "testing",
            {"id": "passed", "when": {"verdict": "pass"}, "to": "ship"},
            {"id": "failed", "when": {"verdict": "fail"}, "to": "mend"},
        ),
        station("mend", {"id": "mended", "to": "@origin"}),
        "ship",
    ]
    return world.start(world.line(stations=stations, **more))


def test_E1_a_work_item_is_in_exactly_one_state_at_any_time(world: World) -> None:
    task = there_and_back(world)
    for outcome, where in [("pass", "testing"), ("fail", "mend"), ("pass", "testing"), ("pass", "ship")]:
        world.report(task, {"verdict": outcome})
        assert world.at(task) == [where]
        assert world.status(task) in Status.values
        assert task.jobs.exclude(state=Job.State.DONE).count() == 1


def test_E1_the_database_holds_it(world: World) -> None:
    task = there_and_back(world)
    job = world.job(task)
    job.pk, job.station, job.visit = None, "ship", 1
    with pytest.raises(IntegrityError, match="one_open_job_per_token"), transaction.atomic():
        job.save(force_insert=True)


def test_E12_after_a_rework_the_stage_that_failed_runs_again(world: World) -> None:
    task = there_and_back(world)
    for verdict in ("pass", "fail", "pass"):
        world.report(task, {"verdict": verdict})
    assert [(job.station, job.visit) for job in task.jobs.order_by("pk")] == [
        ("code", 1),
        ("testing", 1),
        ("mend", 1),
        ("testing", 2),
    ]


STATES = ["queued", "running", "awaiting_review", "blocked", "stuck", "held"]


def in_state(world: World, state: str) -> Task:
    """A task that rests in this state."""
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    way = {"id": "on", "when": {"eval": {"op": "equals", "value": "ok"}}, "to": "ship", "gates": ["review"]}
    version = world.line(stations=[station("build", way), "ship"], gates=[gate], policy={"no_match": "stuck"})
    task = world.start(version)
    if state == "running":
        world.started(task)
    elif state == "held":
        token = world.token(task)
        engine.hold(token.pk, user=world.operator, token_version=token.version)
    elif state != "queued":
        outcomes = {
            "awaiting_review": {"eval": "ok"},
            "blocked": {"result": "blocked"},
            "stuck": {"eval": "?"},
        }
        world.report(task, outcomes[state])
    assert world.status(task) == state
    return task


@pytest.mark.parametrize("state", STATES)
def test_E13_cancelled_is_reached_from_every_state_that_is_no_end(world: World, state: str) -> None:
    task = in_state(world, state)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    assert (world.status(task), world.at(task)) == ("cancelled", [])


@pytest.mark.parametrize("outcome", ["pass", "fail"])
def test_E13_what_has_ended_stays_as_it_is(world: World, outcome: str) -> None:
    task = world.start(world.line(stations=["build"]))
    job = world.started(task)
    world.report(task, {"verdict": outcome})
    ended = world.status(task)
    with pytest.raises(Conflict):
        engine.cancel(task.pk, actor=engine.Actor.person(world.operator))
    late = engine.report([world.report_of(job, {"verdict": "pass", "summary": "late"})])[0]
    assert (late.http, world.status(task), world.at(task)) == (409, ended, [])


def test_E17_a_failure_of_an_unclear_type_is_the_development_managers(world: World) -> None:
    task = world.start(world.line(machine(start="testing")))
    world.report(task, {"verdict": "fail", "failure_type": "strange"})
    found = Escalation.objects.get(task=task)
    assert (found.trigger, found.role) == ("on_failure", "Development Manager")
    assert (world.status(task), world.at(task)) == ("held", ["testing"])


def ended(world: World) -> Task:
    """With a secret that was filled in before inputs refused one."""
    inputs = [{"key": "repository", "type": "text"}, {"key": "token", "type": "secret"}]
    given = {"repository": "app"}
    task = world.start(world.line(stations=["build"], inputs=inputs), title="Add login", inputs=given)
    Task.objects.filter(pk=task.pk).update(inputs={**given, "token": "deploy-key"})
    world.report(task)
    assert world.status(task) == "completed"
    return task


def test_E13_new_work_from_an_ended_item_is_a_new_linked_one(world: World, api: Apis) -> None:
    old = ended(world)
    operator = api.as_(world.operator)
    new = operator.post("/stages/line/tasks", {"title": "Mend login", "follows": old.name})
    assert (new.status_code, new.json()["follows"], new.json()["columnId"]) == (201, old.name, "build")
    task = Task.objects.get(follows=old)
    assert (task.name, world.status(old)) == (new.json()["id"], "completed")
    assert task.events.get(seq=1).data["follows"] == old.name


def test_E13_what_has_not_ended_or_is_elsewhere_is_not_followed(world: World, api: Apis) -> None:
    open_task = world.start(world.line())
    operator = api.as_(world.operator)
    for name in (open_task.name, f"WI-{world.project.key}-99", "WI-elsewhere-1"):
        refused = operator.post("/stages/line/tasks", {"title": "Mend login", "follows": name})
        assert refused.status_code == 400
        assert [error["path"] for error in refused.json()["errors"]] == ["follows"]
    elsewhere = make_world()
    with pytest.raises(InputError):
        engine.submit(elsewhere.line(), actor=engine.ENGINE, title="Mend login", follows=ended(world))


def test_E13_the_page_of_an_ended_item_offers_a_follow_up_filled_as_it_was(
    world: World, signed_in: As
) -> None:
    old = ended(world)
    client = signed_in(world.operator)
    assert f"?follows={old.name}" in text(client.get(at(world, "task", old.name)))
    form = text(client.get(at(world, "task-new", "line"), {"follows": old.name}))
    assert 'value="Add login"' in form
    assert 'value="app"' in form
    assert "deploy-key" not in form
    sent = {"title": "Mend login", "priority": "medium", "follows": old.name, "inputs.repository": "app"}
    client.post(at(world, "task-new", "line"), sent)
    new = Task.objects.get(follows=old)
    assert new.name in text(client.get(at(world, "task", old.name)))
    assert old.name in text(client.get(at(world, "task", new.name)))


def test_E13_who_may_not_start_tasks_is_offered_none(world: World, signed_in: As) -> None:
    old = ended(world)
    assert "?follows=" not in text(signed_in(world.viewer).get(at(world, "task", old.name)))


def test_E27_a_work_item_has_its_number_its_times_and_the_inputs_of_the_line(world: World, api: Apis) -> None:
    inputs = [
        {"key": "risk_tier", "type": "choice", "choices": ["1", "2", "3", "4"], "required": True},
        {
            "key": "data_classification",
            "type": "choice",
            "choices": ["public", "internal"],
            "default": "public",
        },
    ]
    world.line(stations=["build", "ship"], inputs=inputs)
    operator = api.as_(world.operator)
    started = operator.post("/stages/line/tasks", {"title": "Add login", "inputs": {"risk_tier": "2"}}).json()
    assert re.fullmatch(rf"WI-{world.project.key}-\d+", started["id"])
    assert started["title"] == "Add login"
    assert started["inputs"] == {"risk_tier": "2", "data_classification": "public"}
    assert (started["columnId"], started["updatedAt"] >= started["createdAt"]) == ("build", True)
    refused = operator.post("/stages/line/tasks", {"title": "Add login", "inputs": {"risk_tier": "5"}})
    assert refused.status_code == 400


def test_E27_its_jobs_are_its_stage_history(world: World) -> None:
    task = there_and_back(world)
    for verdict in ("pass", "fail", "pass"):
        world.report(task, {"verdict": verdict})
    history = task.jobs.exclude(ended_at=None).order_by("pk")
    assert [(job.station, job.visit, (job.outcome or {})["verdict"]) for job in history] == [
        ("code", 1, "pass"),
        ("testing", 1, "fail"),
        ("mend", 1, "pass"),
    ]
    assert all(job.started_at and job.ended_at and job.started_at <= job.ended_at for job in history)


def work_item(api: Apis, world: World, task: Task) -> dict[str, Any]:
    path = f"/stages/{task.line.key}/tasks/{task.name}/work-item"
    answer = api.as_(world.viewer).get(path)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


@pytest.mark.wide
def test_E27_a_work_item_is_read_with_every_field(world: World, api: Apis) -> None:
    inputs = [
        {"key": "risk_tier", "type": "choice", "choices": ["1", "2", "3", "4"]},
        {"key": "data_classification", "type": "text"},
    ]
    line = owned() | {"preset": "alp", "inputs": inputs}
    agent = Agent.objects.create(
        project=world.project,
        key="qa-agent",
        owner=world.operator,
        trust={"testing": 2},
        created_at=timezone.now(),
    )
    given = {"risk_tier": "3", "data_classification": "internal"}
    task = world.start(world.line(line), inputs=given, title="Add login")
    for verdict in ("pass", "pass", "pass", "pass"):
        world.report(task, {"verdict": verdict})
    world.report(task, {"verdict": "fail", "failure_type": "test gap"})
    world.report(task, {"verdict": "pass"})
    world.report(task, {"verdict": "pass"})
    item = work_item(api, world, task)
    assert list(item) == [
        "id",
        "title",
        "risk_tier",
        "data_classification",
        "current_state",
        "current_agent",
        "created_at",
        "updated_at",
        "stage_history",
        "rework_count",
        "total_iterations",
        "escalation_history",
        "trust_levels",
    ]
    assert (item["id"], item["title"]) == (task.name, "Add login")
    assert (item["risk_tier"], item["data_classification"]) == (3, "internal")
    assert (item["current_state"], item["current_agent"]) == ("security", "security-agent")
    assert all(re.fullmatch(ISO, item[name]) for name in ("created_at", "updated_at"))
    history = item["stage_history"]
    assert [(each["stage"], each["result"], each["iteration"]) for each in history] == [
        ("intake", "pass", 1),
        ("requirements", "pass", 1),
        ("design", "pass", 1),
        ("implementation", "pass", 1),
        ("testing", "fail", 1),
        ("rework_test", "pass", 1),
        ("testing", "pass", 2),
        ("security", None, 1),
    ]
    assert [each["agent"] for each in history[:2]] == ["orchestrator", "product-agent"]
    assert all(re.fullmatch(ISO, each["exited_at"]) for each in history[:-1])
    assert history[-1]["exited_at"] is None
    assert (item["rework_count"], item["total_iterations"]) == (1, 8)
    assert item["trust_levels"][agent.key] == 2
    assert item["trust_levels"]["developer-agent"] == 0
    moves = [
        json.loads(each)["handoff_id"]
        for each in _streamed(
            api, world, f"/stages/{task.line.key}/tasks/{task.name}/events?transitions=true"
        )
    ]
    assert [each["handoff_id"] for each in history[:-1]] == [name for name in moves if name]


def test_E27_what_was_escalated_is_in_its_history(world: World, api: Apis) -> None:
    task = there_and_back(world)
    world.report(task, {"verdict": "pass"})
    raised = engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Too big.")
    [told] = work_item(api, world, task)["escalation_history"]
    assert (told["id"], told["trigger"], told["reason"]) == (str(raised.pk), "architecture", "Too big.")
    assert (told["resolved_at"], told["resolution"]) == (None, None)
    engine.resolve_escalation(raised.pk, user=world.admin, word="go_on", reason="It is fine.")
    [told] = work_item(api, world, task)["escalation_history"]
    assert (told["resolution"], told["answer"], told["resolved_by"]) == (
        "go_on",
        "It is fine.",
        str(world.admin),
    )


def test_E27_what_is_missing_or_unknown_is_null(world: World, api: Apis) -> None:
    task = world.start(
        world.line(
            stations=["build", "ship"],
            inputs=[{"key": "risk_tier", "type": "text"}, {"key": "data_classification", "type": "text"}],
        ),
        inputs={"risk_tier": "7", "data_classification": "secret"},
    )
    item = work_item(api, world, task)
    assert (item["risk_tier"], item["data_classification"]) == (None, None)
    assert (item["trust_levels"], item["escalation_history"], item["rework_count"]) == ({}, [], 0)
    world.report(task, {"result": "failure"})
    ended = work_item(api, world, task)
    assert (ended["current_state"], ended["current_agent"]) == ("failed", None)


@pytest.mark.wide
def test_E27_work_items_are_exported_by_line_and_project(world: World, api: Apis) -> None:
    first, second = there_and_back(world), world.start(world.line(key="other"))
    viewer = api.as_(world.viewer)
    of_line = [json.loads(each) for each in _streamed(api, world, "/lines/line/work-items")]
    of_all = [json.loads(each) for each in _streamed(api, world, "/work-items")]
    assert [each["id"] for each in of_line] == [first.name]
    assert of_all == [work_item(api, world, task) for task in (first, second)]
    assert viewer.get("/lines/none/work-items").status_code == 404


@pytest.mark.wide
def test_E27_an_export_costs_the_same_statements_however_many(world: World) -> None:
    version = there_and_back(world).pinned

    def statements() -> int:
        with CaptureQueriesContext(connection) as found:
            assert len(list(exchange_items_of_tasks(Task.objects.filter(project=world.project)))) > 0
        return len(found)

    list(exchange_items_of_tasks(Task.objects.all()))
    few = statements()
    for _ in range(20):
        world.report(world.start(version), {"verdict": "pass"})
    assert statements() == few


def _streamed(api: Apis, world: World, path: str) -> list[bytes]:
    answer = api.as_(world.viewer).get(path)
    assert answer.status_code == 200
    return b"".join(answer).splitlines()


def by_hand(world: World, **approval: Any) -> Task:
    """A person does the work, then its gate asks."""
    gate = {"key": "review", "name": "Review", "mode": "manual", "approval": approval}
    work = station("write", {"id": "on", "to": "ship", "gates": ["review"]}, kind="manual")
    task = world.start(world.line(stations=[work, "ship"], gates=[gate]))
    token = world.token(task)
    said = {"result": "success"}
    engine.complete_manual_job(
        world.job(task).pk, user=world.reviewer, token_version=token.version, outcome=said
    )
    return task


def test_E30_who_produced_the_change_cannot_approve_its_gate(world: World) -> None:
    task = by_hand(world)
    with pytest.raises(Forbidden):
        world.vote(task, by=world.reviewer)
    world.vote(task, by=world.admin)
    assert world.at(task) == ["ship"]


def test_E30_unless_the_gate_lets_them(world: World) -> None:
    task = by_hand(world, producer_may=True)
    world.vote(task, by=world.reviewer)
    assert world.at(task) == ["ship"]
