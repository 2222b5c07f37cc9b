"""ALP A1 to A12, A15, A20 to A24, A30: which station an outcome leads to. No database."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.document.line import read_line
from pipelines.routing.document.publishable import publishing_problems
from tests.routing.lint.support import found
from tests.routing.support import FAILED, OK, document, goes, line, ruled

CANCELLED = {"result": "cancelled", "reason": "idle_timeout"}
HUMAN_REVIEW = {"key": "human-review", "mode": "manual"}


def on(result: str, to: str, **more: Any) -> dict[str, Any]:
    return {"when": {"result": result}, "to": to, **more}


def refused(*stations: dict[str, Any], **more: Any) -> list[str]:
    """The places that publishing names."""
    with pytest.raises(DocumentError) as error:
        read_line(document(*stations, **more))
    return [problem.path for problem in error.value.problems]


def test_A1_no_rules_success_goes_to_the_next_station_in_list_order() -> None:
    assert goes(line({"key": "z"}, {"key": "a"}, {"key": "m"}), OK, station="z") == "move a by policy"


def test_A2_no_rules_success_at_the_last_station_completes() -> None:
    assert goes(line({}, {}), OK, station="b") == "finish completed by policy"


def test_A3_no_rules_failure_fails_the_task_wherever_it_stands() -> None:
    assert [goes(line({}, {}), FAILED, station=at) for at in "ab"] == ["finish failed by policy"] * 2


def test_A4_cancelled_with_no_rule_fails_the_task() -> None:
    assert goes(line({}, {}), CANCELLED) == "finish failed by policy"


@pytest.mark.parametrize("when", ["success", "failure", "cancelled", "any"])
def test_A5_a_rule_has_id_condition_target_and_perhaps_a_gate(when: str) -> None:
    rule = {"id": "r", "when": {"result": when}, "to": "b", "gates": ["human-review"]}
    [read] = read_line(document({"rules": [rule]}, {}, gates=[HUMAN_REVIEW])).station("a").rules
    assert (read.id, read.to, read.gates) == ("r", ("b",), ("human-review",))


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ({"to": "b"}, "id"),
        ({"id": "r"}, "to"),
        ({"id": "r", "to": "b", "when": {"result": "sometimes"}}, "when.result"),
        ({"id": "r", "to": "b", "when": {"result": "failed"}}, "when.result"),
        ({"id": "r", "to": "b", "condition": "success"}, "condition"),
    ],
)
def test_A5_what_is_missing_or_unknown_in_a_rule_is_rejected(rule: dict[str, Any], place: str) -> None:
    assert refused({"rules": [rule]}, {}) == [f"stations[0].rules[0].{place}"]


def test_A6_a_rule_of_another_station_or_condition_does_not_fire() -> None:
    of = line({}, {"rules": [{"id": "r1", **on("success", "c")}]}, {}, {})
    assert goes(of, OK, station="a") == "move b by policy"
    assert goes(of, OK, station="b") == "move c by rule r1"
    assert goes(of, FAILED, station="b") == "finish failed by policy"


@pytest.mark.parametrize(("to", "where"), [("d", "skip"), ("a", "back"), ("b", "same")])
def test_A7_the_target_overrides_the_list_order(to: str, where: str) -> None:
    of = line({}, {"rules": [{"id": where, **on("success", to)}]}, {}, {})
    assert goes(of, OK, station="b") == f"move {to} by rule {where}"


def test_A8_each_outcome_picks_its_own_rule() -> None:
    of = ruled(on("success", "b"), on("failure", "c"), on("cancelled", "a"))
    assert [goes(of, outcome) for outcome in (OK, FAILED, CANCELLED)] == [
        "move b by rule r1",
        "move c by rule r2",
        "move a by rule r3",
    ]


def test_A9_of_overlapping_rules_the_first_in_definition_order_fires() -> None:
    assert goes(ruled(on("success", "b"), on("any", "c"), on("success", "a")), OK) == "move b by rule r1"
    assert goes(ruled(on("any", "c"), on("success", "b")), OK) == "move c by rule r1"


def test_A9_the_lint_warns_of_the_shadowed_ones() -> None:
    of = ruled(on("success", "b"), on("any", "c"), on("success", "a"))
    assert [f.rule for f in found("shadowed-rule", of)] == ["r2"]
    assert [f.rule for f in found("dead-rule", of)] == ["r3"]


def test_A10_when_no_rule_matches_the_default_of_that_outcome_applies() -> None:
    rules = {"rules": [{"id": "r", "when": {"failure_type": "never"}, "to": "a"}]}
    of = line(rules, {**rules, "rules": [{**rules["rules"][0], "id": "s"}]})
    assert [goes(of, outcome) for outcome in (OK, FAILED, CANCELLED)] == [
        "move b by policy",
        "finish failed by policy",
        "finish failed by policy",
    ]
    assert goes(of, OK, station="b") == "finish completed by policy"


def test_A11_any_is_success_failure_and_cancelled() -> None:
    of = ruled(on("any", "c"))
    assert [goes(of, outcome) for outcome in (OK, FAILED, CANCELLED)] == ["move c by rule r1"] * 3
    assert goes(of, {"result": "blocked"}) == "wait blocked"


def test_A11_cancelled_is_neither_success_nor_failure() -> None:
    of = ruled(on("success", "b"), on("failure", "b"), on("cancelled", "c"))
    assert goes(of, CANCELLED) == "move c by rule r3"


@pytest.mark.parametrize("code", [1, 2, 137, -9])
def test_A12_any_exit_code_but_0_is_failure_and_all_route_alike(code: int) -> None:
    of = ruled(on("success", "b"), on("failure", "c"))
    assert goes(of, {"exit_code": 0}) == "move b by rule r1"
    assert goes(of, {"exit_code": code}) == "move c by rule r2"


def test_A15_a_gate_has_id_name_description_human_step_and_addresses() -> None:
    gate = {
        "key": "human-review",
        "name": "Human review",
        "description": "Read the summary.",
        "requires_approval": True,
        "notify": ["lead@example.com"],
    }
    read = read_line(document({}, gates=[gate])).gate("human-review")
    assert (read.key, read.name, read.description) == ("human-review", "Human review", "Read the summary.")
    assert (read.requires_approval, read.notify) == (True, ("lead@example.com",))
    assert refused({}, gates=[{"name": "Human review"}]) == ["gates[0].key"]


@pytest.mark.parametrize(("result", "outcome"), [("success", OK), ("failure", FAILED), ("any", CANCELLED)])
def test_A20_a_gate_works_on_a_rule_of_any_condition(result: str, outcome: dict[str, Any]) -> None:
    of = ruled(on(result, "c", gates=["human-review"]), gates=[HUMAN_REVIEW])
    assert goes(of, outcome) == "wait awaiting_review at human-review then c r1"
    approved = {"human-review": {"decision": "approve"}}
    assert goes(of, outcome, gates=approved) == "move c by rule r1"


def test_A21_two_rules_may_share_a_target_and_differ_in_condition_and_gate() -> None:
    of = ruled(on("success", "b"), on("failure", "b", gates=["human-review"]), gates=[HUMAN_REVIEW])
    assert goes(of, OK) == "move b by rule r1"
    assert goes(of, FAILED) == "wait awaiting_review at human-review then b r2"


def test_A22_a_retry_rule_has_3_takings_unless_it_says_otherwise_and_then_the_task_fails() -> None:
    over = "finish failed by policy with RetryLimitExceeded r1"
    retry = on("failure", "a")
    assert [goes(ruled(retry), FAILED, rules={"r1": taken}) for taken in range(5)] == [
        *["move a by rule r1"] * 3,
        *[over] * 2,
    ]
    own = ruled({**retry, "max_retries": 1})
    assert [goes(own, FAILED, rules={"r1": taken}) for taken in (0, 1)] == ["move a by rule r1", over]


def test_A24_unknown_stations_and_gates_are_rejected_on_save() -> None:
    rule = {"id": "r", "to": "nowhere", "gates": ["nobody"]}
    assert refused({"rules": [rule]}) == ["stations[0].rules[0].to", "stations[0].rules[0].gates[0]"]
    assert refused({}, start="nowhere") == ["start"]


YES = {"agentic": {"question": "Is it good?"}, "answer": "yes"}
PASSES = {"hook": {"argv": ["gate.sh"]}, "answer": "pass"}


@pytest.mark.parametrize(
    "when", [YES, PASSES, {"all": [{"result": "success"}, PASSES]}, {"any": [{"not": YES}, {"always": True}]}]
)
def test_A30_what_asks_is_published_only_with_the_flag_however_deep_it_stands(when: dict[str, Any]) -> None:
    rule = {"when": when, "to": "b"}
    assert [each.path for each in publishing_problems(ruled(rule))] == ["stations[0].rules[0].when"]
    assert publishing_problems(ruled(rule, flags={"agentic_conditions": True})) == ()
