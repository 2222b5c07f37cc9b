"""Each kind of verdict, on decisions that the real engine took and stored."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import engine
from pipelines.models import Task
from pipelines.routing.analysis.redecide.gate_walk import walk_gates
from pipelines.routing.decide.situation import read_situation
from pipelines.routing.document.line import read_line
from tests.backtest.trying import decisions, names, reasons, verdicts
from tests.factories import World, document, station

pytestmark = pytest.mark.django_db

PASSED = {"id": "ok", "when": {"result": "success"}, "to": "ship"}
FAILED = {"id": "bad", "when": {"result": "failure"}, "to": "fix"}
LOOK: dict[str, Any] = {"key": "look", "name": "Look"}
CHECKED = {"all": [{"field": "output.ok", "operator": "equals", "value": True, "action": "hold"}]}
AGENT = {"agentic": {"question": "Is it good?"}, "answer": "yes"}


def line(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    """build with these rules (default: success to ship, failure to fix), then ship, fix."""
    return document(
        [station("build", *(rules or (PASSED, FAILED)), **more.pop("build", {})), "ship", "fix"], **more
    )


def run(world: World, said: dict[str, Any], outcome: dict[str, Any] | None = None) -> Task:
    task = world.start(world.line(said))
    world.report(task, outcome)
    return task


# Same and different


def test_the_same_rules_under_other_ids_are_the_same(world: World) -> None:
    task = run(world, line())
    assert names(verdicts(task, line({**PASSED, "id": "other"}, FAILED))) == ["same"]


def test_another_target_is_different_and_both_rules_are_told(world: World) -> None:
    task = run(world, line())
    [found] = verdicts(task, line({**PASSED, "id": "new", "to": "fix"}))
    assert found.verdict == "different"
    assert (found.then.to, found.then.rule) == (("ship",), "ok")
    assert found.now is not None and (found.now.to, found.now.rule) == (("fix",), "new")


def test_a_rule_of_another_outcome_changes_nothing(world: World) -> None:
    task = run(world, line())
    assert names(verdicts(task, line(PASSED, {**FAILED, "to": "failed"}))) == ["same"]


def test_another_end_is_different(world: World) -> None:
    task = run(world, line({**PASSED, "to": "completed"}))
    assert names(verdicts(task, line({**PASSED, "to": "cancelled"}))) == ["different"]


def test_the_branches_of_a_fork_in_another_order_are_the_same(world: World) -> None:
    task = run(world, line({"id": "both", "to": ["ship", "fix"]}))
    assert names(verdicts(task, line({"id": "both", "to": ["fix", "ship"]}))) == ["same"]
    assert names(verdicts(task, line({"id": "both", "to": "fix"}))) == ["different"]


def test_stuck_under_the_new_policy_is_different(world: World) -> None:
    task = run(world, line(FAILED, policy={"no_match": "fail"}))
    [found] = verdicts(task, line(FAILED, policy={"no_match": "stuck"}))
    assert (found.verdict, found.now and found.now.detail) == ("different", "NoValidTransition")


# Gates


def gated(*gates: str, to: str = "ship", **more: Any) -> dict[str, Any]:
    rule = {**PASSED, "to": to, "gates": list(gates)}
    return line(rule, FAILED, gates=[LOOK, {"key": "lead", "name": "Lead"}], **more)


def approved(world: World, said: dict[str, Any], word: str = "approve", **more: Any) -> Task:
    task = run(world, said)
    world.vote(task, word, **more)
    return task


def test_a_gate_on_the_way_to_the_same_target_is_newly_required(world: World) -> None:
    task = run(world, gated())
    [found] = verdicts(task, gated("look"))
    assert (found.verdict, found.asked) == ("gate_newly_required", ("look",))


def test_a_station_gate_before_the_same_target_is_newly_required_too(world: World) -> None:
    task = run(world, gated())
    assert names(verdicts(task, gated(build={"gate": "look"}))) == ["gate_newly_required"]


def test_a_gate_on_the_way_elsewhere_is_different(world: World) -> None:
    task = run(world, gated())
    assert names(verdicts(task, gated("look", to="fix"))) == ["different"]


def test_a_gate_that_is_gone_is_newly_skipped_by_the_question_and_by_the_word(world: World) -> None:
    task = approved(world, gated("look"))
    found = verdicts(task, gated())
    assert names(found) == ["gate_newly_skipped"] * 2
    assert {each.skipped for each in found} == {("look",)}


def test_a_gate_that_stays_is_the_same_at_every_round(world: World) -> None:
    task = approved(world, gated("look"))
    assert names(verdicts(task, gated("look"))) == ["same", "same"]


def test_one_more_gate_is_newly_required_at_every_round(world: World) -> None:
    task = approved(world, gated("look"))
    found = verdicts(task, gated("look", "lead"))
    assert names(found) == ["gate_newly_required"] * 2
    assert {each.asked for each in found} == {("lead",)}


def test_another_gate_instead_asks_other_people_which_is_different(world: World) -> None:
    task = approved(world, gated("look"))
    found = verdicts(task, gated("lead"))
    assert names(found) == ["different"] * 2
    assert reasons(found) == ["other_gates"] * 2


def test_a_rejection_at_a_gate_that_is_gone_was_never_said(world: World) -> None:
    task = approved(world, gated("look"), "reject", reason="no")
    found = verdicts(task, gated())
    assert names(found) == ["gate_newly_skipped", "different"]
    assert found[1].now is not None and found[1].now.to == ("ship",)


def test_a_rejection_does_not_count_at_a_gate_that_would_not_have_asked(world: World) -> None:
    """The gate is still on the rule, but its checks pass by themselves now."""
    task = run(world, gated("look"), {"result": "success", "output": {"ok": True}})
    world.vote(task, "reject", reason="no")
    now = gated("look")
    now["gates"] = [{**LOOK, "mode": "auto", "checks": CHECKED}, now["gates"][1]]
    assert names(verdicts(task, now)) == ["gate_newly_skipped", "different"]


def test_where_a_rejection_leads_is_read_anew(world: World) -> None:
    task = approved(world, gated("look"), "reject", reason="no")
    found = verdicts(task, gated("look", policy={"on_reject": "route:fix"}))
    assert names(found) == ["same", "different"]


def test_checks_that_hold_now_require_a_person(world: World) -> None:
    task = run(world, gated(), {"result": "success", "output": {"ok": False}})
    now = gated("look")
    now["gates"] = [{**LOOK, "mode": "auto", "checks": CHECKED}, now["gates"][1]]
    assert names(verdicts(task, now)) == ["gate_newly_required"]


# Undecidable


def test_a_station_that_is_gone_cannot_be_decided(world: World) -> None:
    task = run(world, line())
    now = document([station("compile", PASSED), "ship"])
    assert reasons(verdicts(task, now)) == ["station_gone"]


def test_a_question_that_nobody_asked_cannot_be_decided(world: World) -> None:
    task = run(world, line())
    now = line({"id": "asks", "when": AGENT, "to": "fix"}, PASSED, flags={"agentic_conditions": True})
    found = verdicts(task, now)
    assert (names(found), reasons(found)) == (["undecidable"], ["not_answered"])


def asking(to: str = "ship", question: str = "Is it good?") -> dict[str, Any]:
    when = {"agentic": {"question": question}, "answer": "yes"}
    return line({"id": "asks", "when": when, "to": to}, flags={"agentic_conditions": True})


def test_a_question_that_was_asked_is_the_same(world: World) -> None:
    task = run(world, asking())
    assert names(verdicts(task, asking())) == ["same"]
    assert reasons(verdicts(task, asking(question="Is it fast?"))) == ["not_answered"]
    assert reasons(verdicts(task, line())) == ["not_asked"]


def test_a_rejection_with_other_people_to_ask_cannot_be_decided(world: World) -> None:
    task = approved(world, gated("look"), "reject", reason="no")
    found = verdicts(task, gated("lead"))
    assert (names(found)[1], reasons(found)[1]) == ("undecidable", "nobody_has_spoken")


def test_a_word_under_another_approval_policy_cannot_be_decided(world: World) -> None:
    task = approved(world, gated("look"))
    now = gated("look")
    now["gates"][0] = {**LOOK, "approval": {"who": [{"role": "reviewer", "count": 2}]}}
    found = verdicts(task, now)
    assert (names(found), reasons(found)) == (["same", "undecidable"], ["", "other_approval"])


def test_a_word_that_is_not_offered_any_more_cannot_be_decided(world: World) -> None:
    task = approved(world, gated("look"), "send_back", reason="again")
    now = gated("look")
    now["gates"][0] = {**LOOK, "offers": ["approve", "reject"]}
    assert reasons(verdicts(task, now))[1] == "word_not_offered"


def test_a_round_that_would_be_refused_cannot_be_decided(world: World) -> None:
    task = world.start(world.line(gated("look")))
    for number in range(2):
        world.report(task, {"result": "success", "output": {"try": number}})
        world.vote(task, "send_back", reason="again")
    now = gated("look")
    now["gates"][0] = {**LOOK, "approval": {"max_rounds": 1}}
    found = verdicts(task, now)
    assert (names(found)[:2], reasons(found)[3]) == (["same", "same"], "word_refused")


def test_a_rejection_that_names_no_route_cannot_be_decided_where_the_reviewer_chooses(world: World) -> None:
    task = approved(world, gated("look"), "reject", reason="no")
    assert (
        reasons(verdicts(task, gated("look", policy={"on_reject": "reviewer_chooses"})))[1]
        == "word_does_not_fit"
    )


def test_a_field_that_nobody_recorded_cannot_be_decided(world: World) -> None:
    task = run(world, gated())
    now = gated("look", inputs=[{"key": "risk", "type": "text"}])
    check = {"field": "input.risk", "operator": "equals", "value": "high", "action": "hold"}
    now["gates"][0] = {**LOOK, "mode": "auto", "checks": {"all": [check]}}
    assert reasons(verdicts(task, now)) == ["field_not_recorded"]


LOOP = {"id": "loop", "when": {"result": "failure"}, "to": "build", "max_retries": 1, "on_exhausted": "fail"}


def looped(world: World, said: dict[str, Any]) -> Task:
    task = world.start(world.line(said))
    for _ in range(2):
        world.report(task, {"result": "failure"})
    return task


def test_a_budget_whose_counter_has_another_name_now_cannot_be_decided(world: World) -> None:
    task = looped(world, line(LOOP, PASSED))
    found = verdicts(task, line({**LOOP, "id": "renamed"}, PASSED))
    assert (names(found), reasons(found)) == (["same", "undecidable"], ["", "counter_not_recorded"])


def test_a_budget_that_no_count_could_exhaust_is_decided(world: World) -> None:
    task = looped(world, line(LOOP, PASSED))
    assert names(verdicts(task, line({**LOOP, "id": "renamed", "max_retries": 2}, PASSED))) == [
        "same",
        "different",
    ]


def test_an_additional_rule_was_never_taken(world: World) -> None:
    """Its counter is no other rule's: all rules that were counted are still there."""
    task = looped(world, line(LOOP, PASSED))
    more = {**LOOP, "id": "first"}
    assert names(verdicts(task, line(more, LOOP, PASSED))) == ["same", "different"]


