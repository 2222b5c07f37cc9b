"""unsatisfiable-gate"""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.lint.people import People
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.decide.approval import Voter
from pipelines.routing.document.line import read_line
from tests.routing.lint.support import found, the_page_is_right
from tests.routing.support import line


def test_the_page_is_right() -> None:
    assert the_page_is_right("unsatisfiable-gate").path == "gates[0].offers"


def test_one_person_cannot_fill_two_places() -> None:
    who = [{"user": "ada"}, {"user": "ada"}]
    assert len(found("unsatisfiable-gate", line({}, gates=[{"key": "g", "approval": {"who": who}}]))) == 1


def asking_owner(agent: str = "") -> Any:
    stations = [{"key": "a", "agent": agent, "rules": [{"id": "r", "to": "completed", "gates": ["g"]}]}]
    gates = [{"key": "g", "mode": "manual", "approval": {"who": [{"owner": "a"}]}}]
    return read_line({"gateline": 1, "key": "l", "name": "L", "stations": stations, "gates": gates})


def test_the_owner_of_a_station_without_an_agent_is_nobody() -> None:
    [finding] = found("unsatisfiable-gate", asking_owner())
    assert (finding.path, finding.severity) == ("gates[0].approval.who", "error")
    assert "where no agent works" in finding.message
    assert found("unsatisfiable-gate", asking_owner("builder")) == []


def test_an_agent_that_nobody_answers_for_is_a_warning() -> None:
    def of(*voters: Voter) -> list[str]:
        findings = lint_line(asking_owner("builder"), People(voters, frozenset()))
        return [str(each.message) for each in findings if each.check == "unsatisfiable-gate"]

    assert "nobody in the project answers for the agent builder" in of(Voter("ada"), Voter("ben"))[0]
    assert of(Voter("ada", agents=frozenset({"builder"})), Voter("ben")) == []


def test_all_of_an_empty_group_can_never_approve() -> None:
    gates = [{"key": "g", "mode": "manual", "approval": {"who": [{"group": "law", "count": "all"}]}}]
    stations = [{"key": "a", "rules": [{"id": "r", "to": "completed", "gates": ["g"]}]}]
    asked = read_line({"gateline": 1, "key": "l", "name": "L", "stations": stations, "gates": gates})

    def of(*voters: Voter) -> int:
        return sum(
            each.check == "unsatisfiable-gate" for each in lint_line(asked, People(voters, frozenset()))
        )

    assert of(Voter("ada"), Voter("ben")) == 1
    assert of(Voter("ada", groups=frozenset({"law"})), Voter("ben")) == 0


def test_a_check_of_a_field_that_does_not_exist_always_fails() -> None:
    checks = {"all": [{"field": "exit_cod", "operator": "equals", "value": 0}]}
    assert len(found("unsatisfiable-gate", line({}, gates=[{"key": "g", "checks": checks}]))) == 1


# Checks that contradict each other


def check(field: str, operator: str, value: Any = None, action: str = "abort", **more: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value, "action": action, **more}


def told(*checks: dict[str, Any], mode: str = "auto", kind: str = "all") -> list[tuple[str, str]]:
    of = line({}, gates=[{"key": "g", "mode": mode, "checks": {kind: list(checks)}}])
    return [(finding.severity, finding.message) for finding in found("unsatisfiable-gate", of)]


@pytest.mark.parametrize(
    "checks",
    [
        [("exit_code", "equals", 0), ("exit_code", "greater_than", 3)],
        [("output.score", "less_than", 1), ("output.score", "greater_than_or_equal", 1)],
        [("output.a", "equals", "x"), ("output.a", "exists"), ("output.a", "not_equals", "x")],
        [("result", "equals", "done")],
        [("verdict", "in", ["pass", "fail"]), ("verdict", "equals", "blocked")],
        [("eval", "equals", 5), ("eval", "equals", "six")],
        [("eval", "greater_than", 5), ("eval", "contains", "x")],
        [("output.s", "matches", "^a"), ("output.s", "matches", "^b")],
        [("cost_usd", "less_than", 1), ("usage.cost_usd", "greater_than", 1)],
        [("gates.g", "equals", "approved")],
        [("exit_code", "in", [])],
        [("eval", "in", [7]), ("eval", "equals", 8)],
        [("eval", "in", [7, "x"]), ("eval", "less_than", 7)],
        [("eval", "in", ["x"]), ("eval", "equals", 7)],
    ],
)
def test_checks_that_cannot_hold_together_are_an_error(checks: list[tuple[Any, ...]]) -> None:
    [(severity, message)] = told(*(check(*each) for each in checks))
    assert severity == "error"
    assert "so it always ends the task" in message


