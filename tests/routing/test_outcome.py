"""Law §2: what is absent follows, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.routing.basics.outcome import OutcomeError, derived_outcome, read_outcome

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
    derived = derived_outcome(read_outcome(report))
    assert (derived.result, derived.verdict, derived.eval, derived.outcome_state) == (
        result,
        verdict,
        eval_,
        standing,
    )


def test_a_failed_hook_station_has_the_eval_failed() -> None:
    assert derived_outcome(read_outcome({"exit_code": 1}), "failed").eval == "failed"
    assert derived_outcome(read_outcome({"result": "cancelled"}), "failed").eval == "cancelled"
    assert derived_outcome(read_outcome({"exit_code": 0}), "failed").eval == "ok"


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
    ({"exit_code": 0, "usage": {"cost_usd": -1000}}, "usage.cost_usd: has to be 0 or more"),
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
