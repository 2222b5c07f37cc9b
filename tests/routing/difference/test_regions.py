"""Which outcomes of one station go elsewhere, one sample for each region; and when nothing does."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.difference.compare import Difference, line_difference
from pipelines.routing.document.line import ParsedLine
from tests.routing.difference.support import routed
from tests.routing.support import FAILED, ruled

HIGH = {"output": {"path": "$.high", "op": "gt", "value": 0}}
LOW = {"output": {"path": "$.high", "op": "lte", "value": 0}}
REVIEW = {"key": "review", "name": "Human review"}
ASKED = {"agentic": {"question": "Is it done?"}, "answer": "yes"}


def between(old: ParsedLine, new: ParsedLine) -> Difference:
    """The difference; each sample of it is decided otherwise by the tool itself."""
    found = line_difference(old, new)
    for each in found.changes:
        given = each.sample.situation
        assert routed(old, given) != routed(new, given)
    return found


def parts(found: Difference) -> list[tuple[str | None, str | None, str]]:
    return [(each.old, each.new, " ".join(each.differs_in)) for each in found.changes]


SAME = [
    ("the same rules", [{"when": HIGH}], [{"when": HIGH}]),
    ("another label", [{"when": HIGH}], [{"when": HIGH, "label": "Bad"}]),
    ("another id", [{"when": HIGH}], [{"when": HIGH, "id": "bad"}]),
    ("another id with a budget", [{"max_retries": 2}], [{"max_retries": 2, "id": "again"}]),
    ("disjoint rules in another order", [{"when": HIGH}, {"when": LOW}], [{"when": LOW}, {"when": HIGH}]),
    ("the same said in other words", [{"when": HIGH}], [{"when": {"not": {"not": HIGH}}}]),
    ("a dead rule less", [{}, {"when": HIGH, "to": "c"}], [{}]),
    (
        "one rule for two",
        [{"when": HIGH}, {"when": {"all": [HIGH, {"result": "success"}]}}],
        [{"when": HIGH}],
    ),
    ("a fork in another order", [{"to": ["b", "c"]}], [{"to": ["c", "b"]}]),
    ("feedback that nothing gives", [{"when": HIGH}], [{"when": HIGH, "feedback": True}]),
    (
        "what the policy does anyway",
        [{"when": HIGH, "to": "c"}],
        [
            {"when": HIGH, "to": "c"},
            {"when": {"all": [{"result": "success"}, {"verdict": "pass"}]}, "to": "b"},
        ],
    ),
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_it_proves_that_nothing_goes_elsewhere(old: list[Any], new: list[Any]) -> None:
    found = between(ruled(*old), ruled(*new))
    assert (found.verdict, found.sentences()) == ("none", [])


CHANGED: list[tuple[str, list[Any], list[Any], list[tuple[str | None, str | None, str]]]] = [
    (
        "two rules change places",
        [{"when": FAILED}, {"when": HIGH, "to": "c"}],
        [{"when": HIGH, "to": "c"}, {"when": FAILED}],
        [("r1", "r1", "to"), (None, None, "unreadable")],
    ),
    (
        "another threshold",
        [{"when": HIGH, "to": "c"}],
        [{"when": {"output": {"path": "$.high", "op": "gt", "value": 5}}, "to": "c"}],
        [("r1", None, "to")] * 3,
    ),
    ("another target", [{"when": HIGH}], [{"when": HIGH, "to": "c"}], [("r1", "r1", "to")]),
    ("a gate more", [{"when": HIGH}], [{"when": HIGH, "gates": ["review"]}], [("r1", "r1", "gates")]),
    ("a budget", [{"max_retries": 2}], [{"max_retries": 3}], [("r1", "r1", "budgets")]),
    (
        "what follows a spent budget",
        [{"max_retries": 2}],
        [{"max_retries": 2, "on_exhausted": {"to": "c"}}],
        [("r1", "r1", "budgets")],
    ),
    ("no way back", [{"to": "a"}], [{"to": "a", "allow_revisit": False}], [("r1", "r1", "revisit")]),
    (
        "a variable",
        [{"when": HIGH}],
        [{"when": HIGH, "compose": [{"var": "first", "path": "$.all[0]"}]}],
        [("r1", "r1", "compose")],
    ),
    ("feedback", [{"when": ASKED}], [{"when": ASKED, "feedback": True}], [("r1", "r1", "feedback")]),
    (
        "what is asked first",
        [{"when": {"all": [{"result": "success"}, ASKED]}}],
        [{"when": {"all": [ASKED, {"result": "success"}]}}],
        [(None, None, "asks")],
    ),
    (
        "what is read first",
        [{"when": {"all": [{"result": "success"}, HIGH]}}],
        [{"when": {"all": [HIGH, {"result": "success"}]}}],
        [(None, None, "unreadable")],
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"), [case[1:] for case in CHANGED], ids=[case[0] for case in CHANGED]
)
def test_it_finds(old: list[Any], new: list[Any], expected: list[Any]) -> None:
    found = between(ruled(*old, gates=[REVIEW]), ruled(*new, gates=[REVIEW]))
    assert not found.unknown and not found.structure
    assert sorted(parts(found), key=str) == sorted(expected, key=str)


GATES: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("its name", {}, {"name": "Another"}, False),
    ("whom it tells", {}, {"notify": ["lead@example.com"]}, False),
    (
        "a check that only warns",
        {},
        {"checks": {"all": [{"field": "exit_code", "operator": "exists", "severity": "warn"}]}},
        False,
    ),
    ("nobody is asked any more", {}, {"mode": "skip"}, True),
    ("where a reject leads", {}, {"on_reject": "rework"}, True),
    ("how often it sends back", {}, {"approval": {"max_rounds": 1}}, True),
    (
        "the value of a check",
        {"mode": "auto", "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 0}]}},
        {"mode": "auto", "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 1}]}},
        True,
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "differs"), [case[1:] for case in GATES], ids=[case[0] for case in GATES]
)
def test_of_a_gate_counts_what_a_decision_reads(
    old: dict[str, Any], new: dict[str, Any], differs: bool
) -> None:
    rule = {"when": HIGH, "to": "c", "gates": ["review"]}
    found = between(ruled(rule, gates=[{**REVIEW, **old}]), ruled(rule, gates=[{**REVIEW, **new}]))
    assert parts(found) == ([("r1", "r1", "gates")] if differs else [])
    assert not found.unknown


@pytest.mark.parametrize(
    ("old", "new", "which"),
    [
        ({"no_match": "stuck"}, {}, [{"result": "success"}]),
        ({"on_failure": "escalate"}, {}, [{"result": "failure"}]),
        ({"failure_rules": "no"}, {}, [{"result": "failure", "output": {"high": 1}}]),
        ({"no_rules": "end"}, {}, []),
    ],
)
def test_the_policy_is_a_rule_like_any_other(
    old: dict[str, str], new: dict[str, str], which: list[Any]
) -> None:
    rule = {"when": HIGH, "to": "c"}
    found = between(ruled(rule, policy=old), ruled(rule, policy=new))
    at_a = [c.sample.situation["outcome"] for c in found.changes if c.station == "a" and "to" in c.differs_in]
    assert [outcome for outcome in at_a if "error" not in outcome][: len(which)] == which
    assert bool([c for c in found.changes if c.station in ("b", "c")]) == (
        "failure_rules" not in old and "no_match" not in old
    )


def test_rules_that_only_rework_reaches_are_compared_too() -> None:
    """Rule 1 takes everything; rule 2 sees only what a person has sent into the forced failure route."""
    gates = [{**REVIEW, "offers": ["approve", "rework"]}]
    first = {"to": "c", "gates": ["review"]}
    old, new = (
        ruled(first, {"when": FAILED}, gates=gates),
        ruled(first, {"when": FAILED, "to": "c"}, gates=gates),
    )
    (found,) = between(old, new).changes
    assert found.after == ("r1", "r1")
    assert found.sample.situation["facts"]["gates"] == {"review": {"decision": "rework"}}
    assert (found.sample.old["to"], found.sample.new["to"]) == (["b"], ["c"])


def test_a_region_behind_a_station_gate_has_a_sample_that_passes_it() -> None:
    checks = {"all": [{"field": "exit_code", "operator": "equals", "value": 0, "action": "abort"}]}
    gates = [{"key": "clean", "mode": "auto", "checks": checks}]
    more = {"gates": gates, "station": {"gate": "clean"}}
    found = between(ruled({"when": HIGH}, **more), ruled({"when": HIGH, "to": "c"}, **more))
    assert [each.sample.situation["outcome"]["exit_code"] for each in found.changes] == [0]


def test_a_condition_beyond_the_bounds_is_unknown_and_says_why() -> None:
    never = {"output": {"path": "$..*", "op": "matches", "value": "^(a|b)*c$", "of": "every"}}
    never = {
        "all": [never, {"not": {"output": {"path": "$..*", "op": "matches", "value": "c", "of": "every"}}}]
    }
    found = between(ruled({"when": never, "to": "c"}), ruled({"when": never, "to": "failed"}))
    assert found.verdict == "unknown"
    assert all(each.why for each in found.unknown)
    assert found.sentences()[0].startswith("Not known of a: outcomes that rule r1 took")


def test_a_rule_that_cannot_be_read_stops_what_it_stood_before() -> None:
    broken = {"when": {"nonsense": 1}}
    found = between(ruled({"when": HIGH}, broken, {"to": "c"}), ruled({"when": HIGH}, {"to": "c"}))
    assert found.changes[0].sample.old["error"] == "InvalidTransitionSyntax"


REWORKED = {**REVIEW, "offers": ["approve", "rework"]}
FIRST = {"when": {"result": "success"}, "gates": ["review"]}


def test_on_the_route_that_a_word_demands_its_gate_is_passed_and_makes_no_difference() -> None:
    """Whoever demands rework at the gate of the one rule is not asked again at that of the other; but where the other
    leads, or which other gate it has, is a difference."""

    def reworked(**more: Any) -> list[Any]:
        old, new = ({"when": {"result": "failure"}, "to": "c", **each} for each in ({}, more))
        gates = [REWORKED, {"key": "other", "name": "Other"}]
        return [
            each
            for each in between(ruled(FIRST, old, gates=gates), ruled(FIRST, new, gates=gates)).changes
            if "rework" in str(each.sample.situation.get("facts", {}).get("gates"))
        ]

    assert reworked(to="a")
    assert reworked(gates=["other"])
    assert reworked(gates=["review"]) == []


@pytest.mark.parametrize("path", ["$..gone.tests", "$.*.gone", "$.git[?@.gone == 1]"])
def test_a_path_with_wildcards_over_facts_makes_up_no_situation(path: str) -> None:
    """What it made up named a group of facts that there is not, and saving the draft failed."""
    far = {"fact": {"path": path, "op": "exists"}}
    found = between(ruled({"when": far}, {"to": "c"}), ruled({"when": far, "to": "c"}, {"to": "b"}))
    assert [each.new for each in found.changes] in (["r2"], ["r1", "r2"])
