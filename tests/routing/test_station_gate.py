"""Law §5 steps 4 and 5, and §6: blocked outcomes, the station gate, its checks and words."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import decided, goes, line, ruled, traced

OK = {"exit_code": 0}
FAIL_CHECK = {"field": "exit_code", "operator": "equals", "value": 9}


def gated(
    rules: list[dict[str, Any]] | None = None, policy: dict[str, Any] | None = None, **gate: Any
) -> ParsedLine:
    """Station a with the gate g; by default r1 takes failures to c and r2 everything to b."""
    rules = rules or [{"when": {"result": "failure"}, "to": "c"}, {}]
    return ruled(*rules, gates=[{"key": "g", **gate}], station={"gate": "g"}, policy=policy or {})


def checks(*members: dict[str, Any]) -> dict[str, Any]:
    return {"mode": "auto", "checks": {"all": list(members)}}


# Step 4


@pytest.mark.parametrize(
    "outcome",
    [
        {"result": "blocked"},
        {"verdict": "blocked"},
        {"result": "success", "verdict": "blocked"},
        {"exit_code": 0, "blockers": [{"title": "x"}]},
        {"exit_code": 1, "blockers": ["x"]},
    ],
)
def test_a_blocked_outcome_takes_the_fallback_and_skips_the_station_gate(outcome: dict[str, Any]) -> None:
    blocked = {
        "all": [{"result": "blocked"}, {"verdict": "blocked"}, {"eval": {"op": "equals", "value": "blocked"}}]
    }
    of = gated([{"when": {"result": ["success", "failure"]}}, {"when": blocked, "to": "c"}], mode="manual")
    assert goes(of, outcome) == "move c by fallback r2"
    assert goes(gated([{"when": {"result": "any"}}]), outcome) == "wait blocked"


MISSING_DOCUMENT = [
    ("required", {"exit_code": 0}, True),
    ("required", {"exit_code": 0, "output_error": True}, True),
    ("required", {"exit_code": 0, "output_error": True, "output": {}}, True),
    ("required", {"exit_code": 0, "output": {}}, False),
    ("required", {"exit_code": 0, "output": None}, False),
    ("required", {"exit_code": 1}, False),
    ("required", {"result": "success"}, False),
    ("required", {"exit_code": 0, "result": "failure"}, True),
    ("optional", {"exit_code": 0}, False),
    ("none", {"exit_code": 0}, False),
]


@pytest.mark.parametrize(("wanted", "outcome", "taken"), MISSING_DOCUMENT)
def test_a_required_result_document_that_is_missing_takes_the_fallback(
    wanted: str, outcome: dict[str, Any], taken: bool
) -> None:
    of = ruled({"when": {"result": "blocked"}, "to": "c"}, {}, station={"result_document": wanted})
    assert goes(of, outcome) == ("move c by fallback r1" if taken else "move b by rule r2")


def test_the_fallback_treats_unparseable_output_as_no_output() -> None:
    when = {"output": {"path": "k", "op": "missing"}}
    of = ruled({"when": when}, station={"result_document": "required"})
    assert goes(of, {"exit_code": 0, "output_error": True}) == "move b by fallback r1"


# Modes


MODES = [
    ({"mode": "manual"}, "wait awaiting_review at g"),
    ({}, "wait awaiting_review at g"),
    ({"mode": "auto"}, "move b by rule r2"),
    ({"mode": "skip"}, "move b by rule r2"),
    ({"mode": "checks_then_manual"}, "wait awaiting_review at g"),
    ({"mode": "manual", "requires_approval": False}, "move b by rule r2"),
    ({"mode": "checks_then_manual", "requires_approval": False}, "move b by rule r2"),
    # a failing check
    ({"checks": {"all": [{**FAIL_CHECK, "action": "abort"}]}}, "finish failed by gate"),
    ({"mode": "manual", "checks": {"all": [{**FAIL_CHECK, "action": "abort"}]}}, "wait awaiting_review at g"),
    ({"mode": "skip", "checks": {"all": [{**FAIL_CHECK, "action": "abort"}]}}, "move b by rule r2"),
    ({"mode": "auto", "checks": {"all": [FAIL_CHECK]}}, "wait awaiting_review at g"),
    (
        {"mode": "checks_then_manual", "requires_approval": False, "checks": {"all": [FAIL_CHECK]}},
        "wait awaiting_review at g",
    ),
    ({"mode": "manual", "requires_approval": False, "checks": {"all": [FAIL_CHECK]}}, "move b by rule r2"),
    (
        {"mode": "auto", "requires_approval": True, "checks": {"all": [{**FAIL_CHECK, "action": "rework"}]}},
        "move c by gate r1",
    ),
]


@pytest.mark.parametrize(("gate", "expected"), MODES)
def test_the_mode_says_who_decides(gate: dict[str, Any], expected: str) -> None:
    assert goes(gated(**gate), OK) == expected


def test_what_waits_at_a_station_gate_has_no_target_and_no_rule() -> None:
    answer = decided(gated(), OK)
    assert (answer["gates"], answer["to"], answer["rule"]) == (["g"], [], None)


@pytest.mark.parametrize("gate", [{"mode": "manual"}, checks(FAIL_CHECK)])
def test_approved_goes_on_with_the_outcome_unchanged(gate: dict[str, Any]) -> None:
    approved = {"g": {"decision": "approve"}}
    assert goes(gated(**gate), OK, gates=approved) == "move b by rule r2"
    assert goes(gated(**gate), {"exit_code": 1}, gates=approved) == "move c by rule r1"


def test_an_approval_does_not_outweigh_a_check_that_aborts() -> None:
    of = gated(checks={"all": [{**FAIL_CHECK, "action": "abort"}]})
    assert goes(of, OK, gates={"g": {"decision": "approve"}}) == "finish failed by gate"


# Words


def test_each_word_at_a_station_gate() -> None:
    def said(
        decision: str, policy: dict[str, Any] | None = None, gate: dict[str, Any] | None = None, **more: Any
    ) -> str:
        word = {"decision": decision, **({"route": more.pop("route")} if "route" in more else {})}
        return goes(gated(policy=policy, **(gate or {})), OK, gates={"g": word}, **more)

    assert said("abort") == "finish failed by gate"
    assert said("rework") == "move c by gate r1"
    assert said("send_back") == "move a by gate"
    assert said("send_back", rounds={"g": 2}) == "move a by gate"
    assert said("send_back", rounds={"g": 3}) == "wait awaiting_review at g"
    assert (
        said("send_back", gate={"approval": {"max_rounds": 1}}, rounds={"g": 1})
        == "wait awaiting_review at g"
    )
    assert said("reject") == "finish failed by gate"
    assert said("reject", {"on_reject": "rework"}) == "move a by gate"
    assert said("reject", {"on_reject": "route:c"}) == "move c by gate"
    assert said("reject", {"on_reject": "rework"}, {"on_reject": "fail"}) == "finish failed by gate"
    assert said("reject", {"on_reject": "reviewer_chooses"}, route="rework") == "move a by gate"
    assert said("reject", {"on_reject": "reviewer_chooses"}, route="fail") == "finish failed by gate"
    assert said("reject", {"on_reject": "reviewer_chooses"}, route="c") == "move c by gate"
    assert said("reject", route="c") == "finish failed by gate"


@pytest.mark.parametrize("decision", ["abort", "rework", "send_back", "reject"])
def test_a_word_other_than_approve_decides_before_the_checks(decision: str) -> None:
    aborting = gated(checks={"all": [{**FAIL_CHECK, "action": "abort"}]}, on_reject="rework")
    answer = goes(aborting, OK, gates={"g": {"decision": decision}})
    assert (
        answer
        == {
            "abort": "finish failed by gate",
            "rework": "move c by gate r1",
            "send_back": "move a by gate",
            "reject": "move a by gate",
        }[decision]
    )


@pytest.mark.parametrize("decision", ["rework", "send_back", "reject"])
def test_the_reason_of_a_person_becomes_the_feedback(decision: str) -> None:
    word = {"decision": decision, "reason": "Too slow."}
    assert decided(gated(on_reject="rework"), OK, gates={"g": word})["feedback"] == "Too slow."
    assert decided(gated(on_reject="rework"), OK, gates={"g": {"decision": decision}})["feedback"] is None


def test_a_skipped_gate_hears_no_word() -> None:
    assert goes(gated(mode="skip"), OK, gates={"g": {"decision": "abort"}}) == "move b by rule r2"


def test_a_reject_runs_no_failure_rules() -> None:
    assert goes(gated(), OK, gates={"g": {"decision": "reject"}}) == "finish failed by gate"


def test_moves_by_a_word_are_bound_by_cap_budget_and_preconditions_but_not_by_the_revisit_policy() -> None:
    back = {"g": {"decision": "send_back"}}
    assert goes(gated(policy={"revisit": "forbid"}), OK, gates=back) == "move a by gate"
    assert goes(gated(policy={"visit_cap": 2}), OK, gates=back, visits={"a": 2}) == "stuck VisitLimitExceeded"
    to_c = gated(policy={"on_reject": "route:c"})
    assert goes(to_c, OK, gates={"g": {"decision": "reject"}}, open_escalations=2) == (
        "wait held for no_open_escalation then c"
    )


# Checks


WORST = [
    (["proceed", "hold"], "wait awaiting_review at g"),
    (["hold", "rework"], "move c by gate r1"),
    (["rework", "abort", "hold"], "finish failed by gate"),
    (["proceed"], "move b by rule r2"),
    (["notify"], "move b by rule r2"),
    (["escalate", "notify"], "move b by rule r2"),
]


@pytest.mark.parametrize(("actions", "expected"), WORST)
def test_the_worst_failed_action_wins(actions: list[str], expected: str) -> None:
    assert goes(gated(**checks(*[{**FAIL_CHECK, "action": action} for action in actions])), OK) == expected


def test_a_failed_check_without_an_action_holds_and_required_is_the_usual_severity() -> None:
    entry = traced(gated(**checks(FAIL_CHECK)), OK)["trace"][0]
    assert (entry["saw"][0]["severity"], entry["saw"][0]["action"]) == ("required", "hold")


PASSES = {"field": "exit_code", "operator": "equals", "value": 0}
ABORT, REWORK = {**FAIL_CHECK, "action": "abort"}, {**FAIL_CHECK, "action": "rework"}
WARN = {**PASSES, "severity": "warn"}

GROUPS = [
    ({"any": [ABORT, PASSES]}, "move b by rule r2"),
    ({"any": [REWORK, ABORT]}, "finish failed by gate"),
    ({"any": [REWORK, {"all": [PASSES, ABORT]}]}, "finish failed by gate"),
    ({"all": [REWORK, {"any": [ABORT, PASSES]}]}, "move c by gate r1"),
    ({"all": [{"any": [{"all": [PASSES]}, ABORT]}]}, "move b by rule r2"),
    ({"all": []}, "move b by rule r2"),
    ({"any": []}, "move b by rule r2"),
    ({"all": [{**ABORT, "severity": "warn"}]}, "move b by rule r2"),
    ({"all": [{**ABORT, "severity": "block"}]}, "finish failed by gate"),
    ({"any": [WARN, ABORT]}, "finish failed by gate"),
]


@pytest.mark.parametrize(("group", "expected"), GROUPS)
def test_groups_count_their_worst_failed_member(group: dict[str, Any], expected: str) -> None:
    assert goes(gated(mode="auto", checks=group), OK) == expected


def test_checks_of_severity_warn_are_shown() -> None:
    answer = traced(gated(**checks({**ABORT, "severity": "warn", "label": "Odd"})), OK)
    shown = answer["trace"][0]["saw"][0]
    assert (shown["label"], shown["passed"], shown["severity"]) == ("Odd", False, "warn")


def test_under_manual_the_checks_are_shown() -> None:
    entry = traced(gated(mode="manual", checks={"all": [ABORT]}), OK)["trace"][0]
    assert (entry["step"], entry["saw"][0]["passed"]) == ("station_gate", False)


OUTCOME = {
    "exit_code": 3,
    "verdict": "pass",
    "eval": " 7 ",
    "failure_type": "bug",
    "output": {"a.b": 1, "a": {"b": 2, "c": 3}, "n": None},
    "usage": {"cost_usd": 0.5, "tokens_in": 10, "tokens_out": 20, "duration_sec": 1.5},
}
SEEN: dict[str, Any] = {
    "task": {"title": "T", "owner": {"name": "O"}},
    "inputs": {"repo": "r", "a": {"b": 1}},
    "context": {"x": {"y": 1}, "x.z": 2},
    "variables": {"v": [1, 2]},
    "visits": {"a": 4},
    "gates": {"other": {"decision": "approve"}},
}

FIELDS = [
    ("exit_code", "equals", 3, True),
    ("exit_code", "equals", "3", False),
    ("exit_code", "equals", 3.0, True),
    ("result", "equals", "failure", True),
    ("verdict", "equals", "pass", True),
    ("eval", "equals", " 7 ", True),
    ("eval", "equals", 7, True),
    ("eval", "not_equals", 7, False),
    ("eval", "greater_than", 6, True),
    ("eval", "greater_than", "6", False),
    ("eval", "less_than_or_equal", 7.0, True),
    ("failure_type", "in", ["bug", "gap"], True),
    ("signal", "exists", None, False),
    ("output.a.b", "equals", 1, True),
    ("output.a.c", "equals", 3, True),
    ("output.n", "exists", None, True),
    ("output.n", "equals", None, True),
    ("output.z", "not_equals", 1, False),
    ("output.z", "exists", None, False),
    ("task.title", "matches", "^T$", True),
    ("task.owner.name", "contains", "O", True),
    ("input.repo", "equals", "r", True),
    ("input.a.b", "exists", None, False),
    ("context.x.y", "equals", 1, True),
    ("context.x.z", "equals", 2, True),
    ("variables.v", "contains", 2.0, True),
    ("usage.cost_usd", "less_than", 1, True),
    ("cost_usd", "equals", 0.5, True),
    ("cost.total_usd", "equals", 0.5, True),
    ("usage.tokens_in", "equals", 10, True),
    ("tokens.output", "equals", 20, True),
    ("timing.duration_sec", "greater_than_or_equal", 1.5, True),
    ("run.attempt", "equals", 4, True),
    ("blockers", "equals", 0, True),
    ("gates.other", "equals", "approve", True),
    ("gates.unknown", "not_equals", "approve", False),
    ("gates.g", "exists", None, False),
    ("meta.duration_sec", "not_equals", 1, False),
    ("nonsense", "exists", None, False),
    ("output", "exists", None, False),
]


@pytest.mark.parametrize(("field", "operator", "value", "passes"), FIELDS)
def test_a_check_reads_its_field(field: str, operator: str, value: Any, passes: bool) -> None:
    check = {"field": field, "operator": operator, "value": value, "action": "abort"}
    of = gated([{}], **checks(check))
    assert goes(of, OUTCOME, **SEEN) == ("move b by rule r1" if passes else "finish failed by gate")


def test_an_unknown_field_is_reported() -> None:
    entry = traced(gated(**checks({"field": "nonsense", "operator": "exists"})), OK)["trace"][0]
    assert entry["saw"][0]["why"] == "unknown field"


def test_a_field_of_unparseable_output_is_absent() -> None:
    of = gated(**checks({"field": "output.k", "operator": "exists", "action": "abort"}))
    assert goes(of, {"exit_code": 0, "output_error": True, "output": {"k": 1}}) == "finish failed by gate"


def test_an_eval_that_is_no_number_differs_from_every_number_and_has_no_order() -> None:
    for operator, passes in (
        ("equals", False),
        ("not_equals", True),
        ("less_than", False),
        ("greater_than", False),
    ):
        of = gated(**checks({"field": "eval", "operator": operator, "value": 7, "action": "abort"}))
        assert goes(of, {"eval": "seven"}) == ("move b by rule r2" if passes else "finish failed by gate")


def test_checks_of_a_rule_read_the_outcome_as_recorded_on_a_forced_route() -> None:
    recorded = {"field": "result", "operator": "equals", "value": "success", "action": "abort"}
    of = ruled(
        {"when": {"result": "blocked"}, "gates": ["g"]},
        gates=[{"key": "g", **checks(recorded, {**recorded, "field": "verdict", "value": "pass"})}],
    )
    assert goes(of, {"exit_code": 0, "blockers": ["b"]}) == "move b by fallback r1"


def test_the_gate_works_on_any_outcome_failures_too() -> None:
    assert goes(gated(mode="manual"), {"exit_code": 1}) == "wait awaiting_review at g"


GATE_WORD = {"all": [{"field": "gates.plan", "operator": "equals", "value": "approve", "action": "abort"}]}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"words": {"plan": "approve"}}, "move b by policy"),
        ({"words": {"plan": "send_back"}}, "finish failed by gate"),
        ({"words": {"other": "approve"}}, "finish failed by gate"),
        ({}, "finish failed by gate"),
        # what is said now comes before what was said earlier
        ({"words": {"plan": "approve"}, "gates": {"plan": {"decision": "rework"}}}, "finish failed by gate"),
    ],
)
def test_a_check_reads_the_last_word_at_another_gate(facts: dict[str, Any], expected: str) -> None:
    gates = [{"key": "plan"}, {"key": "g", "mode": "auto", "checks": GATE_WORD}]
    of = line({"gate": "g"}, {}, gates=gates)
    assert of.reads_gate_words
    assert goes(of, OK, **facts) == expected
