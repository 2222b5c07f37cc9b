"""Words said while siblings move: what a gate's page showed is what the word does (law §12, Gates and words)."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from pipelines import engine
from pipelines.engine.invariants import find_violations
from pipelines.models import Decision, LineVersion, Task
from pipelines.models.plumbing import bulk_rows
from reviews.decision.consequences import offered_votes_within_allowed_rounds
from tests.factories import World, station

pytestmark = pytest.mark.django_db

DONE = {"result": "success", "output": {"n": 1}}


def forked(world: World, *, failure: bool = False, budgets: Any = (), **gate: Any) -> LineVersion:
    """plan forks: left asks g before done, but goes to fix by itself once right did; right goes to fix."""
    taken = {"id": "l1", "when": {"edge": {"from": "right", "to": "fix", "at_least": 1}}, "to": "fix"}
    failed = [{"id": "l3", "when": {"result": "failure"}, "to": "plan"}] if failure else []
    done = {"result": "success"} if failure else {"always": True}
    offers = ["approve", "send_back", "reject", "rework", "abort"]
    return world.line(
        stations=[
            station("plan", {"id": "fork", "to": ["left", "right"]}),
            station("left", taken, {"id": "l2", "when": done, "to": "done", "gates": ["g"]}, *failed),
            station("right", {"id": "r", "to": "fix"}),
            station("fix", {"id": "f", "to": "completed"}),
        ],
        gates=[{"key": "g", "name": "G", "mode": "manual", "offers": offers, **gate}],
        ends=[{"key": "done", "kind": "completed", "label": "DONE"}],
        **({"budgets": list(budgets)} if budgets else {}),
    )


def asked_then_right_moves(world: World, version: LineVersion) -> Task:
    """Left waits at its gate; then right goes to fix."""
    task = world.start(version)
    world.report(task, DONE, station="plan")
    world.report(task, DONE, station="left")
    assert world.token(task, "left").status == "awaiting_review"
    world.report(task, DONE, station="right")
    assert world.at(task) == ["left", "fix"]
    return task


def decided(task: Task) -> dict[str, Any]:
    """What the word at the gate led to."""
    answer: dict[str, Any] = task.decisions.get(cause__startswith="gate:").answer
    return answer


def test_an_approval_goes_where_the_page_showed(world: World) -> None:
    task = asked_then_right_moves(world, forked(world))
    shown = {option.word: option.label for option in offered_votes_within_allowed_rounds(world.visit(task))}
    assert shown["approve"] == "Approve → Done"
    world.vote(task, "approve")
    assert (decided(task)["decision"], decided(task)["end"], decided(task)["rule"]) == (
        "finish",
        "done",
        "l2",
    )


WORDS = [
    ("reject", {}, ("finish", "failed", "gate")),
    ("reject", {"on_reject": "route:plan"}, ("move", ["plan"], "gate")),
    ("reject", {"on_reject": "rework"}, ("move", ["left"], "gate")),
    ("send_back", {}, ("move", ["left"], "gate")),
    ("abort", {}, ("finish", "failed", "gate")),
]


@pytest.mark.parametrize(("word", "gate", "expected"), WORDS)
def test_no_other_word_is_swallowed(
    world: World, word: str, gate: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    task = asked_then_right_moves(world, forked(world, **gate))
    world.vote(task, word, reason="No.")
    said = decided(task)
    assert (said["decision"], said.get("to") or said.get("end"), said["by"]) == expected


def test_a_rework_takes_the_failure_rules_as_they_stood(world: World) -> None:
    task = asked_then_right_moves(world, forked(world, failure=True))
    world.vote(task, "rework", reason="No.")
    assert (decided(task)["to"], decided(task)["rule"]) == (["plan"], "l3")


def test_a_check_on_counts_stands_as_it_did_when_the_gate_asked(world: World) -> None:
    """Left is entered once more by its sibling: `run.attempt` is 2 by then, and the check passed with 1."""
    once = {"field": "run.attempt", "operator": "less_than", "value": 2, "action": "abort"}
    version = world.line(
        stations=[
            station("plan", {"id": "fork", "to": ["left", "right"]}),
            station("left", {"id": "l", "to": "done", "gates": ["g"]}),
            station("right", {"id": "r", "to": "left"}),
        ],
        gates=[{"key": "g", "name": "G", "mode": "checks_then_manual", "checks": {"all": [once]}}],
        ends=[{"key": "done", "kind": "completed", "label": "DONE"}],
    )
    task = world.start(version)
    for key in ("plan", "left", "right"):
        world.report(task, DONE, station=key)
    task.refresh_from_db()
    assert task.visits["left"] == 2
    world.vote(task, "approve")
    assert (decided(task)["decision"], decided(task)["rule"]) == ("finish", "l")


def test_step_7_reads_the_counts_of_the_moment(world: World) -> None:
    """The budget that both branches spend of is used up by the one that did not wait."""
    budget = {"key": "done-once", "kind": "edges", "edges": ["left->done", "right->fix"], "most": 1}
    task = asked_then_right_moves(world, forked(world, budgets=[{**budget, "on_exhausted": "stuck"}]))
    world.vote(task, "approve")
    assert (decided(task)["decision"], decided(task)["error"]) == ("stuck", "RetryLimitExceeded")


@pytest.mark.wide
def test_an_escalation_that_was_opened_meanwhile_holds_what_was_approved(world: World) -> None:
    task = asked_then_right_moves(world, forked(world))
    escalation = engine.escalate(task.pk, trigger="help", user=world.operator, reason="Look.")
    world.vote(task, "approve")
    assert (decided(task)["status"], decided(task)["missing"]) == ("held", ["no_open_escalation"])
    engine.resolve_escalation(escalation.pk, user=world.admin, word="go_on", reason="Fine.")
    last = task.decisions.order_by("at").last()
    assert last is not None and (last.answer["decision"], last.answer["end"], last.answer["rule"]) == (
        "finish",
        "done",
        "l2",
    )


def test_an_answered_evaluation_is_decided_on_the_situation_in_which_it_was_asked(world: World) -> None:
    asked = {"agentic": {"question": "Is it good?"}, "answer": "yes"}
    taken = {"id": "l1", "when": {"edge": {"from": "right", "to": "fix", "at_least": 1}}, "to": "fix"}
    version = world.line(
        stations=[
            station("plan", {"id": "fork", "to": ["left", "right"]}),
            station("left", taken, {"id": "l2", "when": asked, "to": "done"}),
            station("right", {"id": "r", "to": "fix"}),
            station("fix", {"id": "f", "to": "completed"}),
        ],
        ends=[{"key": "done", "kind": "completed", "label": "DONE"}],
        flags={"agentic_conditions": True},
    )
    task = world.start(version)
    for key in ("plan", "left", "right"):
        world.report(task, DONE, station=key)
    left = world.token(task, "left")
    assert left.wait["evaluation"] == {"agentic": {"question": "Is it good?"}}
    engine.answer_blocked_token(left.pk, user=world.operator, token_version=left.version, fact="yes")
    said = task.decisions.get(cause__startswith="answer:").answer
    assert (said["decision"], said["end"], said["rule"]) == ("finish", "done", "l2")


LEADS_TO_THE_GATE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("the failure rule carries it too", DONE, {}),
    ("behind proceed", {**DONE, "signals": [{"verdict": "proceed"}]}, {}),
    ("behind a fallback", {"result": "blocked"}, {}),
    ("at the station, too", DONE, {"gate": "g"}),
]


@pytest.mark.parametrize(
    ("outcome", "more"), [each[1:] for each in LEADS_TO_THE_GATE], ids=[each[0] for each in LEADS_TO_THE_GATE]
)
def test_a_rework_by_a_person_never_ends_in_a_loop(
    world: World, outcome: dict[str, Any], more: dict[str, Any]
) -> None:
    failed = {"id": "fix", "when": {"result": "failure"}, "to": "fix", "gates": ["g"]}
    version = world.line(
        stations=[
            station("build", failed, {"id": "on", "to": "completed", "gates": ["g"]}, **more),
            station("fix", {"id": "again", "to": "build"}),
        ],
        gates=[{"key": "g", "name": "G", "mode": "manual", "offers": ["approve", "rework"]}],
    )
    task = world.start(version)
    world.report(task, outcome)
    world.vote(task, "rework", reason="Not yet.")
    assert (decided(task)["decision"], decided(task).get("to"), decided(task)["rule"]) == (
        "move",
        ["fix"],
        "fix",
    )
    assert (world.at(task), world.status(task)) == (["fix"], "queued")
    assert task.jobs.get(station="fix").feedback == "Not yet."


def test_every_decision_keeps_the_revision_and_those_of_before_keep_their_invariants(world: World) -> None:
    """A decision of revision 1 is not recomputed: it was made by other readings."""
    task = asked_then_right_moves(world, forked(world))

    def as_before(facts: Any, now: Any, words: Any) -> Any:
        return {**facts, **now, "gates": words}

    def recorded_before(model: Any, **fields: Any) -> Any:
        return new(model, **fields | ({"revision": 1} if model is Decision else {}))

    new = bulk_rows.new_row
    with (
        patch("pipelines.engine.commands.vote.facts_with_votes", as_before),
        patch("pipelines.engine.core.decision_context.bulk_rows.new_row", recorded_before),
    ):
        world.vote(task, "approve")
    revisions = set(task.decisions.values_list("cause", "revision"))
    assert {revision for cause, revision in revisions if cause.startswith("gate:")} == {1}
    assert {revision for cause, revision in revisions if cause.startswith("report:")} == {3}
    assert find_violations([task.pk]) == []