@pytest.mark.parametrize(
    "checks",
    [
        [("exit_code", "equals", 0), ("exit_code", "less_than", 3)],
        [("output.a", "not_equals", "x"), ("output.a", "not_equals", "y")],
        [("result", "equals", "success"), ("verdict", "equals", "fail")],
        [("eval", "equals", 5), ("eval", "equals", "5.0")],
        [("eval", "equals", 5), ("eval", "matches", "^5")],
        [("eval", "in", [7]), ("eval", "equals", "7.0")],
        [("eval", "in", [8, "7x", 7]), ("eval", "equals", 7)],
        [("output.a.b", "equals", 1), ("output.a", "exists")],
        [("output.a.b", "equals", 1), ("output.a", "equals", "the key may be a.b")],
        [("output.s", "matches", "a"), ("output.s", "contains", "b")],
        [("output.l", "contains", 1), ("output.l", "contains", 2)],
        [("task.title", "exists"), ("context.k", "equals", None)],
        [("signal", "equals", "proceed"), ("blockers", "equals", 0)],
    ],
)
def test_of_checks_that_can_hold_together_nothing_is_said(checks: list[tuple[Any, ...]]) -> None:
    assert told(*(check(*each) for each in checks)) == []


def test_only_the_checks_that_are_needed_for_it_are_named() -> None:
    beside = check("blockers", "equals", 0)
    [(_, message)] = told(beside, check("exit_code", "equals", 0), check("exit_code", "equals", 1))
    assert message == (
        "Gate g: exit_code equals 0 and exit_code equals 1 cannot hold together, so it always ends the task"
    )


def test_one_of_any_is_enough_and_a_warning_belongs_to_no_group() -> None:
    zero, one = check("exit_code", "equals", 0), check("exit_code", "equals", 1)
    assert told(zero, one, kind="any") == []
    assert told(zero, {**one, "severity": "warn"}) == []
    assert told({"any": [zero, one]}, check("exit_code", "equals", 2)) != []


def test_a_group_of_nothing_but_warnings_is_no_member_of_the_group_around_it() -> None:
    """Else it would let the gate pass, and nothing would be certain."""
    zero, one = check("exit_code", "equals", 0), check("exit_code", "equals", 1)
    warnings = {"all": [{**zero, "severity": "warn"}]}
    assert told(warnings, {"all": [zero, one]}, kind="any") != []
    assert told(warnings, {"any": [{**one, "severity": "warn"}]}, kind="any") == []


def test_the_worst_action_that_is_certain_counts() -> None:
    zero, one = check("exit_code", "equals", 0), check("exit_code", "equals", 1, "rework")
    [(severity, message)] = told(zero, one)
    assert (severity, "always sends the work back" in message) == ("error", True)
    assert told(zero, {**one, "action": "proceed"}) == []


def test_a_hold_that_is_certain_is_a_warning_where_the_gate_is_to_pass_by_itself() -> None:
    held = [check("exit_code", "equals", n, "hold") for n in (0, 1)]
    [(severity, message)] = told(*held)
    assert (severity, "a person is asked every time" in message) == ("warning", True)
    assert told(*held, mode="checks_then_manual") == []
    assert told(*held, mode="manual") == []


# People


def person(name: str, role: str = "reviewer", *groups: str) -> Voter:
    order = ["viewer", "operator", "designer", "reviewer", "admin"]
    return Voter(name, frozenset(order[: order.index(role) + 1]), frozenset(groups))


def lacks(
    who: list[dict[str, Any]], *voters: Voter, kind: str = "noop", **more: Any
) -> list[tuple[str, str]]:
    approval = {"who": who, **more.pop("approval", {})}
    gate = {"key": "g", "approval": approval, **more}
    rules = [{"id": "r", "to": "completed", "gates": ["g"]}]
    of = line({"work": {"kind": kind}, "rules": rules}, gates=[gate])
    operators = frozenset(voter.person for voter in voters if "operator" in voter.roles)
    told = lint_line(of, People(voters, operators))
    return [(f.severity, f.message) for f in told if f.check == "unsatisfiable-gate"]


