"""Law §13: conditions and checks on what Gateline observed, in decisions, words and the analysis."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import DEAD, LIVE, SHADOWED
from pipelines.routing.basics.problems import DocumentError
from pipelines.routing.decide.station_facts import facts_by_station_with_last_tree
from pipelines.routing.document.line import read_line
from pipelines.routing.sentences.conditions import condition_words
from tests.routing.interpreter.draw_facts import drawn, drawn_operand
from tests.routing.support import document, goes, ruled, traced

SEEN = {
    "tests": {"passed": 9, "failed": 0, "source": {"station": "check"}},
    "git": {"files_changed": 2, "paths": ["a.py", "tests/b.py"]},
    "claims": {"contradicted": []},
}


def fact(path: str, op: str, *value: Any, **more: Any) -> dict[str, Any]:
    return {"fact": {"path": path, "op": op, **({"value": value[0]} if value else {}), **more}}


def outcome(facts: Any = SEEN, **more: Any) -> dict[str, Any]:
    return {"exit_code": 0, "facts": facts, **more}


TRUE = [
    fact("tests.failed", "equals", 0),
    fact("$.tests.failed", "lt", 1),
    fact("tests.errors", "missing"),
    fact("weather", "missing"),
    {"not": fact("findings.high", "equals", 0)},
    fact("git.paths", "contains", "a.py"),
    fact("$.git.paths[*]", "starts_with", "tests/"),
    fact("$.git.paths[*]", "ends_with", ".py", of="every"),
    fact("$.git.paths[*]", "equals", 2, of="count"),
    fact("$.claims.contradicted[*]", "equals", 0, of="count"),
    fact("tests.source.station", "equals", "check"),
]
FALSE = [
    fact("tests.failed", "gt", 0),
    fact("findings.high", "equals", 0),
    fact("findings.high", "not_equals", 0),
    fact("high", "exists"),
]


@pytest.mark.parametrize("when", TRUE)
def test_it_is_true_of_what_was_observed(when: Any) -> None:
    assert goes(ruled({"when": when}), outcome()) == "move b by rule r1"


@pytest.mark.parametrize("when", FALSE)
def test_what_is_missing_is_false_and_neither_output_nor_context_is_asked(when: Any) -> None:
    of = ruled({"when": when}, {"to": "c"}, policy={"condition_scope": "merged"})
    assert goes(of, outcome(output={"high": 1}), context={"high": 1}) == "move c by rule r2"


def test_it_is_never_stuck_on_output_that_is_not_json() -> None:
    of = ruled({"when": fact("tests.failed", "gt", 0)}, {"to": "c"})
    assert goes(of, outcome(output_error="line 1")) == "move c by rule r2"


def test_the_trace_says_what_it_saw() -> None:
    entries = traced(ruled({"when": fact("tests.failed", "equals", 0)}), outcome())["trace"]
    seen = [entry["saw"] for entry in entries if entry["step"] == "rules"]
    assert seen == [[{"operand": "fact", "path": "tests.failed", "nodes": [0]}]]


def test_checks_of_gates_read_facts() -> None:
    check = {"field": "facts.tests.failed", "operator": "equals", "value": 0, "action": "abort"}
    gate = {"key": "g", "mode": "auto", "checks": {"all": [check]}}
    of = ruled({"gates": ["g"]}, gates=[gate])
    assert goes(of, outcome()) == "move b by rule r1"
    assert goes(of, {"exit_code": 0, "output": {"tests": {"failed": 0}}}).startswith("finish failed")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (fact("tests.failed", "equals", 0), "observed tests.failed is 0"),
        (fact("$.git.paths[*]", "matches", "^src/", of="every"), "observed every git.paths[*] matches"),
    ],
)
def test_it_is_said_in_words(when: Any, words: str) -> None:
    assert condition_words(ruled({"when": when}).stations[0].rules[0].when).startswith(words)


def test_a_faulty_one_is_refused_with_its_place() -> None:
    rule = {"id": "r", "when": fact("$.tests[", "exists"), "to": "a"}
    with pytest.raises(DocumentError) as refused:
        read_line(document({"rules": [rule]}))
    assert [problem.path for problem in refused.value.problems] == ["stations[0].rules[0].when.fact.path"]


def standings(*when: Any) -> list[str]:
    of = ruled(*({"when": each} for each in when))
    return [each.status for each in FirstMatchAnalysis(of, of.stations[0]).rule_liveness]


ALWAYS: dict[str, Any] = {"always": True}
ANALYSED = [
    ((fact("tests.failed", "equals", 0), fact("tests.failed", "gt", 0)), [LIVE, LIVE]),
    ((fact("tests.failed", "gte", 0), fact("tests.failed", "gt", 3), ALWAYS), [LIVE, DEAD, SHADOWED]),
    # What no outcome can say: a count below zero, a key that is none, a share above 100.
    ((fact("tests.failed", "lt", 0), ALWAYS), [DEAD, LIVE]),
    ((fact("tests.broken", "exists"), ALWAYS), [DEAD, LIVE]),
    ((fact("coverage.lines", "gt", 100), ALWAYS), [DEAD, LIVE]),
    ((fact("usage.price", "equals", "guessed"), ALWAYS), [DEAD, LIVE]),
    # The output is another root.
    (({"output": {"path": "tests.failed", "op": "lt", "value": 0}}, fact("tests.failed", "gte", 0)), [LIVE, SHADOWED]),
    # Missing is neither.
    ((fact("tests.failed", "gte", 0), {"not": fact("tests.failed", "gte", 0)}, ALWAYS), [LIVE, LIVE, DEAD]),
    ((fact("$.git.paths[*]", "starts_with", "tests/"), ALWAYS), [LIVE, SHADOWED]),
]  # fmt: skip


@pytest.mark.parametrize(("when", "expected"), ANALYSED)
def test_the_analysis_knows_what_can_be_observed(when: Any, expected: list[str]) -> None:
    assert standings(*when) == expected


def test_a_witness_says_what_was_observed() -> None:
    of = ruled({"when": {"all": [fact("tests.failed", "gt", 3), fact("git.paths", "contains", "a.py")]}})
    shown = FirstMatchAnalysis(of, of.stations[0]).rule_liveness[0].witness
    assert shown is not None
    assert shown.situation["outcome"]["facts"] == {"tests": {"failed": 4}, "git": {"paths": ["a.py"]}}


# Of other stations


def seen(tree: str, failed: int) -> dict[str, Any]:
    return {"tests": {"failed": failed, "source": {"tree": tree}}}


ACROSS = [
    # The latest passed visit on the tree of the outcome.
    ({"git": {"tree": "t2"}}, [("check", seen("t1", 3)), ("check", seen("t2", 0))], {"check": seen("t2", 0)}),
    ({"git": {"tree": "t2"}}, [("check", seen("t2", 1)), ("check", seen("t1", 0))], {"check": seen("t2", 1)}),
    ({"git": {"tree": "t3"}}, [("check", seen("t2", 0))], {}),
    # Where the outcome has none, the last tree that was seen.
    ({}, [("check", seen("t1", 3)), ("code", seen("t2", 0))], {"code": seen("t2", 0)}),
    ({}, [], {}),
    # Group by group.
    (
        {},
        [("check", {**seen("t1", 0), "ci": {"passed": 1}})],
        {"check": seen("t1", 0)},
    ),
]


@pytest.mark.parametrize(("own", "past", "expected"), ACROSS)
def test_another_station_is_read_on_the_tree_of_this_moment(own: Any, past: Any, expected: Any) -> None:
    assert facts_by_station_with_last_tree(own, past) == expected


def test_rules_and_checks_read_other_stations() -> None:
    clean = fact("$.stations.check.tests.failed", "equals", 0)
    of = ruled({"when": clean}, {"to": "c"})
    assert of.reads_stations and not ruled({"when": fact("tests.failed", "exists")}).reads_stations
    assert goes(of, {"exit_code": 0}, observed={"check": seen("t", 0)}) == "move b by rule r1"
    assert goes(of, {"exit_code": 0}, observed={"check": seen("t", 1)}) == "move c by rule r2"
    assert goes(of, {"exit_code": 0}) == "move c by rule r2"
    check = {
        "field": "facts.stations.check.tests.failed",
        "operator": "equals",
        "value": 0,
        "action": "abort",
    }
    gated = ruled({"gates": ["g"]}, gates=[{"key": "g", "mode": "auto", "checks": {"all": [check]}}])
    assert gated.reads_stations
    assert goes(gated, {"exit_code": 0}, observed={"check": seen("t", 0)}) == "move b by rule r1"
    assert standings(clean, fact("stations.check.tests.failed", "gt", 0), ALWAYS) == [LIVE, LIVE, SHADOWED]
    assert standings(fact("stations.check.tests.broken", "exists"), ALWAYS) == [DEAD, LIVE]


def test_no_situation_is_taken_by_a_rule_that_is_said_to_be_dead() -> None:
    """Drawn rules on facts against drawn facts; a witness was run when it was found."""
    known = {LIVE: 0, SHADOWED: 0, DEAD: 0}
    for seed in range(60):
        random = Random(seed)
        of = ruled(*({"when": drawn_condition(random)} for _ in range(3)))
        found = FirstMatchAnalysis(of, of.stations[0]).rule_liveness
        for each in found:
            known[each.status] = known.get(each.status, 0) + 1
        dead = {each.rule.id for each in found if each.status == DEAD}
        for _try in range(25 if dead else 0):
            others = {key: drawn(random) for key in ("plan", "build")}
            answer = traced(of, {"exit_code": 0, "facts": drawn(random)}, observed=others)
            assert answer["rule"] not in dead, (seed, answer)
    assert min(known[LIVE], known[DEAD]) > 10, known


def drawn_condition(random: Random) -> dict[str, Any]:
    own: dict[str, Any] = drawn_operand(random)
    form = random.choice(["alone", "not", "all", "any"])
    if form == "alone":
        return own
    return {"not": own} if form == "not" else {form: [own, drawn_operand(random)]}
