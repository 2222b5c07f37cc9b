"""Named budgets: N are allowed, the N + 1st is refused; the strictest breach wins; nothing is let through."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine
from tests.routing.support import FAILED, OK, decided, goes, line, ruled, short, traced

Budget = dict[str, Any]


def budget(kind: str, most: int | str, **more: Any) -> Budget:
    return {"key": "b", "kind": kind, "most": most, "on_exhausted": "stuck", **more}


def loop(*budgets: Budget, **more: Any) -> ParsedLine:
    """a → b → c, and from each a rule back to a (its word: back), to itself (again) and on."""
    stations = [
        {
            "rules": [
                {"id": f"{key}-back", "when": said("back"), "to": "a"},
                {"id": f"{key}-again", "when": said("again"), "to": key},
                {"id": f"{key}-on", "to": after},
            ]
        }
        for key, after in (("a", "b"), ("b", "c"), ("c", "completed"))
    ]
    return line(*stations, budgets=list(budgets), policy={"self_loop_limit": "none"}, **more)


def said(word: str) -> dict[str, Any]:
    return {"eval": {"op": "equals", "value": word}}


def reports(word: str, **more: Any) -> dict[str, Any]:
    return {"result": "success", "eval": word, **more}


# kind, what it reads, the facts with one taking left, those with none, the outcome and where it stands
KINDS: dict[str, tuple[Budget, dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "rules together": (
        budget("rules", 3, rules=["b-back", "c-back"]),
        {"rules": {"b-back": 1, "c-back": 1}},
        {"rules": {"b-back": 1, "c-back": 2}},
        reports("back"),
        "b",
    ),
    "edges together": (
        budget("edges", 3, edges=["b->a", "c->a"]),
        {"edges": {"b->a": 2, "b->c": 7}},
        {"edges": {"b->a": 1, "c->a": 2}},
        reports("back"),
        "b",
    ),
    "entries of stations together": (
        budget("station", 3, stations=["a", "b"]),
        {"visits": {"a": 1, "b": 1, "c": 9}},
        {"visits": {"a": 2, "b": 1}},
        reports("back"),
        "b",
    ),
    "moves with a type of failure": (
        budget("failure_type", 2, failure_types=["license", "test gap"]),
        {"failures": {"a:license": 1, "a:other": 9}},
        {"failures": {"a:license": 1, "c:test gap": 1}},
        reports("back", failure_type="test gap"),
        "b",
    ),
    "moves with a type of failure out of a station": (
        budget("failure_type", 1, failure_types=["license"], stations=["b"]),
        {"failures": {"c:license": 5}},
        {"failures": {"b:license": 1}},
        reports("back", failure_type="license"),
        "b",
    ),
    "rework within a stage": (
        budget("same_stage", 2),
        {"edges": {"b->b": 1, "a->a": 9}},
        {"edges": {"b->b": 2}},
        reports("again"),
        "b",
    ),
    "rework across stages": (
        budget("cross_stage", 3),
        {"edges": {"b->a": 1, "c->b": 1, "a->b": 9, "b->b": 9}},
        {"edges": {"b->a": 1, "c->b": 2}},
        reports("back"),
        "b",
    ),
    "restarts of the line": (
        budget("restart", 2),
        {"edges": {"b->a": 1, "c->b": 9, "a->a": 9}},
        {"edges": {"b->a": 1, "c->a": 1}},
        reports("back"),
        "b",
    ),
    "rounds of a loop": (
        budget("loop", 2, stations=["a", "b"]),
        {"edges": {"b->a": 1, "c->a": 9}},
        {"edges": {"b->a": 2}},
        reports("back"),
        "b",
    ),
}
kinds = pytest.mark.parametrize(("kind", "left", "over", "outcome", "at"), KINDS.values(), ids=KINDS)


@kinds
def test_n_are_allowed_and_the_next_is_refused(
    kind: Budget, left: dict[str, Any], over: dict[str, Any], outcome: dict[str, Any], at: str
) -> None:
    of = loop(kind)
    assert goes(of, outcome, at, **left).startswith("move")
    assert goes(of, outcome, at, **over).startswith("stuck RetryLimitExceeded")


@kinds
def test_what_costs_nothing_of_it_is_let_through(
    kind: Budget, left: dict[str, Any], over: dict[str, Any], outcome: dict[str, Any], at: str
) -> None:
    if kind["kind"] == "failure_type":
        outcome = {**outcome, "failure_type": "another"}
    else:
        outcome = reports("on")
    assert goes(loop(kind), outcome, at, **over).startswith("move")


def test_the_trace_names_the_budget_and_how_much_of_it_is_spent() -> None:
    answer = traced(loop(budget("cross_stage", 3)), reports("back"), "b", edges={"b->a": 3})
    whys = [entry["why"] for entry in answer["trace"] if entry["step"] == "target"]
    assert whys == ["RetryLimitExceeded: budget b (cross_stage): 3 of 3 are spent"]


def test_a_budget_of_none_is_no_limit() -> None:
    assert goes(loop(budget("cross_stage", "none")), reports("back"), "b", edges={"b->a": 90}).startswith(
        "move"
    )


def test_every_branch_of_a_fork_costs() -> None:
    of = ruled({"to": ["b", "c"]}, budgets=[budget("edges", 3, edges=["a->b", "a->c"], on_exhausted="fail")])
    assert goes(of, OK, edges={"a->b": 1}) == "move b+c by rule r1"
    assert goes(of, OK, edges={"a->b": 2}) == "finish failed by policy with RetryLimitExceeded r1"


BREACHES = [
    (["fail", "stuck", "escalate"], "finish failed by policy with RetryLimitExceeded b-back"),
    ([{"to": "c"}, "escalate", "stuck"], "stuck RetryLimitExceeded b-back"),
    (["escalate", {"to": "c"}], "escalate RetryLimitExceeded b-back"),
    ([{"to": "c"}, {"to": "completed"}], "move c by policy b-back"),
    ([None], "finish failed by policy with RetryLimitExceeded b-back"),  # the knob of `alp`
]


@pytest.mark.parametrize(("hows", "then"), BREACHES)
def test_of_several_breaches_the_strictest_wins(hows: list[Any], then: str) -> None:
    budgets = [
        {"key": f"b{n}", "kind": "cross_stage", "most": 0, **({"on_exhausted": how} if how else {})}
        for n, how in enumerate(hows)
    ]
    assert goes(loop(*budgets), reports("back"), "b") == then


def test_a_rules_own_budget_is_one_of_the_breaches() -> None:
    rule = {"to": "a", "max_retries": 0, "on_exhausted": {"to": "c"}}
    stations = [{}, {"rules": [{"id": "r1", **rule}]}, {}]
    assert goes(line(*stations), OK, "b") == "move c by rule r1"
    strict = line(*stations, budgets=[budget("cross_stage", 0)])
    assert goes(strict, OK, "b") == "stuck RetryLimitExceeded r1"


def test_a_target_is_not_let_through_by_other_budgets() -> None:
    first = budget("edges", 0, edges=["c->b"], on_exhausted={"to": "a"})
    of = line(
        {},
        {},
        {"rules": [{"id": "r1", "to": "b"}]},
        budgets=[first, {**budget("cross_stage", 1), "key": "x"}],
    )
    assert goes(of, OK, "c") == "move a by policy r1"
    assert goes(of, OK, "c", edges={"c->a": 1}) == "stuck RetryLimitExceeded r1"


def test_targets_that_lead_to_each_other_end() -> None:
    one = budget("cross_stage", 0, on_exhausted={"to": "a"})
    of = line({}, {}, {"rules": [{"id": "r1", "to": "b"}]}, budgets=[one])
    assert goes(of, OK, "c") == "move a by policy r1"


def test_a_policy_and_a_persons_word_are_bound_too() -> None:
    of = line({}, {}, policy={"on_failure": "station:a"}, budgets=[budget("cross_stage", 1)])
    assert goes(of, FAILED, "b") == "move a by policy"
    assert goes(of, FAILED, "b", edges={"b->a": 1}) == "stuck RetryLimitExceeded"
    gate = {"key": "g", "on_reject": "rework"}
    gated = line({"gate": "g"}, {}, gates=[gate], budgets=[budget("same_stage", 1)])
    no = {"g": {"decision": "reject", "reason": "No."}}
    assert goes(gated, OK, gates=no) == "move a by gate"
    assert goes(gated, OK, gates=no, edges={"a->a": 1}) == "stuck RetryLimitExceeded"


def test_an_escalation_names_the_budget_and_its_role() -> None:
    of = loop(budget("cross_stage", 0, on_exhausted="escalate", role="lead"))
    assert decided(of, reports("back"), "b") == {
        "decision": "escalate",
        "trigger": "RetryLimitExceeded",
        "rule": "b-back",
        "budget": "b",
        "role": "lead",
    }


# The standard ones of AEEF

STAGES = ("requirements", "design", "implementation", "testing", "rework_test", "rework_impl", "deployment")
REWORK = {"rework_test": "testing", "rework_impl": "implementation"}


def aeef(**more: Any) -> ParsedLine:
    """The stages with rework stations, each outcome to where its eval says, or back where it came from."""
    stations = [
        {
            "key": key,
            "rules": [
                *({"id": f"{key}-{to}", "when": said(to), "to": to} for to in STAGES if to != key),
                {"id": f"{key}-again", "when": said("again"), "to": key},
                {"id": f"{key}-return", "to": "@origin"},
            ],
            **({"stage": REWORK[key]} if key in REWORK else {}),
        }
        for key in STAGES
    ]
    return line(*stations, preset="aeef", **{"policy": {"preconditions": "no"}, **more})


LIMITS = [
    ("testing", "rework_test", {"testing->rework_test": 3}, "same-stage-rework", "stage-owner"),
    ("testing", "rework_impl", {"testing->rework_impl": 3, "testing->design": 2}, "cross-stage-rework", None),
    ("design", "requirements", {"design->requirements": 1, "testing->requirements": 1}, "restart", "cto"),
    ("deployment", "again", {"deployment->deployment": 2}, "deployment-retry", "human-investigation"),
]


@pytest.mark.parametrize(("at", "to", "edges", "key", "role"), LIMITS)
def test_E20_the_limits_of_rework(
    at: str, to: str, edges: dict[str, int], key: str, role: str | None
) -> None:
    one_less = dict(edges)
    last = next(reversed(one_less))
    one_less[last] -= 1
    assert goes(aeef(), reports(to), at, edges=one_less).startswith("move")
    answer = decided(aeef(), reports(to), at, edges=edges)
    assert (answer["decision"], answer["trigger"]) == ("escalate", "RetryLimitExceeded")
    assert (answer["budget"], answer["role"]) == (key, role or "development-manager")


def test_E20_returning_from_rework_costs_nothing() -> None:
    spent = {"testing->rework_impl": 5, "testing->rework_test": 3}
    for rework in ("rework_impl", "rework_test"):
        answer = goes(aeef(), OK, rework, edges=spent, origin="testing")
        assert answer == f"move testing by rule {rework}-return"


def test_E20_a_line_overrides_each_number_and_switches_one_off() -> None:
    own: list[Budget] = [
        {"key": "cross-stage-rework", "kind": "cross_stage", "most": 1, "on_exhausted": "fail"},
        {"key": "restart", "kind": "restart", "most": "none"},
    ]
    of = aeef(budgets=own)
    assert goes(of, reports("design"), "testing", edges={"testing->design": 1}).startswith("finish failed")
    lenient = aeef(budgets=[own[1], {**own[0], "most": 90}])
    back = {"design->requirements": 9}
    assert goes(lenient, reports("requirements"), "design", edges=back).startswith("move")


E16 = [
    ("test failure", 3),
    ("test_gap", 2),
    ("acceptance-mismatch", 1),
    ("vulnerability", 3),
    ("license", 2),
    ("evidence gap", 2),
    ("configuration error", 2),
    ("environment mismatch", 2),
    ("health check", 1),
]


@pytest.mark.parametrize(("kind", "most"), E16)
def test_E16_each_type_of_failure_has_its_number(kind: str, most: int) -> None:
    outcome = {"result": "failure", "eval": "rework_impl", "failure_type": kind}
    assert goes(aeef(), outcome, "testing", failures={f"testing:{kind}": most - 1}).startswith(
        "move rework_impl"
    )
    answer = decided(aeef(), outcome, "testing", failures={f"testing:{kind}": most})
    assert short(answer).startswith("escalate RetryLimitExceeded")
    assert answer["role"] == "development-manager"


def test_E17_a_type_of_failure_that_no_rule_knows_is_escalated() -> None:
    routed = {"id": "gap", "when": {"failure_type": "test gap"}, "to": "a"}
    of = line({"rules": [routed]}, {}, preset="aeef", policy={"preconditions": "no"})
    assert goes(of, {**FAILED, "failure_type": "test gap"}) == "move a by rule gap"
    assert goes(of, {**FAILED, "failure_type": "who knows"}) == "escalate on_failure"
    assert goes(of, FAILED) == "escalate on_failure"


def test_E21_not_passed_and_a_limit_reached_goes_to_the_development_manager() -> None:
    """Of several limits that are reached the owner of the stage would be asked first, were it one of them."""
    outcome = {"result": "failure", "eval": "rework_impl", "failure_type": "vulnerability"}
    answer = decided(
        aeef(), outcome, "testing", edges={"testing->rework_impl": 5}, failures={"testing:vulnerability": 3}
    )
    assert (answer["budget"], answer["role"]) == ("cross-stage-rework", "development-manager")


def test_the_standard_ones_are_off_but_under_aeef_and_in_versions_of_before() -> None:
    assert line({}).named_budgets_in_force == ()
    assert {each.key for each in line({}, policy={"standard_budgets": "yes"}).named_budgets_in_force} >= {
        "restart"
    }
    assert line({}, preset="aeef", policy={"standard_budgets": "no"}).named_budgets_in_force == ()
    before = line({}, preset="aeef", policy={"standard_budgets": "no", "preconditions": "no"}).to_document()
    assert "standard_budgets" not in before["policy"]
    again = line({}, preset="aeef", policy=before["policy"])
    assert (again.named_budgets_in_force, again.policy.preconditions) == ((), False)