BOTH = {"requester_may": True, "producer_may": True}


def test_without_people_nothing_is_said_of_them() -> None:
    gate = {"key": "g", "approval": {"who": [{"group": "nobody"}]}}
    of = line({"rules": [{"id": "r", "to": "completed", "gates": ["g"]}]}, gates=[gate])
    assert found("unsatisfiable-gate", of) == []


@pytest.mark.parametrize(
    ("who", "said"),
    [
        ({"group": "security"}, "it needs 1 in the group security, and the project has nobody"),
        ({"role": "reviewer", "count": 3}, "it needs 3 with the role reviewer, and the project has 2"),
        ({"role": "chief"}, "it needs 1 with the role chief, and the project has nobody"),
        ({"user": "eve"}, "eve is not a member of the project"),
    ],
)
def test_who_is_not_there_cannot_decide(who: dict[str, Any], said: str) -> None:
    people = (person("ada"), person("bob", "admin"), person("cy", "operator"))
    assert lacks([who], *people, approval=BOTH) == [("warning", f"Gate g: {said}")]


def test_one_person_fills_one_place_and_which_is_found_exactly() -> None:
    who = [{"role": "reviewer"}, {"group": "security"}]
    both, reviewer = person("ada", "reviewer", "security"), person("bob")
    assert lacks(who, both, reviewer, approval=BOTH) == []
    assert lacks(who, reviewer, both, approval=BOTH) == []
    [(severity, message)] = lacks(who, both, approval=BOTH)
    assert (severity, "2 different people" in message) == ("warning", True)


def test_the_requester_and_the_producer_may_be_the_last_who_could_decide() -> None:
    ada, bob, eve = person("ada"), person("bob"), person("eve", "viewer")
    who = [{"role": "reviewer"}]
    assert lacks(who, ada, eve) == [
        (
            "warning",
            "Gate g can never be decided when ada requests the task",
        )
    ]
    assert lacks(who, ada, eve, approval={"requester_may": True}) == []
    assert lacks(who, ada, bob) == []
    [(_, message)] = lacks(who, ada, bob, kind="manual")
    assert "can never be decided when ada and bob request the task and do the work" in message
    assert lacks(who, ada, bob, kind="manual", approval={"producer_may": True}) == []
    assert lacks(who, ada, bob, person("cy"), kind="manual") == []


def test_in_a_project_of_one_nobody_is_barred_and_two_are_still_too_many() -> None:
    assert lacks([{"role": "reviewer"}], person("ada"), kind="manual") == []
    assert len(lacks([{"role": "reviewer", "count": 2}], person("ada"))) == 1


def test_who_may_not_start_a_task_is_never_its_requester() -> None:
    eve = Voter("eve", frozenset(["viewer"]), frozenset(["security"]))
    assert lacks([{"group": "security"}], eve) == []


def test_a_gate_that_asks_nobody_or_is_not_used_needs_nobody() -> None:
    who = [{"group": "security"}]
    assert lacks(who, mode="skip") == []
    assert lacks(who, requires_approval=False) == []
    assert lacks(who, mode="auto", checks={"all": [check("exit_code", "equals", 0)]}) != []
    unused = line({}, gates=[{"key": "g", "approval": {"who": who}}])
    assert [f for f in lint_line(unused, People()) if f.check == "unsatisfiable-gate"] == []


def test_a_large_project_is_counted_quickly() -> None:
    people = [person(f"p{n}", "reviewer", f"g{n % 7}") for n in range(2_000)]
    who = [{"group": f"g{n}", "count": 100} for n in range(7)] + [{"role": "reviewer", "count": 100}]
    assert lacks(who, *people, kind="manual") == []


def test_what_bars_the_last_person_is_named_with_whom_to_let_decide() -> None:
    ada, who = person("ada"), [{"role": "reviewer"}]
    gate = {"key": "g", "name": "Human review", "approval": {"who": who}}
    rules = [{"id": "r", "to": "completed", "gates": ["g"]}]
    of = line({"work": {"kind": "manual"}, "rules": rules}, gates=[gate])
    [told] = [
        f
        for f in lint_line(of, People((ada, person("eve", "viewer")), frozenset(["ada"])))
        if f.check == "unsatisfiable-gate"
    ]
    assert told.message == "Gate Human review can never be decided when ada requests or does the work"
    assert told.hint == "add reviewers, or let the requester and the producer decide"