def test_an_edge_of_a_station_that_has_another_name_now_cannot_be_decided(world: World) -> None:
    before = document(
        [station("first", {"id": "on", "to": "build"}), station("build", PASSED), "ship", "fix"]
    )
    task = world.start(world.line(before))
    world.report(task)
    world.report(task)
    seen = {"edge": {"from": "start", "to": "build", "at_least": 1}}
    now = document(
        [
            station("start", {"id": "on", "to": "build"}),
            station("build", {"id": "e", "when": seen, "to": "fix"}, PASSED),
        ]
        + ["ship", "fix"]
    )
    assert reasons(verdicts(task, now)) == ["station_gone", "counter_not_recorded"]


def test_an_origin_that_is_gone_cannot_be_decided(world: World) -> None:
    back = {"id": "back", "when": {"result": "failure"}, "to": "@origin"}
    before = document([station("first", {"id": "on", "to": "build"}), station("build", back), "ship"])
    task = world.start(world.line(before))
    world.report(task)
    world.report(task, {"result": "failure"})
    now = document([station("start", {"id": "on", "to": "build"}), station("build", back), "ship"])
    assert reasons(verdicts(task, now)) == ["station_gone", "origin_gone"]


# A word between other branches


def test_a_budget_used_up_by_another_branch_after_the_question_does_not_unsay_the_word(world: World) -> None:
    shared = {"key": "join", "work": {"kind": "noop"}, "limits": {"max_visits": 1}, "rules": []}
    said = document(
        [
            station("split", {"id": "s", "to": ["left", "right"]}),
            station("left", {"id": "l", "to": "join", "gates": ["look"]}),
            station("right", {"id": "r", "to": "join"}),
            shared,
        ],
        gates=[LOOK],
        policy={"on_exhausted": "stuck"},
    )
    task = world.start(world.line(said))
    world.report(task)
    world.report(task, station="left")
    world.report(task, station="right")
    world.vote(task, "reject", reason="no")
    assert names(verdicts(task, said)) == ["same"] * 4
    last = decisions(task)[-1]
    without = walk_gates(
        read_line(said), read_situation({**last.situation, "facts": {**last.situation["facts"], "gates": {}}})
    )
    assert without.effect.kind == "stuck"


def test_answers_of_a_person_are_kept(world: World) -> None:
    task = run(world, asking())
    token = world.token(task)
    engine.answer_blocked_token(token.pk, user=world.operator, token_version=token.version, fact="yes")
    assert names(verdicts(task, asking())) == ["same", "same"]
    assert names(verdicts(task, asking(to="fix"))) == ["same", "different"]
