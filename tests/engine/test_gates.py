"""Gates: who may say what, about which evidence, and what follows (law §5, §6; ALP A14 to A20; E30)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import Event, GateVisit, LineVersion, Membership, Project, Task, User, Vote
from tests.factories import World, make_member, station

pytestmark = pytest.mark.django_db

OUTPUT = {"result": "success", "output": {"n": 1}, "summary": "Built."}


def gated(
    world: World, *rules: dict[str, Any], gates: Any = None, jumps: Any = (), **gate: Any
) -> LineVersion:
    """build —[review]→ ship."""
    declared = gates or [{"key": "review", "name": "Review", "mode": "manual", **gate}]
    asked = [each["key"] for each in declared]
    behind = {
        "id": "to-ship",
        "label": "Ship it",
        "when": {"result": "success"},
        "to": "ship",
        "gates": asked,
    }
    more = {"jumps": jumps} if jumps else {}
    return world.line(stations=[station("build", behind, *rules), "ship"], gates=declared, **more)


def waiting(world: World, version: LineVersion, outcome: dict[str, Any] | None = None) -> Task:
    task = world.start(version)
    world.report(task, outcome or OUTPUT)
    assert world.status(task) == "awaiting_review"
    return task


def alone(world: World, user: User) -> User:
    """Everybody else leaves the project."""
    Membership.objects.filter(project=world.project).exclude(user=user).delete()
    Project.objects.filter(pk=world.project.pk).update(left_at=None)  # they left long ago
    return user


def test_a_rule_with_a_gate_waits_at_its_source(world: World) -> None:
    task = waiting(world, gated(world))
    visit = world.visit(task)
    assert world.at(task) == ["build"]
    assert not task.jobs.filter(station="ship").exists()
    assert (visit.gate, visit.round, visit.token_version) == ("review", 1, world.token(task).version)
    assert visit.evidence["rule"] == {"id": "to-ship", "label": "Ship it"}
    assert visit.evidence["to"] == ["ship"]
    assert visit.evidence["outcome"]["summary"] == "Built."


def test_approve_goes_on(world: World) -> None:
    task = waiting(world, gated(world))
    result = world.vote(task, "approve")
    assert (result.state, result.moved, result.status) == ("decided", True, "queued")
    assert world.at(task) == ["ship"]
    task.refresh_from_db()
    assert task.context == {"n": 1}
    assert task.rules == {"to-ship": 1}


def test_reject_fails_the_task_with_the_reason_kept(world: World) -> None:
    on_failure = {"id": "fix", "when": {"result": "failure"}, "to": "build"}
    task = waiting(world, gated(world, on_failure))
    world.vote(task, "reject", reason="Tests are missing.")
    task.refresh_from_db()
    assert (task.status, task.end, task.reason) == ("failed", "failed", "Tests are missing.")
    assert task.rules == {}, "no failure rules, and the rule behind the gate was not taken"
    assert GateVisit.objects.get(task=task).reason == "Tests are missing."


@pytest.mark.parametrize("word", ["reject", "send_back"])
@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_refusal_needs_a_reason(world: World, word: str, reason: str) -> None:
    task = waiting(world, gated(world))
    with pytest.raises(Invalid) as refused:
        world.vote(task, word, reason=reason)
    assert refused.value.path == "reason"
    assert world.status(task) == "awaiting_review"


def test_a_word_that_the_gate_does_not_offer_is_refused(world: World) -> None:
    task = waiting(world, gated(world))
    for word in ("abort", "rework", "perhaps", ""):
        with pytest.raises(Invalid) as refused:
            world.vote(task, word)
        assert refused.value.path == "word"


def test_send_back_runs_the_producing_station_again_at_most_max_rounds_times(world: World) -> None:
    task = waiting(world, gated(world, approval={"max_rounds": 2}))
    for n in (1, 2):
        world.vote(task, "send_back", reason=f"Round {n}.")
        assert world.job(task).feedback == f"Round {n}."
        world.report(task, {"result": "success", "output": {"n": 1 + n}})
    assert world.visit(task).round == 3
    with pytest.raises(Conflict, match="2 times"):
        world.vote(task, "send_back", reason="Round 3.")
    task.refresh_from_db()
    assert (task.rounds, task.visits["build"], task.rules) == ({"review": 2}, 3, {})


@pytest.mark.wide
def test_a_send_back_that_meets_a_budget_is_still_counted(world: World) -> None:
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    gate = {"key": "review", "name": "Review", "mode": "manual"}
    once = station("build", behind, limits={"max_visits": 1})
    for knob, status in (("stuck", "stuck"), ("fail", "failed")):
        line = world.line(key=knob, stations=[once, "ship"], gates=[gate], policy={"on_exhausted": knob})
        task = waiting(world, line)
        world.vote(task, "send_back", reason="Again.")
        task.refresh_from_db()
        assert (task.status, task.rounds) == (status, {"review": 1})


def test_rework_takes_the_failure_route_and_abort_ends_the_task(world: World) -> None:
    fix = {"id": "fix", "when": {"result": "failure"}, "to": "build"}
    version = gated(world, fix, offers=["approve", "rework", "abort"])
    task = waiting(world, version)
    world.vote(task, "rework", reason="Again.")
    task.refresh_from_db()
    assert (world.at(task), task.rules) == (["build"], {"fix": 1})
    assert world.job(task).feedback == "Again."
    world.report(task, {"result": "success", "output": {"n": 2}})
    world.vote(task, "abort")
    assert world.status(task) == "failed"


@pytest.mark.parametrize(("route", "where"), [("fail", []), ("rework", ["build"]), ("ship", ["ship"])])
def test_the_reviewer_chooses_where_a_rejection_leads(world: World, route: str, where: list[str]) -> None:
    task = waiting(world, gated(world, on_reject="reviewer_chooses"))
    for missing in ("", "nowhere"):
        with pytest.raises(Invalid) as refused:
            world.vote(task, "reject", reason="No.", route=missing)
        assert refused.value.path == "route"
    world.vote(task, "reject", reason="No.", route=route)
    assert world.at(task) == where


def test_the_second_word_gets_the_winners_name(world: World) -> None:
    task = waiting(world, gated(world))
    visit = world.visit(task)
    first, second = world.reviewers(2)
    world.vote(task, "approve", by=first, visit=visit)
    with pytest.raises(Conflict) as refused:
        world.vote(task, "reject", reason="No.", by=second, visit=visit)
    assert refused.value.by == str(first)
    assert refused.value.at is not None


def test_n_of_m_waits_for_all_its_votes(world: World) -> None:
    task = waiting(world, gated(world, approval={"who": [{"role": "reviewer", "count": 2}]}))
    first, second = world.reviewers(2)
    result = world.vote(task, by=first)
    assert (result.state, result.moved) == ("open", False)
    with pytest.raises(Conflict, match="voted"):
        world.vote(task, by=first)
    assert world.vote(task, by=second).moved


def test_one_person_counts_once_although_two_requirements_fit(world: World) -> None:
    both, other = world.reviewers(2)
    world.group("security", both, other)
    who = [{"role": "reviewer", "count": 1}, {"group": "security", "count": 1}]
    task = waiting(world, gated(world, approval={"who": who}))
    assert not world.vote(task, by=both).moved
    assert world.vote(task, by=other).moved


def test_the_first_word_other_than_approve_decides_at_once(world: World) -> None:
    task = waiting(world, gated(world, approval={"who": [{"role": "reviewer", "count": 2}]}))
    first, second = world.reviewers(2)
    world.vote(task, by=first)
    assert world.vote(task, "reject", reason="No.", by=second).moved
    assert world.status(task) == "failed"


def test_gates_of_one_rule_are_asked_together(world: World) -> None:
    gates = [{"key": key, "name": key, "mode": "manual"} for key in ("legal", "security")]
    task = waiting(world, gated(world, gates=gates))
    assert list(task.gate_visits.order_by("position").values_list("gate", flat=True)) == ["legal", "security"]
    assert not world.vote(task, gate="security").moved
    assert world.status(task) == "awaiting_review"
    assert world.vote(task, gate="legal").moved
    assert world.at(task) == ["ship"]


def test_a_refusal_closes_the_other_gates(world: World) -> None:
    gates = [{"key": key, "name": key, "mode": "manual"} for key in ("legal", "security")]
    task = waiting(world, gated(world, gates=gates))
    legal, security = world.visit(task, "legal"), world.visit(task, "security")
    world.vote(task, "reject", reason="No.", visit=legal)
    security.refresh_from_db()
    assert security.state == "closed"
    with pytest.raises(Conflict):
        world.vote(task, visit=security)


@pytest.mark.parametrize("who", ["viewer", "operator", "designer"])
def test_whom_the_gate_does_not_ask_is_refused(world: World, who: str) -> None:
    task = waiting(world, gated(world))
    with pytest.raises(Forbidden):
        world.vote(task, by=world.person(who))


def test_a_stranger_learns_nothing(world: World) -> None:
    task = waiting(world, gated(world))
    with pytest.raises(NotFound):
        world.vote(task, by=world.stranger)


def test_superuser_status_decides_nothing(world: World) -> None:
    task = waiting(world, gated(world))
    world.operator.is_superuser = True
    world.operator.save()
    with pytest.raises(Forbidden):
        world.vote(task, by=world.operator)


def test_a_group_or_a_user_may_be_asked_whatever_their_role(world: World) -> None:
    world.group("legal", world.viewer)
    who = [{"group": "legal", "count": 1}, {"user": world.operator.username, "count": 1}]
    version = gated(world, approval={"who": who, "requester_may": True})
    task = waiting(world, version)
    with pytest.raises(Forbidden):
        world.vote(task, by=world.reviewer)
    world.vote(task, by=world.viewer)
    assert world.vote(task, by=world.operator).moved


def test_the_requester_may_not_decide_unless_the_gate_lets_them(world: World) -> None:
    strict = world.start(gated(world), by=world.reviewer)
    world.report(strict, OUTPUT)
    with pytest.raises(Forbidden, match="requested"):
        world.vote(strict, by=world.reviewer)
    lenient = world.start(gated(world, approval={"requester_may": True}), by=world.reviewer)
    world.report(lenient, OUTPUT)
    assert world.vote(lenient, by=world.reviewer).moved


@pytest.mark.parametrize("may", [False, True])
def test_the_producer_may_not_decide_unless_the_gate_lets_them(world: World, may: bool) -> None:
    gate = {"key": "review", "name": "Review", "mode": "manual", "approval": {"producer_may": may}}
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    version = world.line(stations=[station("write", behind, kind="manual"), "ship"], gates=[gate])
    task = world.start(version)
    world.report(task, OUTPUT, by=f"person:{world.reviewer.pk}")
    if may:
        assert world.vote(task, by=world.reviewer).moved
    else:
        with pytest.raises(Forbidden, match="produced"):
            world.vote(task, by=world.reviewer)


def test_a_branch_beside_is_no_past_of_a_gate_and_one_that_was_joined_is(world: World) -> None:
    """Of two who work by hand side by side, each may decide about the part of the other, and neither about both."""
    gates = [{"key": key, "name": key} for key in ("left", "both")]
    stations = [
        station("fork", {"id": "split", "to": ["one", "two"]}),
        station("one", {"id": "first", "to": "meet", "gates": ["left"]}, kind="manual"),
        station("two", {"id": "second", "to": "meet"}, kind="manual"),
        station("meet", {"id": "on", "to": "ship", "gates": ["both"]}, join={"wait_for": ["one", "two"]}),
        "ship",
    ]
    one, two, third = world.reviewers(3)
    task = world.start(world.line(stations=stations, gates=gates))
    world.report(task, station="fork")
    world.report(task, OUTPUT, station="two", by=f"person:{two.pk}")
    world.report(task, OUTPUT, station="one", by=f"person:{one.pk}")
    with pytest.raises(Forbidden, match="produced"):
        world.vote(task, gate="left", by=one)
    assert world.vote(task, gate="left", by=two).moved
    if world.status(task) != "awaiting_review":
        world.report(task, station="meet")
    for person in (one, two):
        with pytest.raises(Forbidden, match="produced"):
            world.vote(task, gate="both", by=person)
    assert world.vote(task, gate="both", by=third).moved


@pytest.mark.parametrize("producing", [False, True])
def test_in_a_project_of_one_its_member_decides_and_it_is_self_approved(
    world: World, producing: bool
) -> None:
    behind = {"id": "on", "to": "ship", "gates": ["review"]}
    gate = {"key": "review", "name": "Review", "mode": "manual", "approval": {"requester_may": producing}}
    version = world.line(stations=[station("write", behind, kind="manual"), "ship"], gates=[gate])
    only = world.admin
    tasks = [world.start(version, by=only) for _ in range(2)]
    for task in tasks:
        world.report(task, OUTPUT, by=f"person:{only.pk}")
    alone(world, only)
    visit = world.visit(tasks[0])
    assert world.vote(tasks[0], by=only).moved
    visit.refresh_from_db()
    assert visit.self_approved
    said = Event.objects.filter(task=tasks[0], kind__in=["gate.voted", "gate.decided"])
    assert [event.data["self_approved"] for event in said] == [True, True]
    second = make_member(world.project, "reviewer")
    with pytest.raises(Forbidden):
        world.vote(tasks[1], by=only)
    assert world.vote(tasks[1], by=second).moved
    assert not Vote.objects.get(user=second).self_approved
    assert GateVisit.objects.get(pk=visit.pk).self_approved, "it stays so when others have come"


def test_a_project_of_one_lifts_no_other_demand_of_a_gate(world: World) -> None:
    two = gated(world, approval={"who": [{"role": "reviewer", "count": 2}]})
    others = gated(world, approval={"who": [{"group": "security", "count": 1}]})
    only = alone(world, world.admin)
    task = world.start(two, by=only)
    world.report(task, OUTPUT)
    assert not world.vote(task, by=only).moved
    task = world.start(others, by=only)
    world.report(task, OUTPUT)
    with pytest.raises(Forbidden, match="does not ask you"):
        world.vote(task, by=only)


def test_a_rejection_of_ones_own_is_no_self_approval(world: World) -> None:
    version = gated(world)
    only = alone(world, world.admin)
    task = world.start(version, by=only)
    world.report(task, OUTPUT)
    world.vote(task, "reject", by=only, reason="No.")
    assert not Vote.objects.get(user=only).self_approved


@pytest.mark.parametrize("shown", [{"token_version": 99}, {"evidence_digest": "0" * 64}])
def test_a_vote_on_something_else_is_refused(world: World, shown: dict[str, Any]) -> None:
    task = waiting(world, gated(world))
    with pytest.raises(Conflict):
        world.vote(task, **shown)
    assert not Vote.objects.exists()


def test_new_output_voids_earlier_votes(world: World) -> None:
    task = waiting(world, gated(world, approval={"who": [{"role": "reviewer", "count": 2}]}))
    first, second, third = world.reviewers(3)
    world.vote(task, by=first)
    before = world.visit(task)
    world.vote(task, "send_back", by=second, reason="More.")
    world.report(task, {"result": "success", "output": {"n": 2}})
    with pytest.raises(Conflict):
        world.vote(task, by=third, visit=before)
    assert not world.vote(task, by=third).moved, "the approval of the first output does not count"
    assert world.vote(task, by=first).moved


def test_an_unchanged_re_ask_after_a_rejection_is_held_and_names_it(world: World) -> None:
    task = waiting(world, gated(world, on_reject="rework"))
    rejected = world.visit(task)
    world.vote(task, "reject", reason="Still wrong.")
    world.report(task, OUTPUT)
    token = world.token(task)
    assert token.status == "held"
    assert token.wait["rejection"] == {"visit": str(rejected.pk), "gate": "review", "reason": "Still wrong."}
    assert not GateVisit.objects.filter(task=task, state="open").exists()


def test_a_changed_output_is_asked_again_after_a_rejection(world: World) -> None:
    task = waiting(world, gated(world, on_reject="rework"))
    world.vote(task, "reject", reason="Wrong.")
    world.report(task, {"result": "success", "output": {"n": 2}})
    assert world.status(task) == "awaiting_review"


def test_checks_hold_for_a_person_and_let_the_rest_through(world: World) -> None:
    checks = {"all": [{"field": "output.n", "operator": "less_than", "value": 5}]}
    version = gated(world, mode="auto", checks=checks)
    passing = world.start(version)
    world.report(passing, OUTPUT)
    assert world.at(passing) == ["ship"]
    failing = world.start(version)
    world.report(failing, {"result": "success", "output": {"n": 9}})
    assert world.status(failing) == "awaiting_review"


def test_requires_approval_false_records_the_pass_and_does_not_wait(world: World) -> None:
    version = gated(world, requires_approval=False)
    task = world.start(version)
    world.report(task, OUTPUT)
    assert world.at(task) == ["ship"]
    assert not GateVisit.objects.exists()


def test_a_station_gate_and_a_rule_gate_are_asked_one_after_the_other(world: World) -> None:
    gates = [{"key": key, "name": key, "mode": "manual"} for key in ("own", "rule")]
    behind = {"id": "on", "to": "ship", "gates": ["rule"]}
    task = waiting(world, world.line(stations=[station("build", behind, gate="own"), "ship"], gates=gates))
    world.vote(task, gate="own")
    assert world.status(task) == "awaiting_review"
    assert world.vote(task, gate="rule").moved
    assert world.at(task) == ["ship"]


def test_a_jump_is_reviewed_under_its_own_key(world: World) -> None:
    jump = {"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "ship"}}
    task = waiting(world, gated(world, jumps="all"), {"result": "success", "signals": [jump]})
    assert world.visit(task).gate == "@jump"
    world.vote(task)
    assert world.at(task) == ["ship"]


def test_the_gate_is_due_when_it_says(world: World) -> None:
    visit = world.visit(waiting(world, gated(world, due={"after": "4h", "then": "remind"})))
    assert visit.due_at is not None
    assert (visit.due_at - visit.opened_at).total_seconds() == 4 * 3600


def test_a_check_reads_the_last_word_at_an_earlier_gate(world: World) -> None:
    said = {"field": "gates.plan", "operator": "equals", "value": "approve", "action": "abort"}
    gates = [{"key": "plan"}, {"key": "ship", "mode": "auto", "checks": {"all": [said]}}]
    through = {"id": "through", "when": {"always": True}, "to": "b", "gates": ["plan"]}
    stations = [station("a", through), station("b", gate="ship"), "c"]
    task = world.start(world.line(stations=stations, gates=gates))
    world.report(task)
    world.vote(task, "send_back", reason="Thin.")
    world.report(task, {"result": "success", "output": {"n": 2}})
    world.vote(task)
    world.report(task)
    assert world.at(task) == ["c"]
