"""What people do by hand: complete, answer, retry, hold, release, cancel."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict, InputError, Invalid, NotFound
from pipelines.models import Lease, Task
from tests.factories import World, station

pytestmark = pytest.mark.django_db

QUESTION = {"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which branch?"}}


def act(world: World, task: Task, verb: Any, **more: Any) -> Task:
    token = world.token(task)
    result: Task = verb(token.pk, **{"user": world.operator, "token_version": token.version, **more})
    return result


def blocked(world: World) -> Task:
    task = world.start(world.line(stations=["build", "ship"]))
    world.report(task, {"result": "success", "signals": [QUESTION]})
    return task


def test_an_answer_runs_the_station_again_with_it(world: World) -> None:
    task = blocked(world)
    act(world, task, engine.answer_blocked_token, text="main")
    job = world.job(task)
    assert (job.station, job.visit, job.feedback) == ("build", 2, "main")
    task.refresh_from_db()
    assert (task.status, task.edges) == ("queued", {})


def test_a_blank_answer_is_refused(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        act(world, blocked(world), engine.answer_blocked_token, text="  ")
    assert refused.value.path == "text"


def test_nobody_answers_twice(world: World) -> None:
    task = blocked(world)
    seen = world.token(task).version
    act(world, task, engine.answer_blocked_token, text="main")
    with pytest.raises(Conflict):
        act(world, task, engine.answer_blocked_token, text="next", token_version=seen)


def evaluated(world: World) -> Task:
    """build: an evaluation decides between ship and build."""
    ask = {"agentic": {"question": "Is it good?"}, "answer": "yes"}
    good, bad = {"id": "good", "when": ask, "to": "ship"}, {"id": "bad", "to": "build", "max_retries": 2}
    version = world.line(stations=[station("build", good, bad), "ship"], flags={"agentic_conditions": True})
    task = world.start(version)
    world.report(task)
    return task


@pytest.mark.parametrize(("fact", "where"), [("yes", "ship"), ("no", "build")])
def test_an_evaluation_waits_for_a_persons_fact_and_is_decided_with_it(
    world: World, fact: str, where: str
) -> None:
    task = evaluated(world)
    token = world.token(task)
    assert (token.status, token.wait["evaluation"]) == ("blocked", {"agentic": {"question": "Is it good?"}})
    act(world, task, engine.answer_blocked_token, fact=fact)
    assert world.at(task) == [where]
    first, second = task.decisions.order_by("at")
    assert second.situation["outcome"] == first.situation["outcome"]
    assert second.situation["facts"]["answers"] == [{"agentic": {"question": "Is it good?"}, "answer": fact}]


def test_a_fact_is_one_of_two_words(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        act(world, evaluated(world), engine.answer_blocked_token, fact="perhaps")
    assert refused.value.path == "fact"


def test_retry_runs_a_stuck_station_again_as_a_new_visit(world: World) -> None:
    rule = {"id": "never", "when": {"eval": {"op": "equals", "value": "x"}}, "to": "ship"}
    task = world.start(world.line(stations=[station("build", rule), "ship"], policy={"no_match": "stuck"}))
    world.report(task)
    assert world.status(task) == "stuck"
    act(world, task, engine.move_or_retry_by_hand, reason="the disk was full")
    assert (world.job(task).visit, world.status(task)) == (2, "queued")
    assert world.token(task).error == ""


def test_retry_is_no_way_out_of_an_end(world: World) -> None:
    task = world.start(world.line(stations=["build"]))
    token = world.token(task)
    world.report(task)
    with pytest.raises(Conflict):
        engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version + 1)


def test_a_held_token_is_not_started_until_it_is_released(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    act(world, task, engine.hold, reason="freeze")
    assert (world.status(task), world.token(task).wait["reason"]) == ("held", "freeze")
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is None
    with pytest.raises(Conflict):
        act(world, task, engine.move_or_retry_by_hand)
    act(world, task, engine.release)
    assert world.status(task) == "queued"
    world.report(task)
    assert world.at(task) == ["ship"]


def test_cancel_ends_the_task_and_what_is_open_in_it(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"]))
    job = world.started(task)
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="not needed")
    task.refresh_from_db()
    job.refresh_from_db()
    assert (task.status, task.end, task.reason) == ("cancelled", "cancelled", "not needed")
    assert (job.state, job.result) == ("done", "cancelled")
    assert not Lease.objects.exists()
    with pytest.raises(Conflict):
        engine.cancel(task.pk, actor=engine.ENGINE)


def test_cancel_closes_open_gates(world: World) -> None:
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", behind), "ship"], gates=[gate]))
    world.report(task)
    visit = world.visit(task)
    engine.cancel(task.pk, actor=engine.ENGINE)
    with pytest.raises(Conflict, match="closed"):
        world.vote(task, visit=visit)


def test_what_does_not_exist_is_not_found(world: World) -> None:
    for verb in (engine.move_or_retry_by_hand, engine.answer_blocked_token, engine.hold, engine.release):
        with pytest.raises(NotFound):
            verb(2**40, user=world.operator, token_version=1)
    with pytest.raises(NotFound):
        engine.cancel(2**40, actor=engine.ENGINE)
    with pytest.raises(NotFound):
        engine.complete_manual_job(2**40, user=world.operator, token_version=1, outcome={"result": "success"})


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 20_001], ids=["NUL", "surrogate", "long"])
def test_words_that_cannot_be_stored_are_refused(world: World, text: str) -> None:
    task = blocked(world)
    for verb, path in ((engine.answer_blocked_token, "text"), (engine.move_or_retry_by_hand, "reason")):
        with pytest.raises(Invalid) as refused:
            act(world, task, verb, **{path: text})
        assert refused.value.path == path
    with pytest.raises(Invalid):
        engine.cancel(task.pk, actor=engine.ENGINE, reason=text)


# Manual stations


def manual(world: World, **work: Any) -> Task:
    return world.start(world.line(stations=[station("triage", kind="manual", work=work), "ship"]))


def complete(world: World, task: Task, outcome: dict[str, Any], **more: Any) -> engine.ReportResult:
    shown = {"token_version": world.token(task).version, "user": world.operator}
    return engine.complete_manual_job(world.job(task).pk, outcome=outcome, **{**shown, **more})


def test_a_person_completes_a_manual_job_without_a_lease(world: World) -> None:
    task = manual(world)
    assert world.status(task) == "running"
    result = complete(world, task, {"result": "success", "output": {"severity": "low"}})
    assert result.decision == "move"
    task.refresh_from_db()
    assert (world.at(task), task.context) == (["ship"], {"severity": "low"})
    assert task.jobs.get(station="triage").reported_by == f"person:{world.operator.pk}"


def test_the_form_of_a_manual_station_is_checked(world: World) -> None:
    fields = [{"key": "severity", "type": "choice", "choices": ["low", "high"], "required": True}]
    task = manual(world, form=fields)
    with pytest.raises(InputError) as refused:
        complete(world, task, {"result": "success", "output": {"severity": "medium", "more": 1}})
    assert {each.path for each in refused.value.problems} == {
        "outcome.output.severity",
        "outcome.output.more",
    }
    complete(world, task, {"result": "success", "output": {"severity": "high"}})
    assert world.at(task) == ["ship"]


def test_who_reports_no_success_need_not_fill_the_form(world: World) -> None:
    fields = [{"key": "severity", "type": "text", "required": True}]
    task = manual(world, form=fields)
    complete(world, task, {"result": "blocked"})
    assert world.status(task) == "blocked"


def test_the_second_person_to_complete_a_job_is_told(world: World) -> None:
    task = manual(world)
    job, version = world.job(task), world.token(task).version
    complete(world, task, {"result": "success"})
    with pytest.raises(Conflict):
        engine.complete_manual_job(
            job.pk, user=world.admin, token_version=version, outcome={"result": "failure"}
        )


def test_a_malformed_completion_is_refused_with_its_place(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        complete(world, manual(world), {"result": "perhaps"})
    assert refused.value.path == "outcome.result"
