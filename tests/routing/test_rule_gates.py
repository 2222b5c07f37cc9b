"""Law §5 step 8, forced routes, feedback: what guards a rule, and where its gates lead."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import FAILED, OK, decided, goes, ruled, traced

CHECK = {"field": "exit_code", "operator": "equals", "value": 9}
APPROVE = {"decision": "approve"}


def auto(key: str, action: str) -> dict[str, Any]:
    return {"key": key, "mode": "auto", "checks": {"all": [{**CHECK, "action": action}]}}


GATES = [
    {"key": "g1"},
    {"key": "g2"},
    auto("holds", "hold"),
    auto("reworks", "rework"),
    auto("aborts", "abort"),
    auto("notifies", "notify"),
    {"key": "open", "mode": "auto"},
    {"key": "skipped", "mode": "skip"},
]


def guarded(*gates: str, rules: list[dict[str, Any]] | None = None, **more: Any) -> ParsedLine:
    """r1 leads to b through these gates; r2 takes failures to c."""
    first = {"gates": list(gates)}
    return ruled(first, *(rules or [{"when": {"result": "failure"}, "to": "c"}]), gates=GATES, **more)


def test_the_token_waits_at_its_source_for_all_human_gates_together() -> None:
    assert decided(guarded("g1", "g2"), OK) == {
        "decision": "wait",
        "status": "awaiting_review",
        "gates": ["g1", "g2"],
        "to": ["b"],
        "rule": "r1",
        "question": None,
        "missing": [],
        "evaluation": None,
    }


WAITS = [
    (("g2", "g1"), {}, "wait awaiting_review at g2+g1 then b r1"),
    (("g1", "g2"), {"g1": APPROVE}, "wait awaiting_review at g2 then b r1"),
    (("g1", "g2"), {"g1": APPROVE, "g2": APPROVE}, "move b by rule r1"),
    (("g1", "holds"), {}, "wait awaiting_review at g1+holds then b r1"),
    (("g1", "holds"), {"holds": APPROVE}, "wait awaiting_review at g1 then b r1"),
    (("open", "skipped", "notifies"), {}, "move b by rule r1"),
    (("g1", "reworks"), {}, "move c by gate r2"),
    (("g1", "reworks", "aborts"), {}, "finish failed by gate r1"),
    (("holds", "reworks"), {}, "move c by gate r2"),
    (("g1", "reworks"), {"g1": APPROVE, "reworks": APPROVE}, "move c by gate r2"),
    (("g1", "g1"), {}, "wait awaiting_review at g1 then b r1"),
]


@pytest.mark.parametrize(("gates", "words", "expected"), WAITS)
def test_first_the_checks_of_all_gates_then_their_people(
    gates: tuple[str, ...], words: dict[str, Any], expected: str
) -> None:
    assert goes(guarded(*gates), OK, gates=words) == expected


def test_the_words_at_a_rule_s_gate_name_the_rule() -> None:
    def said(decision: str, policy: dict[str, Any] | None = None, **more: Any) -> str:
        word = {"decision": decision, **({"route": more.pop("route")} if "route" in more else {})}
        return goes(guarded("g1", policy=policy or {}), OK, gates={"g1": word}, **more)

    assert said("abort") == "finish failed by gate r1"
    assert said("reject") == "finish failed by gate r1"
    assert said("reject", {"on_reject": "rework"}) == "move a by gate r1"
    assert said("reject", {"on_reject": "route:c"}) == "move c by gate r1"
    assert said("reject", {"on_reject": "reviewer_chooses"}, route="c") == "move c by gate r1"
    assert said("send_back") == "move a by gate r1"
    assert said("send_back", rounds={"g1": 3}) == "wait awaiting_review at g1 then b r1"
    assert said("rework") == "move c by gate r2"


SEVERAL = [
    (("send_back", "rework"), "move c by gate r2"),
    (("rework", "reject"), "finish failed by gate r1"),
    (("reject", "abort"), "finish failed by gate r1"),
    (("approve", "send_back"), "move a by gate r1"),
]


@pytest.mark.parametrize(("words", "expected"), SEVERAL)
@pytest.mark.parametrize("order", [("g1", "g2"), ("g2", "g1")])
def test_of_several_words_abort_before_reject_before_rework_before_send_back(
    words: tuple[str, str], expected: str, order: tuple[str, str]
) -> None:
    spoken = {gate: {"decision": word} for gate, word in zip(order, words, strict=True)}
    assert goes(guarded("g1", "g2"), OK, gates=spoken) == expected


def test_of_equal_words_the_first_in_the_gates_order_decides() -> None:
    spoken = {
        "g1": {"decision": "send_back", "reason": "one"},
        "g2": {"decision": "send_back", "reason": "two"},
    }
    assert decided(guarded("g2", "g1"), OK, gates=spoken)["feedback"] == "two"
    assert decided(guarded("g1", "g2"), OK, gates=spoken)["feedback"] == "one"


def test_a_refused_send_back_gives_way_to_the_other_words() -> None:
    spoken = {"g1": {"decision": "send_back"}, "g2": {"decision": "send_back", "reason": "two"}}
    assert decided(guarded("g1", "g2"), OK, gates=spoken, rounds={"g1": 3})["feedback"] == "two"


def test_a_word_other_than_approve_decides_before_the_target_is_checked() -> None:
    rules = [{"when": {"result": "failure"}, "to": "c"}]
    of = ruled(
        {"gates": ["g1"], "max_retries": 0, "compose": [{"var": "v", "path": "k"}]},
        *rules,
        gates=GATES,
        policy={"revisit": "forbid"},
    )
    words = {"g1": {"decision": "rework"}}
    assert goes(of, OK, gates=words, visits={"b": 1}) == "move c by gate r2"


def test_approved_the_target_is_checked_with_the_facts_of_that_moment() -> None:
    of = guarded("g1")
    assert (
        goes(of, OK, gates={"g1": APPROVE}, open_escalations=1)
        == "wait held for no_open_escalation then b r1"
    )
    assert goes(of, OK, gates={"g1": APPROVE}, visits={"b": 100}) == "stuck VisitLimitExceeded r1"


def test_compose_sets_its_variables_after_the_approval() -> None:
    of = ruled({"gates": ["g1"], "compose": [{"var": "v", "path": "k"}]}, gates=GATES)
    outcome = {**OK, "output": {"k": 5}}
    assert "variables" not in decided(of, outcome)
    assert decided(of, outcome, gates={"g1": APPROVE})["variables"] == {"v": 5}


def test_gates_guard_ends_and_forks_too() -> None:
    assert goes(ruled({"to": "completed", "gates": ["g1"]}, gates=GATES), OK) == (
        "wait awaiting_review at g1 then completed r1"
    )
    assert goes(ruled({"to": ["b", "c"], "gates": ["g1"]}, gates=GATES), OK) == (
        "wait awaiting_review at g1 then b+c r1"
    )


def test_words_at_gates_that_the_matched_rule_does_not_have_do_not_count() -> None:
    assert goes(guarded("g1"), OK, gates={"g2": {"decision": "abort"}, "g1": APPROVE}) == "move b by rule r1"


def test_a20_a_gate_works_on_failure_rules_too() -> None:
    of = ruled({"when": {"result": "failure"}, "gates": ["g1"]}, gates=GATES)
    assert goes(of, FAILED) == "wait awaiting_review at g1 then b r1"


# Forced routes


def test_a_forced_route_replaces_result_verdict_and_eval_and_nothing_else() -> None:
    when = {
        "all": [
            {"result": "failure"},
            {"verdict": "fail"},
            {"eval": {"op": "equals", "value": "error"}},
            {"failure_type": "gap"},
            {"output": {"path": "k", "op": "equals", "value": 1}},
        ]
    }
    outcome = {"exit_code": 0, "eval": "fine", "failure_type": "gap", "output": {"k": 1}}
    of = ruled({"when": {"result": "success"}, "gates": ["reworks"]}, {"when": when, "to": "c"}, gates=GATES)
    assert goes(of, outcome) == "move c by gate r2"


def test_a_route_that_a_rule_s_gate_demanded_leaves_that_rule_out() -> None:
    of = guarded("reworks", rules=[{"to": "c"}])
    assert goes(of, OK) == "move c by gate r2"
    assert (
        goes(guarded("g1", rules=[{"to": "c"}]), OK, gates={"g1": {"decision": "rework"}})
        == "move c by gate r2"
    )


def test_a_route_that_the_station_gate_demanded_leaves_no_rule_out() -> None:
    of = ruled({"to": "c"}, gates=GATES, station={"gate": "reworks"})
    assert goes(of, OK) == "move c by gate r1"


def test_a_forced_route_that_no_rule_takes_does_as_the_policy_says() -> None:
    assert goes(guarded("reworks", rules=[{"when": {"result": "success"}}]), OK) == "finish failed by policy"
    alone = ruled({"gates": ["reworks"]}, gates=GATES, policy={"on_failure": "stuck", "no_rules": "end"})
    assert goes(alone, OK) == "stuck NoValidTransition"


SECOND_DEMANDS = [
    ({"to": "c", "gates": ["reworks"]}, {}, "stuck ForcedRouteLoop r2"),
]


@pytest.mark.parametrize(("second", "words", "expected"), SECOND_DEMANDS)
def test_a_second_forced_route_is_a_loop(
    second: dict[str, Any], words: dict[str, Any], expected: str
) -> None:
    assert goes(guarded("reworks", rules=[second]), OK, gates=words) == expected


def test_a_forced_failure_that_falls_back_is_a_second_forced_route() -> None:
    of = guarded("reworks", rules=[{"when": {"result": "success"}}], policy={"on_failure": "fallback"})
    assert goes(of, OK) == "stuck ForcedRouteLoop"


def test_the_gates_of_the_rule_that_takes_a_forced_route_are_asked() -> None:
    of = guarded("reworks", rules=[{"to": "c", "gates": ["g2"]}])
    assert goes(of, OK) == "wait awaiting_review at g2 then c r2"
    assert goes(of, OK, gates={"g2": APPROVE}) == "move c by gate r2"
    assert goes(of, OK, gates={"g2": {"decision": "reject"}}) == "finish failed by gate r2"


def test_a_forced_route_may_have_to_ask() -> None:
    question = {"agentic": {"question": "?"}}
    of = guarded("reworks", rules=[{"when": {**question, "answer": "yes"}, "to": "c"}])
    assert goes(of, OK) == "ask"
    assert goes(of, OK, answers=[{**question, "answer": "yes"}]) == "move c by gate r2"


def test_a_budget_that_is_exhausted_on_a_forced_route_leads_where_it_says() -> None:
    of = guarded("reworks", rules=[{"to": "c", "max_retries": 0, "on_exhausted": {"to": "b"}}])
    assert goes(of, OK) == "move b by rule r2"


# Feedback

HOOK = {"hook": {"argv": ["check"]}}
OTHER = {"agentic": {"question": "?"}}


def fed(rule: dict[str, Any], answers: list[dict[str, Any]], **facts: Any) -> Any:
    return decided(ruled({**rule}, {"to": "c"}, gates=GATES), OK, answers=answers, **facts)["feedback"]


BLOCK = {**HOOK, "answer": "block", "text": "Line 3 is wrong."}


def test_a_rule_with_feedback_hands_the_text_of_its_evaluation_on() -> None:
    rule = {"when": {**HOOK, "answer": "block"}, "feedback": True}
    assert fed(rule, [BLOCK]) == "Line 3 is wrong."
    assert fed({**rule, "feedback": False}, [BLOCK]) is None
    assert fed(rule, [{**HOOK, "answer": "block"}]) is None
    assert fed({"feedback": True}, [BLOCK]) is None


def test_the_text_of_the_last_evaluation_that_the_rule_reached_counts() -> None:
    says = {**OTHER, "answer": "yes", "text": "Because."}
    both = {"all": [{**HOOK, "answer": "block"}, {**OTHER, "answer": "yes"}]}
    assert fed({"when": both, "feedback": True}, [BLOCK, says]) == "Because."
    first = {"any": [{**HOOK, "answer": "block"}, {**OTHER, "answer": "yes"}]}
    assert fed({"when": first, "feedback": True}, [BLOCK, says]) == "Line 3 is wrong."


def test_texts_of_evaluations_that_earlier_rules_reached_do_not_count() -> None:
    of = ruled({"when": {**HOOK, "answer": "pass"}}, {"feedback": True})
    assert decided(of, OK, answers=[BLOCK])["feedback"] is None


def test_the_text_goes_to_whichever_station_is_entered() -> None:
    rule = {
        "when": {**HOOK, "answer": "block"},
        "feedback": True,
        "max_retries": 0,
        "on_exhausted": {"to": "c"},
    }
    assert fed(rule, [BLOCK]) == "Line 3 is wrong."


def test_a_person_s_rework_hands_the_reason_to_the_station_of_the_forced_route() -> None:
    words = {"g1": {"decision": "rework", "reason": "Too slow."}}
    assert decided(guarded("g1"), OK, gates=words)["feedback"] == "Too slow."


def test_a_person_s_reason_reaches_the_station_that_on_failure_names() -> None:
    words = {"g1": {"decision": "rework", "reason": "Too slow."}}
    for policy in ({"on_failure": "station:c"}, {"on_failure": "station:c", "failure_rules": "no"}):
        answer = decided(ruled({"gates": ["g1"]}, gates=GATES, policy=policy), OK, gates=words)
        assert (answer["to"], answer["by"], answer["rule"], answer["feedback"]) == (
            ["c"],
            "policy",
            None,
            "Too slow.",
        )


def test_the_text_of_a_rule_whose_compose_fails_reaches_the_station_that_on_failure_names() -> None:
    rule = {"when": {**HOOK, "answer": "block"}, "feedback": True, "compose": [{"var": "v", "path": "k"}]}
    answer = decided(ruled(rule, policy={"on_failure": "station:c"}), OK, answers=[BLOCK])
    assert (answer["to"], answer["rule"], answer["feedback"]) == (["c"], "r1", "Line 3 is wrong.")


def test_a_person_s_reason_comes_before_the_text_of_the_rule_that_takes_the_forced_route() -> None:
    rule = {"when": {**HOOK, "answer": "block"}, "feedback": True, "to": "c"}
    of = ruled({"gates": ["g1"]}, rule, gates=GATES)
    word = {"decision": "rework", "reason": "Too slow."}
    assert decided(of, OK, answers=[BLOCK], gates={"g1": word})["feedback"] == "Too slow."
    unspoken = {"decision": "rework"}
    assert decided(of, OK, answers=[BLOCK], gates={"g1": unspoken})["feedback"] == "Line 3 is wrong."


def test_a_rework_by_a_check_has_no_feedback() -> None:
    assert decided(guarded("reworks"), OK)["feedback"] is None


def test_the_trace_tells_the_steps_in_the_order_in_which_they_were_tried() -> None:
    of = guarded("reworks", station={"gate": "open"})
    steps = [(entry["step"], entry["rule"], entry["result"]) for entry in traced(of, OK)["trace"]]
    assert steps == [
        ("station_gate", None, True),
        ("rules", "r1", True),
        ("rule_gates", "r1", False),
        ("rules", "r2", True),
        ("effects", "r2", True),
    ]
