"""What is escalated keeps its task from going forward until somebody of the role resolves it (law §8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import Agent, Due, Escalation, Incident, Lease, Task
from pipelines.queries import versions
from pipelines.queries.task_view import TaskView
from pipelines.work.scheduler import timers
from reviews.models import Notice
from tests.factories import World, station

pytestmark = pytest.mark.django_db

FAILS = {"result": "failure"}


def line(world: World, *rules: dict[str, Any], preset: str = "aeef", **more: Any) -> Any:
    """build → test → ship; `build` takes only what passes."""
    onward = {"id": "on", "when": {"result": "success"}, "to": "test"}
    document: dict[str, Any] = {
        "key": "line",
        "name": "Line",
        "gateline": 1,
        "preset": preset,
        "policy": {"no_rules": "advance"},
        "stations": [
            station("build", *(rules or (onward,))),
            station("test", {"id": "out", "to": "ship"}),
            "ship",
        ],
        "escalations": [{"trigger": "on_failure", "role": "Lead", "sla": "4h", **more}],
    }
    document["stations"][2] = station("ship", {"id": "end", "to": "completed"})
    return world.line(document)


def escalated(world: World, **more: Any) -> tuple[Task, Escalation]:
    task = world.start(line(world, **more))
    world.report(task, FAILS)
    return task, Escalation.objects.get(task=task, trigger="on_failure")


def pass_time(task: Task) -> None:
    past = timezone.now() - timedelta(minutes=1)
    assert Due.objects.filter(task=task, kind="escalation").update(due_at=past)
    Escalation.objects.filter(task=task, due_at__isnull=False).update(due_at=past)


def resolve(world: World, found: Escalation, word: str, **more: Any) -> Task:
    return engine.resolve_escalation(
        found.pk, **{"user": world.admin, "word": word, "reason": "Because.", **more}
    )


def test_E18_an_escalation_names_the_role_and_the_time_to_answer(world: World) -> None:
    task, found = escalated(world)
    assert (found.role, found.state, found.station) == ("Lead", "open", "build")
    assert found.due_at == found.opened_at + timedelta(hours=4)
    token = world.token(task)
    assert (token.status, token.wait["escalation"]) == ("held", str(found.pk))
    task.refresh_from_db()
    assert task.escalations == 1


def test_E18_the_aeef_preset_brings_its_table(world: World) -> None:
    parsed = world.line(stations=["a"], preset="aeef", policy={"no_rules": "advance"})
    line = versions.parsed_version(parsed)
    told = {
        trigger: (rule.role, rule.sla and rule.sla / 3600, rule.on_breach)
        for trigger in (
            "architecture",
            "security",
            "RetryLimitExceeded",
            "contract_violation",
            "contradiction",
        )
        for rule in [line.escalation_rule(trigger)]
    }
    assert told == {
        "architecture": ("Solution Architect", 4, ("block", "notify")),
        "security": ("Security Engineer", 2, ("block", "notify")),
        "RetryLimitExceeded": ("Development Manager", 4, ("block", "create_incident")),
        "contract_violation": ("CTO", 1, ("suspend_agent",)),
        "contradiction": ("Solution Architect", 4, ("block", "convene_review")),
    }
    assert line.escalation_rule("security").notify == ("Security lead",)
    assert line.escalation_rule("on_failure").role == "Development Manager"


def test_E18_an_open_escalation_blocks_forward_moves_until_it_is_resolved(world: World) -> None:
    task = world.start(line(world, preset="alp"))
    raised = engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Too big.")
    world.report(task)
    token = world.token(task)
    assert (token.station, token.status, token.wait["missing"]) == ("build", "held", ["no_open_escalation"])
    resolve(world, raised, "go_on")
    assert world.at(task) == ["test"]


def test_E18_a_move_back_is_not_blocked(world: World) -> None:
    back = {"id": "back", "when": FAILS, "to": "build", "max_retries": 3}
    task = world.start(line(world, back, {"id": "on", "to": "test"}))
    engine.escalate(task.pk, user=world.operator, trigger="architecture", reason="Too big.")
    world.report(task, FAILS)
    assert world.status(task) == "queued"


def test_E18_breach_actions_run_exactly_once(world: World) -> None:
    task, found = escalated(world, on_breach=["block", "create_incident", "convene_review"])
    pass_time(task)
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert timers.run_due_timers_and_triggers() == {}
    found.refresh_from_db()
    assert found.breached_at
    assert Incident.objects.filter(escalation=found).count() == 1
    convened = Escalation.objects.get(task=task, trigger="review")
    assert convened.role == "Lead"
    assert world.kinds(task).count("escalation.breached") == 1


def test_E19_a_contract_violation_acts_at_once_and_again_at_the_breach(world: World) -> None:
    task = world.start(line(world))
    engine.escalate(task.pk, user=world.operator, trigger="contract_violation", reason="It wrote elsewhere.")
    [opened] = task.events.filter(kind="escalation.opened")
    assert opened.data["at_once"] == ["suspend_agent"]
    pass_time(task)
    timers.run_due_timers_and_triggers()
    [breached] = task.events.filter(kind="escalation.breached")
    assert breached.data["actions"] == ["suspend_agent"]


def test_E19_the_agent_is_suspended_at_once_and_stays_so(world: World) -> None:
    agent = Agent.objects.create(
        project=world.project, key="builder", owner=world.operator, created_at=timezone.now()
    )
    build = station("build", {"id": "end", "to": "completed"}, agent="builder", requires=[])
    task = world.start(world.line(stations=[build], preset="aeef"))
    engine.escalate(task.pk, user=world.operator, trigger="contract_violation", reason="It wrote elsewhere.")
    agent.refresh_from_db()
    assert agent.suspended_at and "contract_violation" in agent.suspended_why
    assert engine.start_claimed_job_or_none(world.job(task).pk, world.claim()) is None
    pass_time(task)
    assert timers.run_due_timers_and_triggers()["fired"] >= 1
    assert agent.events.filter(kind="suspended").count() == 1


def test_a_block_takes_running_work_back_and_counts_no_attempt(world: World) -> None:
    task = world.start(line(world, preset="alp"))
    raised = engine.escalate(task.pk, user=world.operator, trigger="on_failure", reason="Wrong.")
    Escalation.objects.filter(pk=raised.pk).update(on_breach=["block"])
    job = world.started(task)
    pass_time(task)
    timers.run_due_timers_and_triggers()
    token = world.token(task)
    assert (token.status, token.wait["paused_by"]) == ("held", str(raised.pk))
    assert not Lease.objects.exists()
    late = engine.report([world.report_of(job)])[0]
    assert late.status == "ignored"
    with pytest.raises(Conflict):
        engine.release(token.pk, user=world.operator, token_version=token.version)
    resolve(world, raised, "go_on")
    assert world.status(task) == "queued"
    assert world.started(task).attempt == 1


def test_retry_runs_the_station_again_with_the_reason(world: World) -> None:
    task, found = escalated(world)
    resolve(world, found, "retry", reason="Use the other branch.")
    job = world.job(task)
    assert (job.station, job.visit, job.feedback) == ("build", 2, "Use the other branch.")
    found.refresh_from_db()
    assert (found.how, found.resolved_by, found.answer) == ("retry", world.admin, "Use the other branch.")


def test_route_leads_where_the_rules_allow_it(world: World) -> None:
    task, found = escalated(world)
    with pytest.raises(Invalid) as refused:
        resolve(world, found, "route", route="ship")
    assert refused.value.path == "route"
    resolve(world, found, "route", route="test")
    assert world.at(task) == ["test"]


def test_going_on_is_refused_where_the_same_would_be_escalated(world: World) -> None:
    task, found = escalated(world)
    with pytest.raises(Conflict):
        resolve(world, found, "go_on")
    resolve(world, found, "cancel")
    assert world.status(task) == "cancelled"


def test_it_is_resolved_once(world: World) -> None:
    _task, found = escalated(world)
    resolve(world, found, "retry")
    with pytest.raises(Conflict) as late:
        resolve(world, found, "retry")
    assert late.value.by == str(world.admin)
    with pytest.raises(IntegrityError), transaction.atomic():
        Escalation.objects.filter(pk=found.pk).update(answer="Otherwise.")


def test_only_the_role_and_administrators_resolve_it(world: World) -> None:
    _task, found = escalated(world)
    with pytest.raises(Forbidden):
        resolve(world, found, "retry", user=world.operator)
    with pytest.raises(NotFound):
        resolve(world, found, "retry", user=world.stranger)
    world.group("lead", world.operator)
    resolve(world, found, "retry", user=world.operator)


@pytest.mark.parametrize(("said", "path"), [({"reason": " "}, "reason"), ({"word": "approve"}, "word")])
def test_what_is_missing_is_named(world: World, said: dict[str, str], path: str) -> None:
    _task, found = escalated(world)
    with pytest.raises(Invalid) as refused:
        resolve(world, found, **{"word": "retry", **said})
    assert refused.value.path == path


def test_one_position_is_escalated_once_for_one_trigger(world: World) -> None:
    task, found = escalated(world)
    token = world.token(task)
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version)
    world.report(task, FAILS)
    assert [each.pk for each in Escalation.objects.filter(task=task)] == [found.pk]


@pytest.mark.parametrize("to", ["ship", engine.SUCCESS])
def test_what_is_escalated_is_moved_nowhere_before_that_is_resolved(world: World, to: str) -> None:
    task, found = escalated(world)
    token = world.token(task)
    for command in (engine.move_or_retry_by_hand, engine.plan_move):
        with pytest.raises(Conflict, match="resolves what holds it"):
            command(token.pk, user=world.operator, token_version=token.version, to=to)
    [position] = TaskView(task, timezone.now()).positions
    assert position.move_targets == [("", "build again")]
    resolve(world, found, "retry")
    token = world.token(task)
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to="ship")
    assert world.at(task) == ["ship"]


def test_it_ends_with_its_task(world: World) -> None:
    task, found = escalated(world)
    engine.cancel(task.pk, actor=engine.ENGINE)
    found.refresh_from_db()
    assert (found.state, found.how) == ("resolved", "ended")


def test_a_gate_that_nobody_decides_in_time_is_escalated_until_it_is_decided(world: World) -> None:
    gate = {"key": "review", "due": {"after": "1h", "then": "escalate"}}
    on = {"id": "on", "to": "ship", "gates": ["review"]}
    task = world.start(world.line(stations=[station("build", on), "ship"], gates=[gate]))
    world.report(task)
    Due.objects.filter(task=task).update(due_at=timezone.now())
    timers.run_due_timers_and_triggers()
    found = Escalation.objects.get(task=task)
    assert (found.trigger, world.status(task)) == ("gate_overdue", "awaiting_review")
    world.vote(task)
    found.refresh_from_db()
    assert (found.how, world.at(task)) == ("decided", ["ship"])


def test_a_branch_that_it_kept_from_going_forward_goes_on_when_the_gate_is_decided(world: World) -> None:
    stations = [
        station("plan", {"id": "both", "to": ["a", "b"]}),
        station("a", {"id": "a-on", "to": "c", "gates": ["g"]}),
        station("b", {"id": "b-on", "to": "d"}),
        station("c", {"id": "c-end", "to": "completed"}),
        station("d", {"id": "d-end", "to": "completed"}),
    ]
    gate = {"key": "g", "mode": "manual", "due": {"after": "1h", "then": "escalate"}}
    task = world.start(world.line(stations=stations, gates=[gate]))
    world.report(task, station="plan")
    world.report(task, station="a")
    Due.objects.filter(task=task, kind="gate").update(due_at=timezone.now())
    timers.run_due_timers_and_triggers()
    world.report(task, station="b")
    assert world.token(task, "b").wait["missing"] == ["no_open_escalation"]
    world.vote(task)
    timers.run_due_timers_and_triggers()
    assert sorted(world.at(task)) == ["c", "d"]


BLOCKS = [
    {"trigger": trigger, "role": "Lead", "sla": "4h", "on_breach": ["block"]} for trigger in ("one", "two")
]


def blocked_by(world: World, task: Task, *triggers: str) -> list[Escalation]:
    """Escalated by hand, and not answered in time."""
    found = [engine.escalate(task.pk, user=world.operator, trigger=each, reason="Why?") for each in triggers]
    pass_time(task)
    timers.run_due_timers_and_triggers()
    return found


def test_what_two_escalations_block_goes_on_when_both_are_resolved(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"], escalations=BLOCKS))
    one, two = blocked_by(world, task, "one", "two")
    resolve(world, one, "go_on")
    assert world.token(task).wait["paused_by"] == str(two.pk)
    resolve(world, two, "go_on")
    assert (world.status(task), world.token(task).wait) == ("queued", {})


def test_who_releases_by_hand_releases_no_block(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"], escalations=BLOCKS))
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    (one,) = blocked_by(world, task, "one")
    token = world.token(task)
    engine.release(token.pk, user=world.operator, token_version=token.version)
    assert world.token(task).wait["paused_by"] == str(one.pk)


def test_what_a_person_held_first_is_not_moved_while_an_escalation_blocks(world: World) -> None:
    task = world.start(world.line(stations=["build", "ship"], escalations=BLOCKS))
    token = world.token(task)
    engine.hold(token.pk, user=world.operator, token_version=token.version)
    (one,) = blocked_by(world, task, "one")
    token = world.token(task)
    for to in ("", "ship"):
        with pytest.raises(Conflict, match="resolves what holds it"):
            engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to=to)
    assert not TaskView(task, timezone.now()).positions[0].is_movable_by_hand
    resolve(world, one, "go_on")
    token = world.token(task)
    engine.move_or_retry_by_hand(token.pk, user=world.operator, token_version=token.version, to="ship")
    assert (world.at(task), world.status(task)) == (["ship"], "queued")


def test_a_block_holds_work_that_would_begin_after_it(world: World) -> None:
    gated = station("build", {"id": "on", "to": "ship", "gates": ["g"]}, kind="manual")
    gate = {"key": "g", "mode": "manual"}
    task = world.start(world.line(stations=[gated, "ship"], gates=[gate], escalations=BLOCKS))
    world.report(task)
    (one,) = blocked_by(world, task, "one")
    world.vote(task, "send_back", reason="Once more.")
    assert (world.at(task), world.status(task)) == (["build"], "held")
    resolve(world, one, "go_on")
    assert world.status(task) == "running"


def test_the_longest_reason_suspends_an_agent_all_the_same(world: World) -> None:
    owner = world.operator
    Agent.objects.create(project=world.project, key="builder", owner=owner, created_at=timezone.now())
    said = [{"trigger": "one", "role": "CTO", "sla": "1h", "on_breach": ["suspend_agent"]}]
    task = world.start(world.line(stations=[station("build", agent="builder")], escalations=said))
    engine.escalate(task.pk, user=owner, trigger="one", reason="x" * 20_000)
    pass_time(task)
    assert timers.run_due_timers_and_triggers() == {"fired": 1}
    assert Agent.objects.get(key="builder").suspended_at


def test_who_is_notified_at_once_is_told_of_the_breach_too_each_once(world: World) -> None:
    said = {"trigger": "one", "role": "admin", "sla": "1h", "at_once": ["notify"], "on_breach": ["notify"]}
    assert world.admin.email
    task = world.start(world.line(stations=["build"], escalations=[said]))
    found = engine.escalate(task.pk, user=world.operator, trigger="one", reason="Why?")
    told = Notice.objects.filter(about=found.pk, address=world.admin.email).order_by("pk")
    assert list(told.values_list("kind", flat=True)) == ["escalated"]
    pass_time(task)
    timers.run_due_timers_and_triggers()
    assert list(told.values_list("kind", flat=True)) == ["escalated", "breached"]
