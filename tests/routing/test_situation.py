"""What a situation says back, and what of it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.situation import SituationError, check_situation, read_situation
from tests.routing.support import line

FACTS = {
    "visits": {"a": 2},
    "edges": {"a->b": 1},
    "rules": {"r1": 1},
    "signal_reworks": 1,
    "visited": [],
    "origin": "b",
    "context": {"k": [1]},
    "variables": {"v": None},
    "inputs": {"i": 1},
    "task": {"title": "t"},
    "answers": [{"hook": {"argv": ["x"]}, "answer": "block", "text": "no"}],
    "gates": {"g": {"decision": "reject", "route": "fail", "reason": "r"}, "h": {}},
    "rounds": {"g": 1},
    "open_escalations": 1,
    "beside": ["b"],
    "preconditions": {"z": False, "a": True},
    "failures": {"a:license": 2},
    "agents": {"ann": {"state": "suspended"}, "bob": {"state": "available", "free": 0}},
}


def test_a_situation_says_back_what_it_was_read_from() -> None:
    situation = {"station": "a", "outcome": {"exit_code": 0}, "facts": FACTS}
    assert read_situation(situation).to_dict() == situation
    assert list(read_situation(situation).to_dict()["facts"]["preconditions"]) == ["z", "a"]


def test_a_fact_that_is_empty_and_not_absent_is_kept_where_that_differs() -> None:
    facts = {"visited": [], "origin": ""}
    situation = {
        "station": "a",
        "outcome": {"exit_code": 0},
        "facts": {**facts, "visits": {}, "signal_reworks": 0},
    }
    assert read_situation(situation).to_dict()["facts"] == facts


@pytest.mark.parametrize("fact", FACTS)
def test_each_fact_is_kept_alone_and_no_default_is_written(fact: str) -> None:
    situation = {"station": "a", "outcome": {"exit_code": 0}, "facts": {fact: FACTS[fact]}}
    assert read_situation(situation).to_dict() == situation
    assert read_situation({**situation, "facts": {}}).to_dict() == {
        k: situation[k] for k in ("station", "outcome")
    }


def test_where_a_task_has_been_follows_from_its_visits_unless_it_is_told() -> None:
    def been(**facts: Any) -> list[str]:
        found = read_situation({"station": "a", "outcome": {"exit_code": 0}, "facts": facts})
        return [f"{key} {found.visit_count(key)} {found.has_visited(key)}" for key in "abc"]

    assert been() == ["a 1 True", "b 0 False", "c 0 False"]
    assert been(visits={"a": 3, "b": 1}) == ["a 3 True", "b 1 True", "c 0 False"]
    assert been(visits={"b": 1}, visited=["c"]) == ["a 1 True", "b 1 False", "c 0 True"]
    assert been(visits={"a": 0, "b": 0}) == ["a 0 True", "b 0 False", "c 0 False"]


def test_null_facts_and_null_entries_are_absent() -> None:
    nothing = {"station": "a", "outcome": {"exit_code": 0}}
    nulls = {**nothing, "facts": {**dict.fromkeys(FACTS), "visits": {"a": None}, "gates": {"g": None}}}
    assert read_situation(nulls) == read_situation(nothing) == read_situation({**nothing, "facts": None})


MALFORMED = [
    ([], "has to be an object"),
    ({}, "station: is missing"),
    ({"station": 1, "outcome": {"exit_code": 0}}, "station: has to be a text"),
    ({"station": "a"}, "outcome: is missing"),
    (
        {"station": "a", "outcome": {"exit_code": 0}, "fact": {}},
        "fact: unknown key; known are station, outcome, facts",
    ),
    ({"station": "a", "outcome": {"exit_code": 0}, "facts": []}, "facts: has to be an object"),
    (
        {"station": "a", "outcome": {"exitcode": 0}},
        "outcome.exitcode: unknown key; known are result, verdict, exit_code, eval, "
        "failure_type, summary, comment, feedback, reason, handoff, output, output_error, "
        "signals, blockers, artifacts, usage, git, facts",
    ),
    (
        {"facts": {"visit": {}}},
        "facts.visit: unknown key; known are visits, edges, rules, signal_reworks, visited, "
        "origin, context, variables, inputs, task, unreadable, answers, gates, words, rounds, "
        "open_escalations, beside, preconditions, failures, agents, now, spent, observed, samples, stands",
    ),
    ({"facts": {"visits": {"a": -1}}}, "facts.visits.a: has to be 0 or more"),
    ({"facts": {"visits": {"a": True}}}, "facts.visits.a: has to be a whole number"),
    ({"facts": {"visits": ["a"]}}, "facts.visits: has to be an object"),
    ({"facts": {"edges": {"a->b": "1"}}}, 'facts.edges["a->b"]: has to be a whole number'),
    ({"facts": {"signal_reworks": 1.5}}, "facts.signal_reworks: has to be a whole number"),
    ({"facts": {"visited": "a"}}, "facts.visited: has to be a list"),
    ({"facts": {"visited": [1]}}, "facts.visited[0]: has to be a text"),
    ({"facts": {"origin": ["a"]}}, "facts.origin: has to be a text"),
    ({"facts": {"context": []}}, "facts.context: has to be an object"),
    ({"facts": {"context": {"x": "\x00"}}}, "facts.context.x: the text holds a NUL character at position 0"),
    ({"facts": {"answers": {}}}, "facts.answers: has to be a list"),
    (
        {"facts": {"answers": [{"answer": "yes"}]}},
        "facts.answers[0]: has to name the evaluation: agentic, hook or tool",
    ),
    (
        {"facts": {"answers": [{"agentic": {}, "hook": {}, "answer": "yes"}]}},
        "facts.answers[0]: has to name the evaluation: agentic, hook or tool",
    ),
    ({"facts": {"answers": [{"agentic": {"question": "q"}}]}}, "facts.answers[0].answer: is missing"),
    (
        {"facts": {"answers": [{"agentic": "q", "answer": "yes"}]}},
        "facts.answers[0].agentic: has to be an object",
    ),
    (
        {"facts": {"answers": [{"agentic": {}, "answer": "yes", "by": 1}]}},
        "facts.answers[0].by: unknown key; known are agentic, hook, tool, answer, text",
    ),
    ({"facts": {"gates": {"g": "approve"}}}, "facts.gates.g: has to be an object"),
    (
        {"facts": {"gates": {"g": {"decision": "approved"}}}},
        "facts.gates.g.decision: has to be one of approve, send_back, reject, rework, abort",
    ),
    (
        {"facts": {"gates": {"g": {"decision": "approve", "note": ""}}}},
        "facts.gates.g.note: unknown key; known are decision, route, reason",
    ),
    ({"facts": {"rounds": {"g": "1"}}}, "facts.rounds.g: has to be a whole number"),
    ({"facts": {"open_escalations": True}}, "facts.open_escalations: has to be a whole number"),
    ({"facts": {"preconditions": {"x": 1}}}, "facts.preconditions.x: has to be true or false"),
    ({"facts": {"failures": {"a:x": -1}}}, 'facts.failures["a:x"]: has to be 0 or more'),
    (
        {"facts": {"agents": {"ann": {"state": "ill"}}}},
        "facts.agents.ann.state: has to be one of available, suspended, no_contract",
    ),
    ({"facts": {"agents": {"ann": {"free": -1}}}}, "facts.agents.ann.free: has to be 0 or more"),
    ({"facts": {"agents": {"ann": 1}}}, "facts.agents.ann: has to be an object"),
    ({"facts": {"preconditions": ["x"]}}, "facts.preconditions: has to be an object"),
    ({"station": None, "outcome": {"exit_code": 0}}, "station: is missing"),
    ({"station": "a", "outcome": []}, "outcome: has to be an object"),
    (
        {"station": "a", "outcome": {"exit_code": 0, "signals": [{"verdict": "hold", "meta": 5}]}},
        "outcome.signals[0].meta: has to be an object",
    ),
    ({"facts": {"visits": {"a": 1.5}}}, "facts.visits.a: has to be a whole number"),
    ({"facts": {"rules": []}}, "facts.rules: has to be an object"),
    ({"facts": {"rules": {"r1": -1}}}, "facts.rules.r1: has to be 0 or more"),
    ({"facts": {"signal_reworks": -1}}, "facts.signal_reworks: has to be 0 or more"),
    ({"facts": {"visited": ["a", None]}}, "facts.visited[1]: has to be a text"),
    ({"facts": {"variables": 5}}, "facts.variables: has to be an object"),
    ({"facts": {"inputs": 5}}, "facts.inputs: has to be an object"),
    ({"facts": {"task": 5}}, "facts.task: has to be an object"),
    (
        {"facts": {"task": {"title": "\x00"}}},
        "facts.task.title: the text holds a NUL character at position 0",
    ),
    ({"facts": {"answers": ["yes"]}}, "facts.answers[0]: has to be an object"),
    (
        {
            "facts": {
                "answers": [{"agentic": {"question": "q"}, "answer": "yes"}, {"hook": [], "answer": "pass"}]
            }
        },
        "facts.answers[1].hook: has to be an object",
    ),
    ({"facts": {"answers": [{"agentic": {}, "answer": 5}]}}, "facts.answers[0].answer: has to be a text"),
    (
        {"facts": {"answers": [{"agentic": {}, "answer": "yes", "text": 5}]}},
        "facts.answers[0].text: has to be a text",
    ),
    ({"facts": {"gates": []}}, "facts.gates: has to be an object"),
    (
        {"facts": {"gates": {"g": {"decision": "reject", "route": 5}}}},
        "facts.gates.g.route: has to be a text",
    ),
    (
        {"facts": {"gates": {"g": {"decision": "reject", "reason": 5}}}},
        "facts.gates.g.reason: has to be a text",
    ),
    ({"facts": {"open_escalations": "1"}}, "facts.open_escalations: has to be a whole number"),
    (
        {"facts": {"now": {"rounds": {}}}},
        "facts.now.rounds: unknown key; known are visits, edges, rules, failures, visited, open_escalations, "
        "beside, context, variables, inputs, task, unreadable",
    ),
    ({"facts": {"now": {"edges": 1}}}, "facts.now.edges: has to be an object"),
    ({"station": "a", "outcome": {"exit_code": 0, "blockers": 5}}, "outcome.blockers: has to be a list"),
    ({"station": "a", "outcome": {"exit_code": 0, "artifacts": 5}}, "outcome.artifacts: has to be a list"),
    ({"station": "a", "outcome": {"exit_code": 0, "signals": 5}}, "outcome.signals: has to be a list"),
    ({"station": "a", "outcome": {"exit_code": 0, "summary": 5}}, "outcome.summary: has to be a text"),
    ({"station": "a", "outcome": {"exit_code": "0"}}, "outcome.exit_code: has to be a whole number"),
    (
        {"station": "a", "outcome": {"exit_code": 0, "usage": {"tokens_in": "1"}}},
        "outcome.usage.tokens_in: has to be a number",
    ),
    (
        {"station": "a", "outcome": {"exit_code": 0, "output_error": 5}},
        "outcome.output_error: has to be true, false or a text",
    ),
    (
        {"station": "a", "outcome": {"verdict": "good"}},
        "outcome.verdict: has to be one of pass, fail, blocked",
    ),
    (
        {"station": "a", "outcome": {"result": "good"}},
        "outcome.result: has to be one of success, failure, cancelled, blocked",
    ),
]


@pytest.mark.parametrize(("situation", "told"), MALFORMED)
def test_a_malformed_situation_names_the_place(situation: Any, told: str) -> None:
    if isinstance(situation, dict) and list(situation) == ["facts"]:
        situation = {"station": "a", "outcome": {"exit_code": 0}, **situation}
    with pytest.raises(Malformed) as caught:
        read_situation(situation)
    assert str(caught.value) == told
    assert told == (f"{caught.value.path}: " if caught.value.path else "") + caught.value.message


def test_a_situation_at_a_station_that_the_line_does_not_have_is_malformed() -> None:
    with pytest.raises(SituationError) as caught:
        check_situation(line({}), read_situation({"station": "z", "outcome": {"exit_code": 0}}))
    assert caught.value.to_dict() == {"path": "station", "message": "the line has no station z"}


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (None, "is missing: at this gate a reject names fail, rework or a station"),
        ("nowhere", "has to be fail, rework or a station of the line, not nowhere"),
        ("completed", "has to be fail, rework or a station of the line, not completed"),
    ],
)
def test_where_the_reviewer_chooses_a_reject_without_a_known_route_is_malformed(
    route: str | None, message: str
) -> None:
    of = line({}, gates=[{"key": "g", "on_reject": "reviewer_chooses"}])
    word = {"decision": "reject", **({"route": route} if route else {})}
    situation = {
        "station": "a",
        "outcome": {"exit_code": 0},
        "facts": {"gates": {"g": word, "unknown": word}},
    }
    with pytest.raises(SituationError) as caught:
        check_situation(of, read_situation(situation))
    assert caught.value.to_dict() == {"path": "facts.gates.g.route", "message": message}


@pytest.mark.parametrize("route", ["fail", "rework", "b"])
def test_where_the_reviewer_chooses_a_reject_may_name_these(route: str) -> None:
    of = line({}, {}, gates=[{"key": "g", "on_reject": "reviewer_chooses"}])
    word = {"decision": "reject", "route": route}
    check_situation(
        of, read_situation({"station": "a", "outcome": {"exit_code": 0}, "facts": {"gates": {"g": word}}})
    )
