"""What may happen next where a token stands: each choice is tried, says what it does, or why it cannot be."""

from __future__ import annotations

from typing import Any

from pipelines.routing.document.line import ParsedLine
from pipelines.routing.simulate.choices import SimulationChoice, simulation_choices
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep
from pipelines.routing.simulate.state import SimulatedTask, start_task
from pipelines.routing.simulate.walk_steps import take_step
from tests.routing.support import line, ruled


def after(of: ParsedLine, *steps: ScenarioStep) -> SimulatedTask:
    walk = start_task(of, ScenarioScript("s", "s"))
    for step in steps:
        walk = take_step(of, walk, step).walk
    return walk


def outcome(**said: Any) -> ScenarioStep:
    return ScenarioStep("outcome", outcome=said)


def found(of: ParsedLine, *steps: ScenarioStep, token: int = 0) -> list[SimulationChoice]:
    walk = after(of, *steps)
    return list(simulation_choices(of, walk, walk.positions[token]))


def of_kind(kind: str, given: list[SimulationChoice]) -> list[SimulationChoice]:
    return [each for each in given if each.kind == kind]


def went(choice: SimulationChoice) -> str:
    """Where its token is after it."""
    assert choice.taken is not None
    return choice.taken.walk.end or choice.taken.walk.positions[0].station


# Outcomes


def evaluated(op: str, value: Any) -> dict[str, Any]:
    return {"eval": {"op": op, "value": value}}


WORDS = [
    {"when": {"all": [{"result": ["failure", "any"]}, {"not": {"verdict": "fail"}}]}},
    {
        "when": {
            "any": [
                {"failure_type": ["late"]},
                {"eval": {"op": "equals", "value": "again"}},
                {"eval": {"op": "gt", "value": 3}},
            ]
        }
    },
    {"when": {"result": "blocked"}, "to": "c"},
]


def test_success_failure_and_every_word_that_a_rule_asks_for_is_offered_once() -> None:
    quick = of_kind("quick", found(ruled(*WORDS)))
    assert [each.step.outcome for each in quick if each.step] == [
        {"result": "success"},
        {"result": "failure"},
        {"verdict": "fail"},
        {"result": "failure", "failure_type": "late"},
        {"eval": "again"},
        {"result": "blocked"},
    ]
    assert all(each.taken is not None and each.rule == "" and each.leads for each in quick)


def test_each_live_rule_has_an_outcome_that_it_takes_and_each_dead_one_its_reason() -> None:
    of = ruled({"when": {"result": "success"}}, {"to": "c"}, {"when": {"result": "failure"}, "to": "b"})
    first, second, dead = of_kind("rule", found(of))
    assert (first.rule, went(first), first.leads) == ("r1", "b", True)
    assert (second.rule, went(second), second.leads) == ("r2", "c", True)
    assert (dead.rule, dead.step, dead.taken, dead.leads, dead.kind) == ("r3", None, None, False, "rule")
    assert "r2" in dead.refused


def test_what_no_rule_takes_is_a_choice_too_where_there_are_rules() -> None:
    of = ruled({"when": {"result": "success"}, "to": "c"}, policy={"no_match": "fail", "on_failure": "halt"})
    rest = of_kind("rest", found(of))
    assert rest and all(each.rule == "" and each.taken and not each.taken.rules for each in rest)
    assert {went(each) for each in rest} <= {"failed", "a", "completed"}
    assert of_kind("rest", found(line({}, {}))) == []


def test_a_rule_whose_budget_is_spent_does_not_lead_any_more() -> None:
    of = ruled({"when": {"result": "failure"}, "to": "a", "max_retries": 1}, {"to": "c"})
    assert of_kind("rule", found(of))[0].leads
    spent = of_kind("rule", found(of, outcome(result="failure")))[0]
    assert (spent.rule, spent.leads) == ("r1", False)
    assert spent.taken is not None


