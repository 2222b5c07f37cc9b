"""Flux D1 to D21: verdicts, signals and gates of a playbook. No database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import decided, goes, line, traced

PASS, FAIL, BLOCKED = ({"exit_code": 0, "verdict": verdict} for verdict in ("pass", "fail", "blocked"))


def stage(**more: Any) -> dict[str, Any]:
    """A stage: onPass, onFail and fallback as its three rules."""
    ways = {"onPass": ("pass", "b"), "onFail": ("fail", "c"), "fallback": ("blocked", "d")}
    rules = [{"id": name, "when": {"verdict": verdict}, "to": to} for name, (verdict, to) in ways.items()]
    return {"rules": rules, **more}


def playbook(*first: dict[str, Any], gate: dict[str, Any] | None = None, **more: Any) -> ParsedLine:
    """Stations a to e, the first with three rules; with a gate before them where one is given."""
    stages = list(first) or [stage(**({"gate": "g"} if gate else {}))]
    completed = [{"rules": [{"id": f"done-{i}", "to": "completed"}]} for i in range(5 - len(stages))]
    gates = {"gates": [{"key": "g", **gate}]} if gate else {}
    return line(*stages, *completed, preset="flux", **gates, **more)


def signal(verdict: Any, reason: str | None = None, code: int = 0, **meta: Any) -> dict[str, Any]:
    said = {"verdict": verdict, "reason": reason, "meta": meta}
    return {"exit_code": code, "signals": [{name: value for name, value in said.items() if value}]}


def check(action: str = "hold", *, fails: bool = True, **more: Any) -> dict[str, Any]:
    """A check of the exit code that fails for 0, or passes."""
    operator = "not_equals" if fails else "equals"
    return {"field": "exit_code", "operator": operator, "value": 0, "action": action, **more}


def auto(*members: dict[str, Any]) -> dict[str, Any]:
    return {"mode": "auto", "checks": {"all": list(members)}}


def word(decision: str) -> dict[str, Any]:
    return {"g": {"decision": decision}}


PASSED, FELL_BACK, ON_FAIL = "move b by rule onPass", "move d by fallback fallback", "move c by gate onFail"
ASKED, ABORTED = "wait awaiting_review at g", "finish failed by gate"


def test_D1_pass_goes_through_the_gate_rules_to_on_pass() -> None:
    assert goes(playbook(), PASS) == PASSED
    assert goes(playbook(gate=auto(check(fails=False))), PASS) == PASSED
    assert goes(playbook(gate=auto(check())), PASS) == ASKED


def test_D2_fail_goes_through_the_gate_rules_to_on_fail() -> None:
    assert goes(playbook(), FAIL) == "move c by rule onFail"
    assert goes(playbook(gate=auto(check())), FAIL) == ASKED


@pytest.mark.parametrize("gate", [None, auto(check("abort")), {"mode": "manual"}])
def test_D3_blocked_skips_the_gate_rules_and_takes_the_fallback(gate: dict[str, Any] | None) -> None:
    assert goes(playbook(gate=gate), BLOCKED) == FELL_BACK


def test_D3_blockers_take_the_fallback_whatever_the_verdict() -> None:
    named = {**PASS, "blockers": [{"title": "No access", "description": "The repository is private."}]}
    assert goes(playbook(gate=auto(check("abort"))), named) == FELL_BACK


def test_D4_a_gate_failure_overrides_on_pass() -> None:
    assert goes(playbook(gate=auto(check("abort"))), PASS) == ABORTED


def test_D5_a_stage_has_three_ways_and_each_verdict_takes_its_own() -> None:
    assert [goes(playbook(), outcome) for outcome in (PASS, FAIL, BLOCKED)] == [
        PASSED,
        "move c by rule onFail",
        FELL_BACK,
    ]


def test_D6_complete_finishes_and_blocked_waits_for_somebody() -> None:
    rules = [
        {"id": "onPass", "when": {"verdict": "pass"}, "to": "completed"},
        {"id": "onFail", "when": {"verdict": "fail"}, "to": "@blocked"},
    ]
    of = playbook({"rules": rules})
    assert goes(of, PASS) == "finish completed by rule onPass"
    assert goes(of, FAIL) == "wait blocked onFail"


def test_D7_on_fail_is_also_the_way_of_a_gate_that_asks_for_rework() -> None:
    assert goes(playbook(gate=auto(check("rework"))), PASS) == ON_FAIL


def test_D8_the_first_valid_signal_decides_and_not_the_result_document() -> None:
    both = {**FAIL, "signals": [{"verdict": "proceed"}, {"verdict": "abort"}]}
    assert goes(playbook(), both) == "move b by signal onPass"
    later = {**FAIL, "signals": [{"verdict": "unheard"}, {"verdict": "abort"}, {"verdict": "proceed"}]}
    assert goes(playbook(), later) == "finish failed by signal"


@pytest.mark.parametrize("code", [0, 1])
def test_D9_proceed_advances_to_on_pass_past_the_gate_rules(code: int) -> None:
    of = playbook(gate=auto(check("abort"), check("rework")))
    assert goes(of, signal("proceed", code=code)) == "move b by signal onPass"


def test_D9_but_never_past_a_person() -> None:
    of = playbook(gate={"mode": "checks_then_manual", "checks": {"all": [check("abort")]}})
    assert goes(of, signal("proceed")) == ASKED
    assert goes(of, signal("proceed"), gates=word("approve")) == "move b by signal onPass"


@pytest.mark.parametrize("reason", ["needs_human", "something else", None])
def test_D10_hold_pauses_and_shows_its_question(reason: str | None) -> None:
    answer = decided(playbook(), signal("hold", reason, question="Which branch?"))
    assert (answer["status"], answer["question"]) == ("blocked", "Which branch?")


def test_D11_rework_runs_this_stage_again_3_times_and_then_counts_as_fail() -> None:
    said = signal("rework")
    again = "move a by signal"
    assert [goes(playbook(), said, signal_reworks=n) for n in range(5)] == [
        *[again] * 3,
        *["move c by rule onFail"] * 2,
    ]


@pytest.mark.parametrize(("limit", "reworks", "again"), [(0, 0, False), (1, 0, True), (1, 1, False)])
def test_D11_the_stage_may_say_how_often(limit: int, reworks: int, again: bool) -> None:
    of = playbook(stage(limits={"max_retries": limit}))
    expected = "move a by signal" if again else "move c by rule onFail"
    assert goes(of, signal("rework"), signal_reworks=reworks) == expected


@pytest.mark.parametrize("gate", [None, {"mode": "manual"}, auto(check("rework"))])
def test_D12_abort_fails_the_run_past_gates_and_rules(gate: dict[str, Any] | None) -> None:
    assert goes(playbook(gate=gate), signal("abort")) == "finish failed by signal"


def test_D13_already_complete_goes_to_its_target_state_whatever_the_rules_say() -> None:
    done = signal("hold", "already_complete", targetState="e")
    assert goes(playbook(), done) == "move e by signal"
    ended = signal("hold", "already_complete", targetState="completed")
    assert goes(playbook(), ended) == "finish completed by signal"
    forbidding = playbook(policy={"revisit": "forbid"})
    assert goes(forbidding, done, visits={"e": 1}) == "move e by signal"


@pytest.mark.parametrize("target", [None, "nowhere", "@origin", 7, ["e"]])
def test_D13_without_a_known_target_it_needs_a_human(target: Any) -> None:
    answer = decided(playbook(), signal("hold", "already_complete", targetState=target, question="Done?"))
    assert (answer["status"], answer["question"]) == ("blocked", "Done?")


def test_D14_needs_human_blocks_with_the_question() -> None:
    answer = decided(playbook(), signal("hold", "needs_human", question="Which branch?"))
    assert (answer["status"], answer["question"], answer["rule"]) == ("blocked", "Which branch?", None)


GATE_VERDICTS = [
    ("proceed", PASS, PASSED),
    ("hold", PASS, ASKED),
    ("rework", PASS, ON_FAIL),
    ("abort", PASS, ABORTED),
]


@pytest.mark.parametrize(("action", "outcome", "expected"), GATE_VERDICTS)
def test_D15_each_verdict_of_a_gate(action: str, outcome: dict[str, Any], expected: str) -> None:
    assert goes(playbook(gate=auto(check(action))), outcome) == expected


@pytest.mark.parametrize(("said", "expected"), [("approve", PASSED), ("rework", ON_FAIL), ("abort", ABORTED)])
def test_D15_a_held_gate_is_decided_by_one_of_three_words(said: str, expected: str) -> None:
    of = playbook(gate=auto(check("hold")))
    assert of.gate("g").offers == ("approve", "rework", "abort")
    assert goes(of, PASS, gates=word(said)) == expected


def test_D16_rework_of_a_signal_and_of_a_gate_are_two_things() -> None:
    of = playbook(gate=auto(check("rework")))
    assert goes(of, signal("rework")) == "move a by signal"
    assert goes(of, PASS) == ON_FAIL


def test_D17_a_gates_rework_of_a_failed_result_is_on_fail_too() -> None:
    assert goes(playbook(gate=auto(check("rework"))), FAIL) == ON_FAIL


OPERATORS = [
    ("equals", 7, True),
    ("equals", "7", False),
    ("not_equals", 7, False),
    ("not_equals", 8, True),
    ("less_than", 8, True),
    ("less_than", 7, False),
    ("less_than_or_equal", 7, True),
    ("greater_than", 6, True),
    ("greater_than", 7, False),
    ("greater_than_or_equal", 7, True),
    ("in", [6, 7], True),
    ("in", [6], False),
]


@pytest.mark.parametrize(("operator", "value", "passes"), OPERATORS)
def test_D18_each_operator_of_a_gate_rule(operator: str, value: Any, passes: bool) -> None:
    rule = {"field": "output.score", "operator": operator, "value": value, "action": "abort"}
    assert goes(playbook(gate=auto(rule)), {**PASS, "output": {"score": 7}}) == (
        PASSED if passes else ABORTED
    )


@pytest.mark.parametrize(
    ("operator", "value", "passes"),
    [
        ("contains", "fail", True),
        ("contains", "x", False),
        ("matches", "^api_", True),
        ("matches", "^f", False),
    ],
)
def test_D18_operators_on_texts(operator: str, value: Any, passes: bool) -> None:
    rule = {"field": "output.name", "operator": operator, "value": value, "action": "abort"}
    outcome = {**PASS, "output": {"name": "api_failure"}}
    assert goes(playbook(gate=auto(rule)), outcome) == (PASSED if passes else ABORTED)


@pytest.mark.parametrize("operator", ["exists", "equals", "not_equals", "less_than", "matches"])
def test_D18_what_is_absent_or_unknown_fails_the_rule(operator: str) -> None:
    for field in ("output.missing", "provider", "meta.duration_sec"):
        rule = {"field": field, "operator": operator, "value": "1", "action": "abort"}
        assert goes(playbook(gate=auto(rule)), PASS) == ABORTED, field


FIELDS = [
    ("exit_code", 0),
    ("cost_usd", 1.5),
    ("cost.total_usd", 1.5),
    ("tokens_in", 10),
    ("tokens.input", 10),
    ("tokens_out", 20),
    ("tokens.output", 20),
    ("timing.duration_sec", 3),
    ("run.attempt", 2),
    ("verdict", "pass"),
    ("blockers", 0),
]


@pytest.mark.parametrize(("field", "value"), FIELDS)
def test_D18_the_fields_that_playbooks_read(field: str, value: Any) -> None:
    rule = {"field": field, "operator": "equals", "value": value, "action": "abort"}
    usage = {"cost_usd": 1.5, "tokens_in": 10, "tokens_out": 20, "duration_sec": 3}
    assert goes(playbook(gate=auto(rule)), {**PASS, "usage": usage}, visits={"a": 2}) == PASSED


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (("hold", "rework", "abort"), ABORTED),
        (("hold", "rework", "proceed"), ON_FAIL),
        (("proceed", "hold"), ASKED),
        (("proceed", "notify", "escalate"), PASSED),
    ],
)
def test_D18_the_worst_failed_action_wins(actions: tuple[str, ...], expected: str) -> None:
    for order in (actions, actions[::-1]):
        assert goes(playbook(gate=auto(*map(check, order))), PASS) == expected


@pytest.mark.parametrize("action", ["hold", "rework", "abort"])
def test_D18_warn_is_shown_and_never_changes_routing(action: str) -> None:
    of = playbook(gate=auto(check(action, severity="warn", label="Expensive")))
    assert goes(of, PASS) == PASSED
    [gate] = [entry for entry in traced(of, PASS)["trace"] if entry["step"] == "station_gate"]
    assert [(saw["label"], saw["passed"], saw["severity"]) for saw in gate["saw"]] == [
        ("Expensive", False, "warn")
    ]


@pytest.mark.parametrize("severity", ["required", "block"])
def test_D18_required_and_block_route_alike_and_only_when_they_fail(severity: str) -> None:
    assert goes(playbook(gate=auto(check("abort", severity=severity))), PASS) == ABORTED
    assert goes(playbook(gate=auto(check("abort", fails=False, severity=severity))), PASS) == PASSED


def test_D18_groups_of_any_pass_with_one_member() -> None:
    bad, good = check("abort"), check("abort", fails=False)
    assert goes(playbook(gate={"mode": "auto", "checks": {"any": [bad, good]}}), PASS) == PASSED
    assert goes(playbook(gate={"mode": "auto", "checks": {"any": [bad, check("hold")]}}), PASS) == ABORTED
    nested = {"mode": "auto", "checks": {"all": [good, {"any": [bad, {"all": [good, bad]}]}]}}
    assert goes(playbook(gate=nested), PASS) == ABORTED


MODES = [
    ({"mode": "auto"}, PASSED),
    ({"mode": "manual"}, ASKED),
    ({"mode": "skip", "checks": {"all": [check("abort")]}}, PASSED),
    ({"mode": "manual", "checks": {"all": [check("abort")]}}, ASKED),
    ({"mode": "checks_then_manual", "checks": {"all": [check("abort")]}}, ABORTED),
]


@pytest.mark.parametrize(("gate", "expected"), MODES)
def test_D18_each_mode_of_a_gate(gate: dict[str, Any], expected: str) -> None:
    assert goes(playbook(gate=gate), PASS) == expected


NO_DOCUMENT = [
    ("required", {"exit_code": 0}, FELL_BACK),
    ("required", {"exit_code": 0, "output_error": "not JSON"}, FELL_BACK),
    ("required", {"exit_code": 0, "output": {"summary": "Done."}}, PASSED),
    ("required", {"exit_code": 1}, "move c by rule onFail"),
    ("optional", {"exit_code": 0}, PASSED),
]


@pytest.mark.parametrize(("contract", "outcome", "expected"), NO_DOCUMENT)
def test_D19_without_a_valid_result_document_the_fallback_only_where_one_is_required(
    contract: str, outcome: dict[str, Any], expected: str
) -> None:
    assert goes(playbook(stage(result_document=contract)), outcome) == expected


@pytest.mark.parametrize("verdict", ["stop", "", "Proceed", 5, None, ["abort"]])
def test_D20_an_invalid_verdict_of_a_signal_is_ignored(verdict: Any) -> None:
    assert goes(playbook(), {**PASS, "signals": [{"verdict": verdict}]}) == PASSED


def test_D21_a_loop_of_a_stage_with_itself_is_legal() -> None:
    itself = {"rules": [{"id": "onFail", "when": {"verdict": "fail"}, "to": "a"}]}
    assert goes(playbook(itself), FAIL, visits={"a": 12}) == "move a by rule onFail"


@pytest.mark.parametrize(("runs", "expected"), [(1, "move a"), (9, "move a"), (10, "move e")])
def test_D21_a_loop_stage_runs_until_its_verdict_or_10_times(runs: int, expected: str) -> None:
    rules = [
        {"id": "onComplete", "when": {"verdict": "pass"}, "to": "b"},
        {"id": "again", "to": "a", "max_visits": 10, "on_exhausted": {"to": "e"}},
    ]
    of = playbook({"rules": rules})
    assert goes(of, FAIL, visits={"a": runs}) == f"{expected} by rule again"
    assert goes(of, PASS, visits={"a": runs}) == "move b by rule onComplete"
