"""Semantics §2: what is absent follows, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.outcome import (
    Malformed,
    OutcomeError,
    SituationError,
    check_situation,
    derive,
    read_outcome,
    read_situation,
)
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
    assert derive(read_outcome({"exit_code": 1}), "hook").eval == "failed"
    assert derive(read_outcome({"result": "cancelled"}), "hook").eval == "cancelled"
    assert derive(read_outcome({"exit_code": 0}), "hook").eval == "ok"


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
    ({"result": "ok"}, "result"),
    ({"result": ["success"]}, "result"),
    ({"verdict": "passed"}, "verdict"),
    ({"verdict": True}, "verdict"),
    ({"eval": 7}, "eval"),
    ({"exit_code": "0"}, "exit_code"),
    ({"exit_code": True}, "exit_code"),
    ({"exit_code": 0.5}, "exit_code"),
    ({"exit_code": 0, "outputs": {}}, "outputs"),
    ({"exit_code": 0, "signals": {}}, "signals"),
    ({"exit_code": 0, "signals": ["hold"]}, "signals[0]"),
    ({"exit_code": 0, "signals": [{"verdict": "hold", "meta": []}]}, "signals[0].meta"),
    ({"exit_code": 0, "blockers": "none"}, "blockers"),
    ({"exit_code": 0, "artifacts": {}}, "artifacts"),
    ({"exit_code": 0, "usage": {"cost_usd": "1"}}, "usage.cost_usd"),
    ({"exit_code": 0, "summary": 5}, "summary"),
    ({"exit_code": 0, "output_error": 1}, "output_error"),
    ({"exit_code": 0, "output": {"a": ["x\x00"]}}, "output.a[0]"),
    ({"exit_code": 0, "output": {"a b": "\ud800"}}, 'output["a b"]'),
    ({"exit_code": 0, "output": {"\x00": 1}}, "output"),
    ({"exit_code": 0, "output": float("nan")}, "output"),
    ({"exit_code": 0, "output": {"x": float("inf")}}, "output.x"),
    ({"exit_code": 0, "output": Decimal("NaN")}, "output"),
    ({"exit_code": 0, "output": DEEP}, "output" + "[0]" * 100),
    ({"exit_code": 0, "output": {1: 2}}, "output"),
    ({"exit_code": 0, "output": (1, 2)}, "output"),
    ([], ""),
    ("success", ""),
]


@pytest.mark.parametrize(("report", "path"), REFUSED)
def test_a_report_is_refused_with_the_place_of_its_fault(report: Any, path: str) -> None:
    with pytest.raises(OutcomeError) as caught:
        read_outcome(report)
    assert caught.value.path == path


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
    "preconditions": {"z": False, "a": True},
}


def test_a_situation_says_back_what_it_was_read_from() -> None:
    situation = {"station": "a", "outcome": {"exit_code": 0}, "facts": FACTS}
    assert read_situation(situation).to_dict() == situation
    assert list(read_situation(situation).to_dict()["facts"]["preconditions"]) == ["z", "a"]


def test_null_facts_and_null_entries_are_absent() -> None:
    nothing = {"station": "a", "outcome": {"exit_code": 0}}
    nulls = {**nothing, "facts": {**dict.fromkeys(FACTS), "visits": {"a": None}, "gates": {"g": None}}}
    assert read_situation(nulls) == read_situation(nothing) == read_situation({**nothing, "facts": None})


MALFORMED = [
    ([], ""),
    ({}, "station"),
    ({"station": 1, "outcome": {"exit_code": 0}}, "station"),
    ({"station": "a"}, "outcome"),
    ({"station": "a", "outcome": {"exit_code": 0}, "fact": {}}, "fact"),
    ({"station": "a", "outcome": {"exit_code": 0}, "facts": []}, "facts"),
    ({"station": "a", "outcome": {"exitcode": 0}}, "outcome.exitcode"),
    ({"facts": {"visit": {}}}, "facts.visit"),
    ({"facts": {"visits": {"a": -1}}}, "facts.visits.a"),
    ({"facts": {"visits": {"a": True}}}, "facts.visits.a"),
    ({"facts": {"visits": ["a"]}}, "facts.visits"),
    ({"facts": {"edges": {"a->b": "1"}}}, 'facts.edges["a->b"]'),
    ({"facts": {"signal_reworks": 1.5}}, "facts.signal_reworks"),
    ({"facts": {"visited": "a"}}, "facts.visited"),
    ({"facts": {"visited": [1]}}, "facts.visited[0]"),
    ({"facts": {"origin": ["a"]}}, "facts.origin"),
    ({"facts": {"context": []}}, "facts.context"),
    ({"facts": {"context": {"x": "\x00"}}}, "facts.context.x"),
    ({"facts": {"answers": {}}}, "facts.answers"),
    ({"facts": {"answers": [{"answer": "yes"}]}}, "facts.answers[0]"),
    ({"facts": {"answers": [{"agentic": {}, "hook": {}, "answer": "yes"}]}}, "facts.answers[0]"),
    ({"facts": {"answers": [{"agentic": {"question": "q"}}]}}, "facts.answers[0].answer"),
    ({"facts": {"answers": [{"agentic": "q", "answer": "yes"}]}}, "facts.answers[0].agentic"),
    ({"facts": {"answers": [{"agentic": {}, "answer": "yes", "by": 1}]}}, "facts.answers[0].by"),
    ({"facts": {"gates": {"g": "approve"}}}, "facts.gates.g"),
    ({"facts": {"gates": {"g": {"decision": "approved"}}}}, "facts.gates.g.decision"),
    ({"facts": {"gates": {"g": {"decision": "approve", "note": ""}}}}, "facts.gates.g.note"),
    ({"facts": {"rounds": {"g": "1"}}}, "facts.rounds.g"),
    ({"facts": {"open_escalations": True}}, "facts.open_escalations"),
    ({"facts": {"preconditions": {"x": 1}}}, "facts.preconditions.x"),
    ({"facts": {"preconditions": ["x"]}}, "facts.preconditions"),
]


@pytest.mark.parametrize(("situation", "path"), MALFORMED)
def test_a_malformed_situation_names_the_place(situation: Any, path: str) -> None:
    if isinstance(situation, dict) and list(situation) == ["facts"]:
        situation = {"station": "a", "outcome": {"exit_code": 0}, **situation}
    with pytest.raises(Malformed) as caught:
        read_situation(situation)
    assert caught.value.path == path


def test_a_situation_at_a_station_that_the_line_does_not_have_is_malformed() -> None:
    with pytest.raises(SituationError) as caught:
        check_situation(line({}), read_situation({"station": "z", "outcome": {"exit_code": 0}}))
    assert caught.value.path == "station"


@pytest.mark.parametrize("route", [None, "nowhere", "completed"])
def test_where_the_reviewer_chooses_a_reject_without_a_known_route_is_malformed(route: str | None) -> None:
    of = line({}, gates=[{"key": "g", "on_reject": "reviewer_chooses"}])
    word = {"decision": "reject", **({"route": route} if route else {})}
    situation = {
        "station": "a",
        "outcome": {"exit_code": 0},
        "facts": {"gates": {"g": word, "unknown": word}},
    }
    with pytest.raises(SituationError) as caught:
        check_situation(of, read_situation(situation))
    assert caught.value.path == "facts.gates.g.route"


@pytest.mark.parametrize("route", ["fail", "rework", "b"])
def test_where_the_reviewer_chooses_a_reject_may_name_these(route: str) -> None:
    of = line({}, {}, gates=[{"key": "g", "on_reject": "reviewer_chooses"}])
    word = {"decision": "reject", "route": route}
    check_situation(
        of, read_situation({"station": "a", "outcome": {"exit_code": 0}, "facts": {"gates": {"g": word}}})
    )