def test_a_rule_that_waits_at_its_gate_leads() -> None:
    of = ruled({"gates": ["g"]}, gates=[{"key": "g"}])
    [rule] = of_kind("rule", found(of))
    assert rule.leads and rule.taken is not None and rule.taken.rules == ()
    assert rule.taken.walk.positions[0].status == "awaiting_review"


# Words


TWO = [
    {"key": "g", "offers": ["approve", "reject"]},
    {"key": "h", "offers": ["approve", "send_back"], "on_reject": "rework"},
]


def said(choice: SimulationChoice) -> dict[str, Any]:
    assert choice.step is not None and choice.step.kind == "gates"
    return {key: dict(word) for key, word in choice.step.gates.items()}


def test_each_open_gate_offers_its_words_and_all_can_be_approved_at_once() -> None:
    of = ruled({"gates": ["g", "h"]}, gates=TWO)
    words = found(of, outcome(result="success"))
    assert {each.kind for each in words} == {"word"}
    assert [(each.gate, {key: word["decision"] for key, word in said(each).items()}) for each in words] == [
        ("", {"g": "approve", "h": "approve"}),
        ("g", {"g": "approve"}),
        ("g", {"g": "reject"}),
        ("h", {"h": "approve"}),
        ("h", {"h": "send_back"}),
    ]
    assert went(words[0]) == "b"
    assert went(words[1]) == "a"
    assert "reason" in said(words[2])["g"] and "reason" not in said(words[1])["g"]


def test_a_gate_that_has_its_word_is_not_asked_again() -> None:
    of = ruled({"gates": ["g", "h"]}, gates=TWO)
    words = found(of, outcome(result="success"), ScenarioStep("gates", gates={"g": {"decision": "approve"}}))
    assert [(each.gate, list(said(each))) for each in words] == [("h", ["h"]), ("h", ["h"])]


def test_where_the_reviewer_chooses_every_way_on_is_offered() -> None:
    gate = {"key": "g", "offers": ["approve", "reject"], "on_reject": "reviewer_chooses"}
    of = ruled({"gates": ["g"]}, gates=[gate])
    words = found(of, outcome(result="success"))
    routes = [said(each)["g"].get("route") for each in words]
    assert routes == [None, "fail", "rework", "a", "b", "c"]
    by_route = {said(each)["g"].get("route"): each for each in words}
    assert (went(by_route["fail"]), went(by_route["c"])) == ("failed", "c")
    policy = ruled({"gates": ["g"]}, gates=[{**gate, "on_reject": "fail"}])
    assert len(found(policy, outcome(result="success"))) == 2


# What waits for something else


def test_a_question_is_answered_and_what_is_stuck_can_be_run_again() -> None:
    of = ruled(
        {"when": {"agentic": {"question": "Good?"}, "answer": "yes"}, "to": "c"},
        flags={"agentic_conditions": True},
    )
    quick = of_kind("quick", found(of))[0]
    assert quick.taken is not None
    stuck = ruled({"when": {"result": "failure"}}, policy={"no_match": "stuck"})
    [again] = found(stuck, outcome(result="success"))
    assert (again.kind, again.step and again.step.kind) == ("retry", "retry")
    assert again.taken is not None and again.taken.walk.positions[0].status == "queued"


def test_while_branches_run_side_by_side_a_step_names_its_station() -> None:
    of = line({"rules": [{"id": "fork", "to": ["b", "c"]}]}, {}, {})
    alone = found(of)
    assert {each.step.at for each in alone if each.step} == {None}
    walk = after(of, outcome(result="success"))
    for position in walk.positions:
        if not position.is_over:
            given = simulation_choices(of, walk, position)
            assert {each.step.at for each in given if each.step} == {position.station}


def test_what_is_blocked_or_held_can_be_run_again() -> None:
    blocked = ruled({"when": {"result": "blocked"}, "to": "@blocked"}, {"to": "b"})
    assert [each.kind for each in found(blocked, outcome(result="blocked"))] == ["retry"]
    held = ruled({"when": {"result": "cancelled"}}, policy={"on_failure": "escalate"})
    assert [each.kind for each in found(held, outcome(result="failure"))][-1] == "retry"
