"""Joins: branches wait for each other, merge, and go on as one (law §7; AEEF E24, E25; Flux D21)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine, invariants
from pipelines.engine.core.errors import Conflict
from pipelines.lines.publishing import PublishRefused
from pipelines.models import Decision, Escalation, Event, Job, LineVersion, Task, Token
from tests.engine.lines_in_change import published
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db

OK, FAILED = {"result": "success"}, {"result": "failure"}
BLOCKED = {"result": "blocked"}


def on(key: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A station whose rules have ids of their own."""
    return station(key, *[{"id": f"{key}-{i}", **rule} for i, rule in enumerate(rules, 1)], **more)


def gate5(
    world: World,
    *extra: dict[str, Any],
    aggregation: str = "all-pass",
    branch: dict[str, Any] | None = None,
    release: list[dict[str, Any]] | None = None,
    **more: Any,
) -> LineVersion:
    """plan → (qa ∥ security) → release. A branch leads to release whatever its outcome, unless `branch` says else."""
    rule = branch or {"to": "release"}
    known = {
        "plan": on("plan", {"to": ["qa", "security"]}),
        "qa": on("qa", rule),
        "security": on("security", rule),
        "release": on(
            "release",
            *(release or [{"when": {"result": "success"}, "to": "completed"}, {"to": "failed"}]),
            join={"wait_for": ["qa", "security"], "aggregation": aggregation},
        ),
    }
    known |= {each["key"]: each for each in extra}
    return world.line(stations=list(known.values()), **more)


def begun(world: World, line: LineVersion) -> Task:
    task = world.start(line)
    world.report(task, station="plan")
    return task


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


# Branches that do not come


def test_a_branch_that_fails_with_no_rule_of_its_own_ends_and_counts_as_failed(world: World) -> None:
    passed = {"when": {"result": "success"}, "to": "release"}
    task = begun(world, gate5(world, branch=passed, aggregation="any-pass"))
    world.report(task, FAILED, station="qa")
    assert world.at(task) == ["security"]
    world.report(task, station="security")
    assert world.at(task) == ["release"]
    world.report(task, station="release")
    assert world.status(task) == "completed"


def test_an_end_in_a_branch_completes_the_accounting(world: World) -> None:
    rules: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "release"}, {"to": "cancelled"}]
    branches = [on(key, *rules) for key in ("qa", "security")]
    task = begun(world, gate5(world, *branches))
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert (world.status(task), world.kinds(task)[-3:]) == (
        "failed",
        ["token.ended", "token.joined", "token.ended"],
    )


def test_a_branch_that_leaves_for_elsewhere_is_not_waited_for(world: World) -> None:
    """The merged token is a sibling of it as long as it lives."""
    security = on("security", {"when": {"result": "success"}, "to": "release"}, {"to": "cleanup"})
    cleanup = on("cleanup", {"when": {"result": "success"}, "to": "completed"}, {"to": "failed"})
    line = gate5(world, security, cleanup, aggregation="any-pass")
    task = begun(world, line)
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert sorted(world.at(task)) == ["cleanup", "release"]
    assert invariants.check([task.pk]) == []
    world.report(task, station="release")
    assert world.status(task) == "queued"
    world.report(task, FAILED, station="cleanup")
    assert world.status(task) == "failed"


