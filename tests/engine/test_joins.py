"""Forks and joins (law §7): branches that come, and what they come to."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.lines.publishing import PublishRefused
from pipelines.models import Decision, Escalation, Event, Job, Task, Token
from tests.engine.joining import FAILED, OK, begun, gate5, on
from tests.factories import World

pytestmark = pytest.mark.django_db


BLOCKED = {"result": "blocked"}


def last(task: Task, kind: str) -> Event:
    return Event.objects.filter(task=task, kind=kind).latest("seq")


# Waiting and merging


def test_E24_both_branches_have_to_complete_before_the_join(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    assert world.at(task) == ["release", "security"]
    waiting = world.token(task, "release")
    assert (waiting.status, waiting.wait["join"]["from"]) == ("queued", "qa")
    assert not Job.objects.filter(task=task, station="release").exists()
    world.report(task, station="security")
    assert world.at(task) == ["release"]
    world.report(task, station="release")
    assert world.status(task) == "completed"


def test_E24_one_failing_branch_lets_the_other_go_on_and_the_item_cannot_advance(world: World) -> None:
    task = begun(world, gate5(world))
    world.started(task, "security")
    world.report(task, FAILED, station="qa")
    assert world.status(task) == "running"
    world.report(task, station="security")
    assert (world.status(task), world.at(task)) == ("failed", [])
    told = last(task, "token.joined").data["join"]
    assert told["branches"] == {"qa": "fail", "security": "pass"}


def test_E24_a_third_agent_runs_after_both_have_completed(world: World) -> None:
    devmgr = on("devmgr", {"to": "completed"}, join={"wait_for": ["qa", "security"], "aggregation": "none"})
    task = begun(world, gate5(world, devmgr, on("release", {"to": "completed"}), branch={"to": "devmgr"}))
    world.report(task, FAILED, station="security")
    assert not Job.objects.filter(task=task, station="devmgr").exists()
    world.report(task, station="qa")
    assert world.at(task) == ["devmgr"]


def test_E25_one_state_drives_the_gate_after_the_join(world: World) -> None:
    gate = {"key": "gate-5", "name": "Gate 5", "mode": "manual"}
    line = gate5(world, release=[{"to": "completed", "gates": ["gate-5"]}], gates=[gate])
    task = begun(world, line)
    root = Token.objects.get(task=task, parent=None)
    for key in ("qa", "security", "release"):
        world.report(task, station=key)
    assert [token.pk for token in Token.objects.filter(task=task, status="awaiting_review")] == [root.pk]
    world.vote(task)
    assert world.status(task) == "completed"


def test_the_merged_token_takes_the_place_of_the_forked_one(world: World) -> None:
    task = begun(world, gate5(world))
    root = Token.objects.get(task=task, parent=None)
    assert root.forked
    for key in ("security", "qa"):
        world.report(task, station=key)
    merged = world.token(task)
    assert (merged.pk, merged.forked, merged.origin) == (root.pk, False, "qa")
    assert set(Token.objects.filter(joined=root).values_list("status", flat=True)) == {"completed"}


def test_a_join_is_one_move_more_of_the_same_cause(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    world.report(task, station="security")
    moved, joined = task.events.order_by("-seq")[1], task.events.order_by("-seq")[0]
    assert (moved.kind, joined.kind) == ("token.moved", "token.joined")
    assert moved.trigger == joined.trigger
    assert (moved.decision is not None, joined.decision) == (True, None)
    assert (joined.source, joined.target) == ("qa,security", "release")


def test_only_the_entry_of_the_merged_token_counts_as_a_visit(world: World) -> None:
    task = begun(world, gate5(world))
    for key in ("qa", "security"):
        world.report(task, station=key)
    task.refresh_from_db()
    assert task.visits == {"plan": 1, "qa": 1, "security": 1, "release": 1}
    assert (task.edges["qa->release"], task.edges["security->release"]) == (1, 1)


def test_branches_that_deliver_in_one_batch_merge_once(world: World) -> None:
    task = begun(world, gate5(world))
    members = [world.report_of(world.started(task, key)) for key in ("qa", "security")]
    assert [result.decision for result in engine.report(members)] == ["move", "move"]
    assert world.kinds(task).count("token.joined") == 1
    assert world.at(task) == ["release"]


# What the branches come to


@pytest.mark.parametrize(
    ("aggregation", "qa", "security", "result"),
    [
        ("all-pass", OK, OK, None),
        ("all-pass", OK, FAILED, "failure"),
        ("any-pass", FAILED, OK, None),
        ("any-pass", FAILED, FAILED, "failure"),
        ("any-pass", BLOCKED, OK, "blocked"),
        ("majority-pass", OK, FAILED, "failure"),
        ("none", FAILED, BLOCKED, None),
    ],
)
def test_D21_the_aggregation_says_whether_the_join_station_runs(
    world: World, aggregation: str, qa: dict[str, Any], security: dict[str, Any], result: str | None
) -> None:
    task = begun(world, gate5(world, aggregation=aggregation))
    world.report(task, qa, station="qa")
    world.report(task, security, station="security")
    job = Job.objects.get(task=task, station="release")
    assert (job.state, job.result) == (("queued", "") if result is None else ("done", result))


def test_what_is_no_pass_is_routed_from_the_join_station_without_running_it(world: World) -> None:
    fix = on("fix", {"to": "completed"})
    security = {"output": {"path": "$.branches.security", "op": "equals", "value": "fail"}}
    line = gate5(world, fix, release=[{"when": security, "to": "fix"}, {"to": "completed"}])
    task = begun(world, line)
    world.report(task, station="qa")
    world.report(task, {"result": "failure", "failure_type": "license"}, station="security")
    assert world.at(task) == ["fix"]
    job = Job.objects.get(task=task, station="release")
    assert (job.started_at, job.reported_by, job.visit) == (None, "engine", 1)
    assert job.outcome == {
        "verdict": "fail",
        "failure_type": "license",
        "output": {"branches": {"qa": "pass", "security": "fail"}, "never": []},
        "summary": "qa passed, security failed; the join wants all-pass.",
    }
    decision = Decision.objects.get(task=task, job_id=job.pk)
    assert (decision.cause, decision.answer["rule"]) == (f"join:{job.pk}", "release-1")
    task.refresh_from_db()
    assert "branches" not in task.context


def test_what_a_gate_refused_counts_as_failed_whatever_was_reported(world: World) -> None:
    gate = {"key": "look", "name": "Look", "mode": "manual", "on_reject": "route:release"}
    line = gate5(world, on("qa", {"to": "release", "gates": ["look"]}), gates=[gate])
    task = begun(world, line)
    world.report(task, station="security")
    world.report(task, station="qa")
    assert world.status(task) == "awaiting_review"
    world.vote(task, "reject", reason="no")
    assert last(task, "token.joined").data["join"]["branches"] == {"qa": "fail", "security": "pass"}


# The context


def test_C24_the_join_station_starts_with_the_merged_context(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, {"result": "success", "output": {"qa": 1, "n": 1}}, station="qa")
    world.report(task, {"result": "success", "output": {"security": 2, "n": 2}}, station="security")
    task.refresh_from_db()
    assert task.context == {"qa": 1, "security": 2, "n": 2}
    assert last(task, "token.joined").data["contradictions"] == ["n"]
    assert world.job(task).station == "release"


def test_E22_contradictory_outputs_hold_the_task_where_the_knob_says_escalate(world: World) -> None:
    task = begun(world, gate5(world, policy={"contradiction": "escalate"}))
    world.report(task, {"result": "success", "output": {"n": 1}}, station="qa")
    world.report(task, {"result": "success", "output": {"n": 2}}, station="security")
    token = world.token(task)
    assert (token.status, token.station) == ("held", "release")
    assert (token.wait["trigger"], token.wait["keys"]) == ("contradiction", ["n"])
    assert token.wait["values"] == {"qa": {"n": 1}, "security": {"n": 2}}
    escalation = Escalation.objects.get(task=task)
    assert escalation.reason == "qa, security wrote different values under n."
    engine.resolve_escalation(
        escalation.pk, user=world.admin, word="choose", route="qa", reason="It counted them all."
    )
    task.refresh_from_db()
    assert (world.job(task).station, task.context) == ("release", {"n": 1})


def test_branches_that_agree_contradict_nothing(world: World) -> None:
    task = begun(world, gate5(world, policy={"contradiction": "escalate"}))
    for key in ("qa", "security"):
        world.report(task, {"result": "success", "output": {"n": 1}}, station=key)
    assert world.job(task).station == "release"


# Pairs that must never run in parallel


def test_E26_a_line_that_forks_into_a_forbidden_pair_is_not_published(world: World) -> None:
    with pytest.raises(PublishRefused, match="qa and security can run in parallel"):
        gate5(world, forbidden_parallel=[["qa", "security"]])


def test_E26_a_move_beside_a_token_in_the_forbidden_station_is_stuck(world: World) -> None:
    qa = on("qa", {"to": "deploy"})
    deploy = on("deploy", {"to": "release"})
    wait = {"wait_for": ["deploy", "security"]}
    release = on("release", {"to": "completed"}, join=wait)
    line = gate5(world, qa, deploy, release, forbidden_parallel=[["security", "deploy"]])
    task = begun(world, line)
    world.report(task, station="qa")
    token = world.token(task, "qa")
    assert (token.status, token.error) == ("stuck", "ForbiddenParallel")
    with pytest.raises(Conflict, match="deploy and security must never run in parallel"):
        engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to="deploy")
    world.report(task, station="security")
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
    for key in ("qa", "deploy", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
