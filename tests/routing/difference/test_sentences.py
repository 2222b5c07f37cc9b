"""Each decision, fact and definition in the words of people: `words`, sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.difference.change import Change
from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.difference.samples import Sample
from pipelines.routing.analysis.difference.structure import StructuralDifference
from pipelines.routing.basics.wording import people_text
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.definitions import structural_sentence
from pipelines.routing.sentences.differences import (
    name_in_versions_or_empty,
    past_and_present_text_of_routes,
    region_change_sentence,
    sample_sentence,
)
from pipelines.routing.sentences.values import shortened_unquoted_json
from tests.routing.support import line


def version(**more: Any) -> ParsedLine:
    rules = [{"id": "one", "to": "b"}, {"id": "two", "to": "c"}]
    ends = [{"key": "out", "kind": "completed", "label": "DONE"}, {"key": "bare", "kind": "failed"}]
    return line(
        {"name": "Build", "rules": rules},
        {"name": "Ship"},
        {"name": "Fix"},
        gates=[{"key": "look", "name": "A look"}, {"key": "lead", "name": "The lead"}],
        ends=ends,
        **more,
    )


PAIR = LinePair(version(), version())


def decision(kind: str, /, **more: Any) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {
        "move": {"feedback": None, "variables": {}},
        "finish": {"error": None},
        "wait": {"gates": [], "to": [], "missing": [], "evaluation": None},
    }
    return {"decision": kind, **empty.get(kind, {}), **more}


def said(answer: dict[str, Any]) -> tuple[str, str]:
    """The same decision as it was and as it is."""
    return past_and_present_text_of_routes(PAIR, Sample({"station": "a", "outcome": {}}, answer, answer))


ASKED = {"agentic": {"question": "Good?"}}
HOOK = {"hook": {"argv": ["check", "-q"]}}


@pytest.mark.parametrize(
    ("answer", "past", "now"),
    [
        (decision("move", to=["b"], rule="two"), "went to Ship by rule 2", "go to Ship by rule 2"),
        (decision("move", to=["b", "c"]), "went to Ship and Fix", "go to Ship and Fix"),
        (decision("move", to=["a"], rule="one"), "ran Build again by rule 1", "run Build again by rule 1"),
        (decision("move", to=["@origin"]), "went to where they came from", "go to where they came from"),
        (decision("move", to=["@blocked"]), "went to blocked", "go to blocked"),
        (decision("move", to=["gone"]), "went to gone", "go to gone"),
        (
            decision("move", to=["b"], feedback="do it", variables={"x": 1, "y": "two words"}),
            'went to Ship with feedback “do it” with x = 1, y = "two words"',
            'go to Ship with feedback “do it” with x = 1, y = "two words"',
        ),
        (
            decision("move", to=["b"], feedback=""),
            "went to Ship with feedback “”",
            "go to Ship with feedback “”",
        ),
        (decision("move", to=["b"], by="policy"), "went to Ship by the policy", "go to Ship by the policy"),
        (decision("move", to=["b"], by="signal"), "went to Ship by a signal", "go to Ship by a signal"),
        (decision("move", to=["b"], by="gate"), "went to Ship by a gate", "go to Ship by a gate"),
        (decision("move", to=["b"], by="rule", rule="gone"), "went to Ship", "go to Ship"),
        (decision("finish", end="out", rule="one"), "ended as DONE by rule 1", "end as DONE by rule 1"),
        (decision("finish", end="bare", error="E"), "ended as bare with E", "end as bare with E"),
        (
            decision("wait", gates=["look", "lead"], to=["b"], rule="one"),
            "went to Ship by rule 1 after A look and The lead",
            "go to Ship by rule 1 after A look and The lead",
        ),
        (decision("wait", gates=["look"]), "waited for A look", "wait for A look"),
        (
            decision("wait", gates=["@jump"]),
            "waited for the review of the jump",
            "wait for the review of the jump",
        ),
        (
            decision("wait", missing=["x", "y"], rule="one"),
            "were held by rule 1: missing x, y",
            "are held by rule 1: missing x, y",
        ),
        (
            decision("wait", evaluation=ASKED),
            "waited for a person to answer “Good?”",
            "wait for a person to answer “Good?”",
        ),
        (
            decision("wait", rule="two"),
            "stayed at Build, blocked by rule 2",
            "stay at Build, blocked by rule 2",
        ),
        (decision("ask", evaluation=ASKED), "asked “Good?” first", "ask “Good?” first"),
        (decision("ask", evaluation=HOOK), "asked the hook check -q first", "ask the hook check -q first"),
        (
            decision("escalate", trigger="on_failure", by="policy"),
            "were escalated (on_failure) by the policy",
            "are escalated (on_failure) by the policy",
        ),
        (
            decision("stuck", error="NoOrigin", rule="one"),
            "got stuck with NoOrigin by rule 1",
            "get stuck with NoOrigin by rule 1",
        ),
    ],
)
def test_a_decision_as_it_was_and_as_it_is(answer: dict[str, Any], past: str, now: str) -> None:
    assert said(answer) == (past, now)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, ""),
        ({"rules": {"one": 1}}, " (rule one taken once)"),
        ({"rules": {"one": 2, "two": 1}}, " (rule one taken 2 times, rule two taken once)"),
        ({"visits": {"b": 3, "out": 1}}, " (Ship entered 3 times, DONE entered once)"),
        ({"edges": {"a->b": 2}}, " (a->b taken 2 times)"),
        ({"signal_reworks": 1}, " (reworked once)"),
        ({"signal_reworks": 0}, ""),
        ({"signal_reworks": 2, "rules": {"one": 1}}, " (rule one taken once, reworked 2 times)"),
        ({"gates": {"look": {"decision": "send_back"}}}, " (A look: send back)"),
        ({"gates": {"gone": {"decision": "approve"}}}, " (gone: approve)"),
        ({"answers": [{**ASKED, "answer": "yes", "text": "t"}]}, " (“Good?”: yes)"),
        ({"answers": [{**HOOK, "answer": "no"}]}, " (the hook check -q: no)"),
        ({"open_escalations": 1}, " (while an escalation is open)"),
        ({"origin": "c"}, " (of tasks that came from Fix)"),
        ({"origin": "gone"}, " (of tasks that came from gone)"),
        ({"context": {"k": 1}}, " (with {k: 1} in the context)"),
    ],
)
def test_the_facts_that_a_sample_takes(facts: dict[str, Any], words: str) -> None:
    old, new = decision("move", to=["b"]), decision("move", to=["c"])
    given = {"station": "a", "outcome": {"result": "success"}, "facts": facts}
    expected = f"Outcomes of Build such as {{result: success}}{words} went to Ship; now they go to Fix."
    assert sample_sentence(PAIR, Sample(given, old, new)) == expected


def test_a_gate_that_only_the_old_version_has_is_named_as_it_was() -> None:
    pair = LinePair(PAIR.old, line({"name": "Make"}))
    given = {"station": "a", "outcome": {}, "facts": {"gates": {"look": {"decision": "approve"}}}}
    told = sample_sentence(pair, Sample(given, decision("move", to=["b"]), decision("stuck", error="E")))
    assert told == "Outcomes of Make such as {} (A look: approve) went to Ship; now they get stuck with E."


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a_b": "x-y", "c": [1, None, True]}, "{a_b: x-y, c: [1, null, true]}"),
        ({"two words": "ü", "1st": "true"}, '{"two words": "ü", "1st": "true"}'),
        ("false", '"false"'),
        ("null", '"null"'),
        ("", '""'),
        (1.5, "1.5"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
    ],
)
def test_values_are_short_and_quoted_where_they_must_be(value: Any, shown: str) -> None:
    assert shortened_unquoted_json(value) == shown


def test_a_place_is_named_by_the_version_that_has_it() -> None:
    pair = LinePair(PAIR.old, line({"name": "Make"}, gates=[{"key": "look", "name": "New look"}]))
    assert [name_in_versions_or_empty(pair, key) for key in ("a", "b", "look", "lead", "out", "")] == [
        "Make",
        "Ship",
        "New look",
        "The lead",
        "Done",
        "",
    ]


def change(**more: Any) -> Change:
    known = {"station": "a", "old": "one", "new": "two", "differs_in": ("to", "gates"), "after": ()}
    return Change(**{**known, "sample": None, "why": "it is too long", **more})


def test_what_is_not_known_says_which_outcomes_and_why() -> None:
    assert region_change_sentence(PAIR, change()) == (
        "Not known of Build: outcomes that rule one took and rule two takes now "
        "(differs in to, gates): it is too long."
    )
    assert region_change_sentence(
        PAIR, change(old=None, new=None, differs_in=("to",), after=("one", "two"))
    ) == (
        "Not known of Build: outcomes that no rule took and no rule takes now after rework at a gate of rule two "
        "(differs in to): it is too long."
    )


VOTING = {
    "who": [["role", "reviewer", 1]],
    "requester_may": False,
    "producer_may": False,
    "reason_required": [],
    "offers": ["approve"],
    "due": None,
}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (StructuralDifference("start", "", "a", "b"), "New tasks started at Build; now they start at Ship."),
        (
            StructuralDifference("revisit", "", "allow", "limit:2"),
            'The policy revisit was allow; now it is "limit:2".',
        ),
        (StructuralDifference("visit_cap", "", 5, 6), "The cap of visits was 5; now it is 6."),
        (
            StructuralDifference("on_exhausted", "", "fail", "stuck"),
            "The policy on_exhausted was fail; now it is stuck.",
        ),
        (
            StructuralDifference("condition_scope", "", "current", "merged"),
            "What conditions read (condition_scope) was current; now it is merged.",
        ),
        (
            StructuralDifference("contradiction", "", "later_wins", "escalate"),
            "The policy contradiction was later_wins; now it is escalate.",
        ),
        (
            StructuralDifference("jump_review", "", None, "fail"),
            "The review of jumps (on a reject) was null; now it is fail.",
        ),
        (
            StructuralDifference("order", "", ["a", "b"], ["b", "a"]),
            "The order of the stations was Build, Ship; now it is Ship, Build.",
        ),
        (
            StructuralDifference("forbidden_parallel", "", [], [["a", "b"]]),
            "Pairs that may not run in parallel: it was []; now it is [[a, b]].",
        ),
        (
            StructuralDifference("budgets", "", [], [{"k": 1}]),
            "The budgets of the line: it was []; now it is [{k: 1}].",
        ),
        (
            StructuralDifference("station", "x", "Old", None),
            "Station Old (x) is gone; tasks that stand there have no place in the new version.",
        ),
        (StructuralDifference("station", "b", None, "Ship"), "Station Ship (b) is new."),
        (
            StructuralDifference("station_gate", "a", "look", None),
            "Station Build had A look before its rules; now it has no gate.",
        ),
        (
            StructuralDifference("station_gate", "a", None, "lead"),
            "Station Build had no gate before its rules; now it has The lead.",
        ),
        (
            StructuralDifference("station_gate", "a", "look", "look"),
            "The gate A look of station Build is defined otherwise.",
        ),
        (StructuralDifference("max_visits", "a", None, 3), "Entries allowed of Build: was none, now 3."),
        (
            StructuralDifference("signal_reworks", "b", 1, 2),
            "Reworks by signal allowed at Ship: was 1, now 2.",
        ),
        (
            StructuralDifference("result_document", "a", False, True),
            "Whether a result document is required of Build: was false, now true.",
        ),
        (
            StructuralDifference("failed", "a", "failed", "error"),
            "The eval of a failure at Build: was failed, now error.",
        ),
        (
            StructuralDifference("join", "c", None, {"aggregation": "all", "wait_for": ["a"]}),
            "The join of Fix: was none, now {aggregation: all, wait_for: [a]}.",
        ),
        (
            StructuralDifference("approval", "look", VOTING, {**VOTING, "requester_may": True, "offers": []}),
            "Gate A look asks otherwise: requester_may was false, now true; offers was [approve], now [].",
        ),
        (StructuralDifference("end", "out", "completed", None), "End out is gone."),
        (StructuralDifference("end", "out", None, "failed"), "End out (failed) is new."),
        (
            StructuralDifference("end", "out", "completed", "failed"),
            "End out was completed; now it is failed.",
        ),
    ],
)
def test_what_is_defined_otherwise(found: StructuralDifference, sentence: str) -> None:
    assert structural_sentence(PAIR, found) == sentence


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            StructuralDifference("on_exhausted", "", "fail", "stuck"),
            "When a limit is used up: “The task fails” → “It is stuck, until somebody helps”.",
        ),
        (
            StructuralDifference("jump_review", "", None, "rework"),
            "When the review of a jump rejects: none → “It runs again with the reason”.",
        ),
        (
            StructuralDifference("join", "c", None, {"aggregation": "all-pass", "wait_for": ["a"]}),
            "Fix, join: none → Continues when: all branches passed; Joins the branches from: Build.",
        ),
        (
            StructuralDifference("expects", "a", None, {"expects": "change", "artifacts": ["a.txt"]}),
            "Build, what is expected: none → What is expected of it: A change: otherwise it failed; "
            "Files that it has to leave: a.txt.",
        ),
        (
            StructuralDifference("approval", "look", VOTING, {**VOTING, "requester_may": True, "offers": []}),
            "Gate A look asks otherwise: The requester can decide was “No”, now “Yes”; "
            "What they can say was Approve: the task goes on, now none.",
        ),
        (
            StructuralDifference("approval", "look", VOTING, {**VOTING, "who": [["group", "leads", 2]]}),
            "Gate A look asks otherwise: who decides was Role: reviewer; How many of them: 1, "
            "now Group: leads; How many of them: 2.",
        ),
    ],
)
def test_people_read_no_key_of_what_is_defined_otherwise(found: StructuralDifference, sentence: str) -> None:
    assert people_text(structural_sentence(PAIR, found)) == sentence


def test_what_is_defined_otherwise_is_followed_by_its_sample() -> None:
    given = {"station": "a", "outcome": {"result": "success"}}
    sample = Sample(given, decision("move", to=["b"]), decision("move", to=["c"]))
    assert structural_sentence(PAIR, StructuralDifference("visit_cap", "", 5, 6, sample)) == (
        "The cap of visits was 5; now it is 6. "
        "Outcomes of Build such as {result: success} went to Ship; now they go to Fix."
    )