def test_the_end_of_a_sibling_that_no_join_accounts_for_is_the_tasks_too(world: World) -> None:
    plan = on("plan", {"to": ["qa", "security", "docs"]})
    docs = on("docs", {"when": {"result": "success"}, "to": "completed"}, {"to": "failed"})
    task = begun(world, gate5(world, plan, docs))
    world.report(task, FAILED, station="docs")
    for key in ("qa", "security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "failed"


def test_a_sibling_that_ended_well_is_no_obstacle(world: World) -> None:
    plan = on("plan", {"to": ["qa", "security", "docs"]})
    task = begun(world, gate5(world, plan, on("docs", {"to": "completed"})))
    for key in ("docs", "qa", "security"):
        world.report(task, station=key)
    assert world.token(task).parent_id is None
    world.report(task, station="release")
    assert world.status(task) == "completed"


def test_while_it_is_stuck_a_branch_may_still_come(world: World) -> None:
    security = on("security", {"when": {"result": "success"}, "to": "release"})
    task = begun(world, gate5(world, security, policy={"on_failure": "stuck"}))
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert world.status(task) == "stuck"
    token = world.token(task, "security")
    engine.retry(token.pk, user=world.operator, token_version=token.version)
    world.report(task, station="security")
    assert world.at(task) == ["release"]


def test_abort_and_cancelling_end_what_waits_at_a_join(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    abort = {"result": "failure", "signals": [{"verdict": "abort", "reason": "x"}]}
    world.report(task, abort, station="security")
    assert (world.status(task), world.at(task)) == ("failed", [])
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    engine.cancel(task.pk, actor=engine.ENGINE)
    assert (world.status(task), world.at(task)) == ("cancelled", [])


def test_what_waits_at_a_join_can_be_neither_held_nor_retried(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    token = world.token(task, "release")
    for command in (engine.hold, engine.retry, engine.release):
        with pytest.raises(Conflict):
            command(token.pk, user=world.operator, token_version=token.version)


# Loops and nesting


def test_a_second_round_is_a_second_merge(world: World) -> None:
    again: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "completed"}, {"to": "plan"}]
    task = begun(world, gate5(world, release=again))
    for key in ("qa", "security"):
        world.report(task, station=key)
    world.report(task, FAILED, station="release")
    assert world.at(task) == ["plan"]
    for key in ("plan", "qa", "security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
    assert world.kinds(task).count("token.joined") == 2
    task.refresh_from_db()
    assert task.visits["release"] == 2


def test_a_failed_join_may_lead_to_another_round(world: World) -> None:
    again: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "completed"}, {"to": "plan"}]
    task = begun(world, gate5(world, release=again))
    world.report(task, station="qa")
    world.report(task, FAILED, station="security")
    assert world.at(task) == ["plan"]
    for key in ("plan", "qa", "security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"


def test_joins_in_which_nothing_ever_runs_are_stopped_by_the_cap(world: World) -> None:
    """Lint refuses such a line."""
    plan = on("plan", {"when": {"verdict": "fail"}, "to": "one"}, {"to": "completed"})
    one = on("one", {"when": {"verdict": "fail"}, "to": "two"}, {"to": "completed"})
    two = on("two", {"when": {"verdict": "fail"}, "to": "one"}, {"to": "completed"})
    one |= {"join": {"wait_for": ["two", "plan"]}}
    two |= {"join": {"wait_for": ["one"]}}
    task = world.start(published(world, document([plan, one, two], policy={"visit_cap": 5})))
    world.report(task, FAILED, station="plan")
    token = world.token(task)
    assert (token.status, token.error) == ("stuck", "VisitLimitExceeded")


def test_forks_nest_each_with_its_own_join(world: World) -> None:
    stations = [
        on("plan", {"to": ["split", "docs"]}),
        on("split", {"to": ["left", "right"]}),
        on("left", {"to": "meet"}),
        on("right", {"to": "meet"}),
        on("meet", {"to": "all"}, join={"wait_for": ["left", "right"]}),
        on("docs", {"to": "all"}),
        on("all", {"to": "completed"}, join={"wait_for": ["meet", "docs"]}),
    ]
    task = begun(world, world.line(stations=stations))
    for key in ("docs", "split", "left"):
        world.report(task, station=key)
    assert sorted(world.at(task)) == ["all", "meet", "right"]
    for key in ("right", "meet", "all"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
    assert world.kinds(task).count("token.joined") == 2


def test_one_join_may_take_in_branches_of_several_depths(world: World) -> None:
    stations = [
        on("plan", {"to": ["split", "docs"]}),
        on("split", {"to": ["left", "right"]}),
        on("left", {"to": "all"}),
        on("right", {"to": "all"}),
        on("docs", {"to": "all"}),
        on("all", {"to": "completed"}, join={"wait_for": ["left", "right", "docs"]}),
    ]
    task = begun(world, world.line(stations=stations))
    for key in ("split", "left", "right", "docs", "all"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
    assert Token.objects.filter(task=task, joined__isnull=False).count() == 4


def test_a_token_from_elsewhere_enters_the_join_station_like_any_other(world: World) -> None:
    """Work that is sent back from the join station comes to it again without a fork: nobody is waited for."""
    fix = on("fix", {"to": "release"})
    again: list[dict[str, Any]] = [{"when": {"result": "success"}, "to": "completed"}, {"to": "fix"}]
    task = begun(world, gate5(world, fix, release=again))
    for key in ("qa", "security"):
        world.report(task, station=key)
    world.report(task, FAILED, station="release")
    world.report(task, station="fix")
    assert world.job(task).station == "release"


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
    engine.resolve(escalation.pk, user=world.admin, word="choose", route="qa", reason="It counted them all.")
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
    world.report(task, station="security")
    engine.retry(token.pk, user=world.operator, token_version=token.version)
    for key in ("qa", "deploy", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"


# Migration


def migrated(world: World, task: Task, to: LineVersion, mapping: dict[str, str] | None = None) -> Any:
    member = engine.Migrating(task.pk, to.pk, mapping or {})
    return engine.migrate([member], engine.Actor.person(world.admin))[0]


def test_what_waits_at_a_join_is_migrated_and_goes_on_waiting(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    names = {"qa": "testing", "release": "ship", "plan": "begin"}
    renamed = [
        on("begin", {"to": ["testing", "security"]}),
        on("testing", {"to": "ship"}),
        on("security", {"to": "ship"}),
        on("ship", {"to": "completed"}, join={"wait_for": ["testing", "security"]}),
    ]
    result = migrated(world, task, world.line(stations=renamed), names)
    assert (result.status, [each.effect for each in result.plan.effects]) == ("migrated", ["stays", "stays"])
    assert world.token(task, "ship").wait["join"]["from"] == "testing"
    for key in ("security", "ship"):
        world.report(task, station=key)
    assert world.status(task) == "completed"


def test_a_version_that_waits_for_less_completes_the_join_at_once(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, station="qa")
    release = on("release", {"to": "completed"}, join={"wait_for": ["qa"]})
    result = migrated(world, task, gate5(world, release, on("security", {"to": "completed"})))
    moves = [each for each in result.plan.effects if each.effect == "moves"]
    assert [(each.station, each.to, each.status) for each in moves] == [("release", ("release",), "queued")]
    assert world.job(task, "release").state == "queued"


def test_a_version_without_the_join_lets_it_go_on(world: World) -> None:
    task = begun(world, gate5(world))
    world.report(task, FAILED, station="qa")
    stations = [on("plan", {"to": ["qa", "security"]}), on("qa", {"to": "release"})]
    stations += [on("security", {"to": "completed"}), on("release", {"to": "completed"})]
    migrated(world, task, world.line(stations=stations))
    for key in ("security", "release"):
        world.report(task, station=key)
    assert world.status(task) == "completed"
