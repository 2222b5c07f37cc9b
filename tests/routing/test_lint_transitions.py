"""Each transition out of a station, and who leads there: a rule, an exhausted one, the policy or a gate."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.lint.finding import Finding
from pipelines.routing.analysis.lint.rule_liveness import liveness_of_all_stations
from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.analysis.lint.subject import LintSubject
from pipelines.routing.analysis.lint.transitions import ANYWHERE
from pipelines.routing.analysis.lint.visits import strong_components, transition_limit_or_none
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import line, ruled

Told = tuple[str, str, str, str | None]
TO_END = {"to": "completed"}
FAILURE = {"when": {"result": "failure"}}


def ways(of: ParsedLine) -> list[Told]:
    """Source, target, who leads there, and the rule whose budgets bind; what a reviewer may choose aside."""
    found = [way for way in LintSubject(of).transitions if way.source != ANYWHERE]
    told = [(way.source, way.target, way.by, way.rule.id if way.rule else None) for way in found]
    return sorted(told, key=str)


def gated(**gate: object) -> ParsedLine:
    return line({"rules": [{"id": "r1", **TO_END, "gates": ["g"]}]}, gates=[{"key": "g", **gate}])


BY_RULE: Told = ("a", "completed", "rule", "r1")
WAYS: dict[str, tuple[ParsedLine, list[Told]]] = {
    "a rule leads to its targets, bound by its budgets": (
        line({"rules": [{"id": "r1", "to": ["b", "c"]}]}, {"rules": [{"id": "r2", **TO_END}]}, {}),
        [
            ("a", "b", "rule", "r1"),
            ("a", "c", "rule", "r1"),
            ("b", "completed", "rule", "r2"),
            ("c", "completed", "policy", None),
            ("c", "failed", "policy", None),
        ],
    ),
    "an exhausted rule leads on without its budgets": (
        line({"rules": [{"id": "r1", "to": "a", "max_retries": 1, "on_exhausted": TO_END}]}),
        [("a", "a", "rule", "r1"), ("a", "completed", "exhausted", None)],
    ),
    "after the last station the policy ends": (
        line({}),
        [("a", "completed", "policy", None), ("a", "failed", "policy", None)],
    ),
    "before it the policy goes on": (
        line({"rules": [{"id": "r1", **FAILURE, **TO_END}]}, {"rules": [{"id": "r2", **TO_END}]}),
        [
            BY_RULE,
            ("a", "b", "policy", None),
            ("a", "failed", "policy", None),
            ("b", "completed", "rule", "r2"),
        ],
    ),
    "no rules may end": (
        line({}, {"rules": [{"id": "r2", **TO_END}]}, policy={"no_rules": "end"}),
        [
            ("a", "completed", "policy", None),
            ("a", "failed", "policy", None),
            ("b", "completed", "rule", "r2"),
        ],
    ),
    "no match may fail": (
        line({"rules": [{"id": "r1", **FAILURE, "to": "a"}]}, policy={"no_match": "fail"}),
        [("a", "a", "rule", "r1"), *[("a", "failed", "policy", None)] * 2],
    ),
    "no match may leave the task stuck": (
        line({"rules": [{"id": "r1", **FAILURE, "to": "a"}]}, policy={"no_match": "stuck"}),
        [("a", "a", "rule", "r1"), ("a", "failed", "policy", None)],
    ),
    "a failure goes where the policy says": (
        line(
            {"rules": [{"id": "r1", "when": {"result": "success"}, **TO_END}]},
            policy={"on_failure": "station:a"},
        ),
        [BY_RULE, ("a", "a", "policy", None)],
    ),
    "a rejection fails": (gated(on_reject="fail"), [BY_RULE, ("a", "failed", "gate", None)]),
    "a rejection is routed": (
        gated(on_reject="route:a", offers=["approve", "reject"]),
        [BY_RULE, ("a", "a", "gate", None)],
    ),
    "a rejection leads where the reviewer says": (
        gated(on_reject="reviewer_chooses", offers=["approve", "reject"]),
        [BY_RULE, ("a", ANYWHERE, "gate", None)],
    ),
    "who aborts fails the task": (
        gated(on_reject="route:a", offers=["approve", "abort"]),
        [BY_RULE, ("a", "failed", "gate", None)],
    ),
    "after a demanded rework the policy may be asked": (
        gated(offers=["approve", "rework"]),
        [BY_RULE, ("a", "failed", "policy", None)],
    ),
    "a skipped gate leads nowhere": (
        gated(mode="skip", offers=["approve", "reject", "rework", "abort"]),
        [BY_RULE],
    ),
}


@pytest.mark.parametrize(("of", "expected"), list(WAYS.values()), ids=list(WAYS))
def test_the_ways_out_of_a_station(of: ParsedLine, expected: list[Told]) -> None:
    assert ways(of) == sorted(expected, key=str)


def test_a_reviewer_who_chooses_may_choose_each_station_and_nothing_else() -> None:
    chosen = [way for way in LintSubject(line({}, {})).transitions if way.source == ANYWHERE]
    assert [(way.target, way.by, way.rule) for way in chosen] == [("a", "gate", None), ("b", "gate", None)]


BUDGETS: dict[str, tuple[dict[str, object], dict[str, object], int | None]] = {
    "none": ({}, {}, None),
    "of retries": ({"max_retries": 4}, {}, 4),
    "of visits": ({"max_visits": 5}, {}, 5),
    "the smaller of both": ({"max_retries": 4, "max_visits": 3}, {}, 3),
    "of the target": ({}, {"limits": {"max_visits": 2}}, 2),
    "the smaller of rule and target": ({"max_retries": 1}, {"limits": {"max_visits": 2}}, 1),
    "no revisit is one visit": ({"allow_revisit": False}, {}, 1),
    "a revisit allowed is no bound": ({"allow_revisit": True}, {}, None),
}


@pytest.mark.parametrize(("rule", "target", "expected"), list(BUDGETS.values()), ids=list(BUDGETS))
def test_a_way_is_gone_as_often_as_its_budgets_allow(
    rule: dict[str, object], target: dict[str, object], expected: int | None
) -> None:
    of = line({"rules": [{"id": "r1", "to": "b", **rule}]}, target)
    [way] = [way for way in LintSubject(of).transitions if way.rule]
    assert transition_limit_or_none(of, way) == expected


def test_an_end_is_reached_once() -> None:
    of = ruled(TO_END)
    [way] = [way for way in LintSubject(of).transitions if way.rule]
    assert transition_limit_or_none(of, way) == 1


def test_components_are_found_whole_and_what_leads_to_them_after_them() -> None:
    after = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": {"f"}, "f": {"d"}, "g": {"g"}}
    found = [sorted(group) for group in strong_components(after)]
    assert found == [["d", "e", "f"], ["b", "c"], ["a"], ["g"]]


def test_two_cycles_that_share_a_station_are_one_group() -> None:
    after = {"a": {"b", "c"}, "b": {"a"}, "c": {"d"}, "d": {"a"}}
    assert [sorted(group) for group in strong_components(after)] == [["a", "b", "c", "d"]]


def of_check(check: str, of: ParsedLine) -> list[Finding]:
    return [finding for finding in lint_line(of) if finding.check == check]


def test_the_second_rule_of_the_second_station_is_named_by_its_place() -> None:
    dead = {"id": "r4", "to": "completed"}
    of = line({"rules": [{"id": "r1", "to": "b"}]}, {"rules": [{"id": "r3", **TO_END}, dead]})
    [finding] = of_check("dead-rule", of)
    assert (finding.path, finding.station, finding.rule) == ("stations[1].rules[1]", "b", "r4")
    assert finding.message == "Rule r4 can never be taken: r3 takes all of it"


def test_a_condition_that_is_never_false_is_a_warning_with_another_remedy() -> None:
    of = ruled({"when": {"any": [{"result": "failure"}, {"not": {"result": "failure"}}]}, **TO_END})
    [finding] = of_check("constant-condition", of)
    assert (finding.severity, finding.path) == ("warning", "stations[0].rules[0].when")
    assert finding.message.startswith("The condition of rule r1 is never false: ")
    assert finding.hint == "leave `when` out, if that is meant"


@pytest.mark.parametrize(
    ("knob", "severity", "then"),
    [
        ("default", "info", "the policy sends the task to b"),
        ("escalate", "warning", "the policy escalates"),
        ("fail", "warning", "the policy ends the task: failed"),
        ("stuck", "warning", "the task is stuck with NoValidTransition"),
    ],
)
def test_a_gap_is_told_by_what_the_policy_does_with_it(knob: str, severity: str, then: str) -> None:
    of = ruled({**FAILURE, **TO_END}, policy={"no_match": knob})
    [finding] = [each for each in of_check("no-rule-takes", of) if "passed" in each.message]
    assert finding.severity == severity
    assert finding.message == f"No rule of a takes some outcomes that passed: {then}"
    assert (finding.path, finding.station) == ("stations[0].rules", "a")
    assert finding.witness is not None
    assert finding.witness.situation == {"station": "a", "outcome": {"result": "success"}}


@pytest.mark.parametrize(
    "when",
    [
        {"all": [{"result": "blocked"}, {"verdict": "fail"}]},
        {"verdict": "blocked"},
        {"not": {"result": "blocked"}},
        {"any": [{"result": "failure"}, {"all": [{"result": "blocked"}, {"verdict": "fail"}]}]},
    ],
)
def test_what_is_blocked_is_a_gap_only_where_a_rule_speaks_of_it(when: dict[str, object]) -> None:
    def gaps(*rules: dict[str, Any]) -> list[str]:
        return [f.message for f in of_check("no-rule-takes", ruled(*rules)) if "blocked" in f.message]

    assert gaps(FAILURE) == []
    assert len(gaps(FAILURE, {"when": when})) == 1


@pytest.mark.parametrize(
    ("earlier", "named"),
    [
        (1, "Rule r1 takes"),
        (2, "Rules r1, r2 take"),
        (5, "Rules r1, r2, r3, r4, r5 take"),
        (6, "Rules r1, r2, r3, r4, r5 and 1 more take"),
    ],
)
def test_a_shadowed_rule_names_five_of_those_that_take_from_it(earlier: int, named: str) -> None:
    parts = [{"when": {"output": {"path": f"k{i}", "op": "equals", "value": 1}}} for i in range(earlier)]
    [finding] = [
        each for each in of_check("shadowed-rule", ruled(*parts, FAILURE)) if each.rule == f"r{earlier + 1}"
    ]
    assert finding.message == f"{named} some of what rule r{earlier + 1} would take"
    assert finding.rules == tuple(f"r{i}" for i in range(1, earlier + 1))
    assert finding.severity == "info"


def test_where_rules_stand_is_told_whole() -> None:
    of = ruled(
        {"when": {"result": "failure"}},
        {"when": {"verdict": "fail"}, "to": "c"},
        {"when": {"all": [{"result": "failure"}, {"verdict": "fail"}]}},
    )
    told = liveness_of_all_stations(LintSubject(of))[0].to_dict()
    for each in told["rules"]:
        witness = each.pop("witness")
        each["outcome"] = witness and witness["situation"]["outcome"]
    place = {"line": None, "column": None, "after_rework": None, "why": ""}
    assert told["rules"] == [
        {
            **place,
            "rule": "r1",
            "path": "stations[0].rules[0]",
            "standing": "live",
            "outcome": {"result": "failure"},
            "killers": [],
            "shadowed_by": [],
        },
        {
            **place,
            "rule": "r2",
            "path": "stations[0].rules[1]",
            "standing": "partly shadowed",
            "outcome": {"result": "cancelled"},
            "killers": [],
            "shadowed_by": ["r1"],
        },
        {
            **place,
            "rule": "r3",
            "path": "stations[0].rules[2]",
            "standing": "dead",
            "outcome": None,
            "killers": ["r2"],
            "shadowed_by": [],
        },
    ]
    assert (told["station"], told["path"], told["line"], told["column"]) == ("a", "stations[0]", None, None)
    assert [(each["outcomes"], each["then"], each["why"]) for each in told["untaken"]] == [
        ("passed", "the policy sends the task to b", ""),
        ("failed", "the policy ends the task: failed", ""),
        ("blocked", told["untaken"][2]["then"], ""),
    ]
