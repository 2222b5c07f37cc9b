"""Law §2: what is absent follows, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.basics.outcome import OutcomeError, derive, read_outcome
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.decide.situation import SituationError, check_situation, read_situation
from tests.routing.support import line

DERIVED = [
    ({"exit_code": 0}, "success", "pass", "ok", "passed"),
    ({"exit_code": 2}, "failure", "fail", "error", "failed"),
    ({"exit_code": -9}, "failure", "fail", "error", "failed"),
    ({"exit_code": 0.0}, "success", "pass", "ok", "passed"),
    ({"verdict": "pass"}, "success", "pass", "ok", "passed"),
    ({"verdict": "fail"}, "failure", "fail", "error", "failed"),
    ({"verdict": "blocked"}, "blocked", "blocked", "blocked", "blocked"),
    ({"eval": "7"}, "success", "pass", "7", "passed"),
    ({"eval": ""}, "success", "pass", "", "passed"),
    ({"result": "cancelled"}, "cancelled", "fail", "cancelled", "failed"),
    ({"result": "blocked"}, "blocked", "blocked", "blocked", "blocked"),
    # the exit code comes before the verdict
    ({"exit_code": 0, "verdict": "fail"}, "success", "fail", "ok", "failed"),
    ({"exit_code": 1, "verdict": "pass"}, "failure", "pass", "error", "failed"),
    ({"exit_code": 1, "verdict": "blocked"}, "failure", "blocked", "error", "blocked"),
    # explicit values never rewrite each other
    ({"result": "success", "exit_code": 1}, "success", "pass", "ok", "passed"),
    ({"result": "success", "verdict": "fail", "eval": "x"}, "success", "fail", "x", "failed"),
    ({"result": "failure", "verdict": "pass"}, "failure", "pass", "error", "failed"),
    ({"result": "blocked", "verdict": "pass"}, "blocked", "pass", "blocked", "blocked"),
]


@pytest.mark.parametrize(("report", "result", "verdict", "eval_", "standing"), DERIVED)
def test_what_is_absent_follows_from_what_is_there(
    report: dict[str, Any], result: str, verdict: str, eval_: str, standing: str
) -> None:
    derived = derive(read_outcome(report))
    assert (derived.result, derived.verdict, derived.eval, derived.standing) == (
        result,
        verdict,
        eval_,
        standing,
    )


def test_a_failed_hook_station_has_the_eval_failed() -> None:
    assert derive(read_outcome({"exit_code": 1}), "failed").eval == "failed"
    assert derive(read_outcome({"result": "cancelled"}), "failed").eval == "cancelled"
    assert derive(read_outcome({"exit_code": 0}), "failed").eval == "ok"


@pytest.mark.parametrize(
    "report", [{}, {"output": {"a": 1}}, {"result": None, "exit_code": None}, {"signals": []}]
)
def test_a_report_that_says_nothing_of_how_it_went_is_refused(report: dict[str, Any]) -> None:
    with pytest.raises(OutcomeError, match="none of result, verdict, eval and exit_code"):
        read_outcome(report)


DEEP: Any = 1
for _ in range(101):
    DEEP = [DEEP]

REFUSED = [
    ({"result": "ok"}, "result: has to be one of success, failure, cancelled, blocked"),
    ({"result": ["success"]}, "result: has to be one of success, failure, cancelled, blocked"),
    ({"verdict": "passed"}, "verdict: has to be one of pass, fail, blocked"),
    ({"verdict": True}, "verdict: has to be one of pass, fail, blocked"),
    ({"eval": 7}, "eval: has to be a text"),
    ({"exit_code": "0"}, "exit_code: has to be a whole number"),
    ({"exit_code": True}, "exit_code: has to be a whole number"),
    ({"exit_code": 0.5}, "exit_code: has to be a whole number"),
    (
        {"exit_code": 0, "outputs": {}},
        "outputs: unknown key; known are result, verdict, exit_code, eval, failure_type, "
        "summary, comment, feedback, reason, handoff, output, output_error, signals, blockers, "
        "artifacts, usage, git, facts",
    ),
    ({"exit_code": 0, "signals": {}}, "signals: has to be a list"),
    ({"exit_code": 0, "signals": ["hold"]}, "signals[0]: has to be an object"),
    ({"exit_code": 0, "signals": [{"verdict": "hold", "meta": []}]}, "signals[0].meta: has to be an object"),
    ({"exit_code": 0, "blockers": "none"}, "blockers: has to be a list"),
    ({"exit_code": 0, "artifacts": {}}, "artifacts: has to be a list"),
    ({"exit_code": 0, "usage": {"cost_usd": "1"}}, "usage.cost_usd: has to be a number"),
    ({"exit_code": 0, "summary": 5}, "summary: has to be a text"),
    ({"exit_code": 0, "output_error": 1}, "output_error: has to be true, false or a text"),
    (
        {"exit_code": 0, "output": {"a": ["x\x00"]}},
        "output.a[0]: the text holds a NUL character at position 1",
    ),
    (
        {"exit_code": 0, "output": {"a b": "\ud800"}},
        'output["a b"]: the text holds half of a surrogate pair at position 0',
    ),
    ({"exit_code": 0, "output": {"\x00": 1}}, "output: the text holds a NUL character at position 0"),
    ({"exit_code": 0, "output": float("nan")}, "output: not a number that JSON knows (NaN or Infinity)"),
    (
        {"exit_code": 0, "output": {"x": float("inf")}},
        "output.x: not a number that JSON knows (NaN or Infinity)",
    ),
    ({"exit_code": 0, "output": Decimal("NaN")}, "output: not a number that JSON knows (NaN or Infinity)"),
    ({"exit_code": 0, "output": DEEP}, "output" + "[0]" * 100 + ": nested deeper than 100"),
    ({"exit_code": 0, "output": {1: 2}}, "output: keys are text, not int"),
    ({"exit_code": 0, "output": (1, 2)}, "output: not a JSON value: tuple"),
    ([], "has to be an object"),
    ("success", "has to be an object"),
    ({"failure_type": 5, "exit_code": 0}, "failure_type: has to be a text"),
    ({"exit_code": 0, "comment": []}, "comment: has to be a text"),
    ({"exit_code": 0, "feedback": {}}, "feedback: has to be a text"),
    ({"exit_code": 0, "reason": 1}, "reason: has to be a text"),
    (
        {"exit_code": 0, "signals": [{"verdict": "proceed"}, {"verdict": "hold", "reason": 5}]},
        "signals[1].reason: has to be a text",
    ),
    ({"exit_code": 0, "signals": [{"verdict": "odd", "reason": 5}, 5]}, "signals[1]: has to be an object"),
    ({"exit_code": 0, "usage": []}, "usage: has to be an object"),
    ({"exit_code": 0, "usage": {"tokens_in": True}}, "usage.tokens_in: has to be a number"),
    ({"exit_code": 0, "usage": {"tokens_out": "5"}}, "usage.tokens_out: has to be a number"),
    ({"exit_code": 0, "usage": {"duration_sec": []}}, "usage.duration_sec: has to be a number"),
    ({"exit_code": 0, "output_error": ["line 3"]}, "output_error: has to be true, false or a text"),
    ({"exit_code": 0, "artifacts": "a"}, "artifacts: has to be a list"),
    (
        {"exit_code": 0, "handoff": {"to": "\ud800"}},
        "handoff.to: the text holds half of a surrogate pair at position 0",
    ),
    (
        {"exit_code": 0, "output": {"a": "b", "c": [1, {"d": "ab\x00"}]}},
        "output.c[1].d: the text holds a NUL character at position 2",
    ),
    ({"exit_code": Decimal("1e5000")}, "exit_code: has to be a whole number"),
]


@pytest.mark.parametrize(("report", "told"), REFUSED)
def test_a_report_is_refused_with_the_place_of_its_fault(report: Any, told: str) -> None:
    with pytest.raises(OutcomeError) as caught:
        read_outcome(report)
    assert str(caught.value) == told
    assert told == (f"{caught.value.path}: " if caught.value.path else "") + caught.value.message


def test_output_may_nest_a_hundred_deep() -> None:
    assert read_outcome({"exit_code": 0, "output": DEEP[0]}).output == DEEP[0]


def test_null_is_absent_except_for_the_output() -> None:
    names = (
        "result",
        "verdict",
        "eval",
        "failure_type",
        "signals",
        "blockers",
        "usage",
        "output_error",
        "reason",
    )
    assert read_outcome({"exit_code": 0, **dict.fromkeys(names)}) == read_outcome({"exit_code": 0})
    assert read_outcome({"exit_code": 0, "output": None}) != read_outcome({"exit_code": 0})


ROUND_TRIPS = [
    {"exit_code": 0},
    {"exit_code": 0, "output": None},
    {"result": "blocked", "blockers": [{"title": "x"}], "signals": [{"verdict": "odd", "more": 1}]},
    {"verdict": "pass", "output": {"n": 0}, "usage": {"cost_usd": 0.5, "more": 1}, "handoff": {}, "eval": ""},
    {"result": "cancelled", "reason": "lease_lost", "output_error": True},
    {
        "exit_code": 1,
        "output_error": "line 3",
        "artifacts": ["a"],
        "summary": "s",
        "comment": "c",
        "feedback": "f",
    },
]


@pytest.mark.parametrize("report", ROUND_TRIPS)
def test_an_outcome_says_back_what_was_reported(report: dict[str, Any]) -> None:
    assert read_outcome(report).to_dict() == report


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
        return [f"{key} {found.visits_of(key)} {found.has_visited(key)}" for key in "abc"]

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
        "open_escalations, beside, preconditions, failures, agents, now, spent, observed",
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
