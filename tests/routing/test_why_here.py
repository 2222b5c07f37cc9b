"""The trace answers "why is it here?": each step that was tried, in order, with what it saw and the reason."""

# ruff: noqa: E501  # traces stand here as they are shown
from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.routing.support import BLOCKED, FAILED, OK, line, ruled
from tests.routing.why_here import HOOK, NEVER, UNPARSEABLE, Cases, told

CASES: Cases = {
    "a rule that is true": (
        lambda: told(ruled({"when": {"result": "success"}}), OK),
        [
            "rules r1 True [operand=result value=success]",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
    "a rule that is not, and one that is": (
        lambda: told(
            ruled({"when": {"result": ["failure", "cancelled"]}}, {"when": {"verdict": "pass"}}), OK
        ),
        [
            "rules r1 False [operand=result value=success]",
            "rules r2 True [operand=verdict value=pass]",
            "effects r2 True: goes to b (by rule)",
            "⇒ move b by rule r2",
        ],
    ),
    "what conditions saw": (
        lambda: told(
            ruled(
                {
                    "when": {
                        "all": [
                            {"eval": {"op": "equals", "value": "ok"}},
                            {"output": {"path": "$.n", "op": "gt", "value": 5}},
                        ]
                    }
                },
                {"when": {"failure_type": "gap"}},
                {"when": {"edge": {"from": "a", "to": "b", "at_least": 2}}},
            ),
            {**OK, "output": {"n": 3}, "failure_type": "x"},
            edges={"a->b": 1},
        ),
        [
            "rules r1 False [operand=eval value=ok] [operand=output path=$.n nodes=[3]]",
            "rules r2 False [operand=failure_type value=x]",
            "rules r3 False [operand=edge path=a->b value=1]",
            "rules True: no_match: default",
            "effects True: goes to b (by policy)",
            "⇒ move b by policy",
        ],
    ),
    "no rule, the next station in order": (
        lambda: told(line({}, {}), OK),
        [
            "rules True: no_rules: advance",
            "effects True: goes to b (by policy)",
            "⇒ move b by policy",
        ],
    ),
    "no rule at the last station": (
        lambda: told(line({}, {}), OK, "b"),
        [
            "rules True: no_rules: advance",
            "effects True: goes to completed (by policy)",
            "⇒ finish completed by policy",
        ],
    ),
    "no rules, and the policy ends": (
        lambda: told(line({}, {}, policy={"no_rules": "end"}), OK),
        [
            "rules True: no_rules: end",
            "effects True: goes to completed (by policy)",
            "⇒ finish completed by policy",
        ],
    ),
    "no rules, and the policy refuses": (
        lambda: told(line({}, {}, policy={"no_rules": "refuse"}), OK),
        [
            "rules True: no_rules: refuse",
            "⇒ stuck NoValidTransition: a has no rules, and this line wants some.",
        ],
    ),
    "no match, by default": (
        lambda: told(ruled(NEVER), OK),
        [
            "rules r1 False [operand=result value=success]",
            "rules True: no_match: default",
            "effects True: goes to b (by policy)",
            "⇒ move b by policy",
        ],
    ),
    "no match, by default, at the last station": (
        lambda: told(line({}, {"rules": [{"id": "r1", "to": "a", **NEVER}]}), OK, "b"),
        [
            "rules r1 False [operand=result value=success]",
            "rules True: no_match: default",
            "effects True: goes to completed (by policy)",
            "⇒ finish completed by policy",
        ],
    ),
    "no match fails": (
        lambda: told(ruled(NEVER, policy={"no_match": "fail"}), OK),
        [
            "rules r1 False [operand=result value=success]",
            "rules True: no_match: fail",
            "⇒ finish failed by policy with NoValidTransition",
        ],
    ),
    "no match is stuck": (
        lambda: told(ruled(NEVER, policy={"no_match": "stuck"}), OK),
        [
            "rules r1 False [operand=result value=success]",
            "rules True: no_match: stuck",
            "⇒ stuck NoValidTransition: No rule of a takes this outcome.",
        ],
    ),
    "no match escalates": (
        lambda: told(ruled(NEVER, policy={"no_match": "escalate"}), OK),
        [
            "rules r1 False [operand=result value=success]",
            "rules True: no_match: escalate",
            "⇒ escalate no_match",
        ],
    ),
    "no match takes the fallback": (
        lambda: told(
            ruled(NEVER, {"when": {"result": "blocked"}, "to": "c"}, policy={"no_match": "fallback"}), OK
        ),
        [
            "rules r1 False [operand=result value=success]",
            "rules r2 False [operand=result value=success]",
            "rules True: no_match: fallback",
            "rules r1 False [operand=result value=blocked]",
            "rules r2 True [operand=result value=blocked]",
            "effects r2 True: goes to c (by fallback)",
            "⇒ move c by fallback r2",
        ],
    ),
    "a failure halts": (
        lambda: told(ruled(NEVER), FAILED),
        [
            "rules r1 False [operand=result value=failure]",
            "rules True: on_failure: halt",
            "⇒ finish failed by policy",
        ],
    ),
    "a failure is stuck": (
        lambda: told(ruled(NEVER, policy={"on_failure": "stuck"}), FAILED),
        [
            "rules r1 False [operand=result value=failure]",
            "rules True: on_failure: stuck",
            "⇒ stuck NoValidTransition: a failed, and no rule takes it.",
        ],
    ),
    "a failure escalates": (
        lambda: told(ruled(NEVER, policy={"on_failure": "escalate"}), FAILED),
        [
            "rules r1 False [operand=result value=failure]",
            "rules True: on_failure: escalate",
            "⇒ escalate on_failure",
        ],
    ),
    "a failure goes to a station": (
        lambda: told(ruled(NEVER, policy={"on_failure": "station:c"}), FAILED),
        [
            "rules r1 False [operand=result value=failure]",
            "rules True: on_failure: station:c",
            "effects True: goes to c (by policy)",
            "⇒ move c by policy",
        ],
    ),
    "a failure takes the fallback": (
        lambda: told(
            ruled(
                NEVER, {"when": {"result": "blocked"}, "to": "@blocked"}, policy={"on_failure": "fallback"}
            ),
            FAILED,
        ),
        [
            "rules r1 False [operand=result value=failure]",
            "rules r2 False [operand=result value=failure]",
            "rules True: on_failure: fallback",
            "rules r1 False [operand=result value=blocked]",
            "rules r2 True [operand=result value=blocked]",
            "effects r2 True: goes to @blocked (by fallback)",
            "⇒ wait blocked r2",
        ],
    ),
    "a failure past the rules": (
        lambda: told(ruled({}, policy={"failure_rules": "no"}), FAILED),
        [
            "rules True: failure_rules: no",
            "rules True: on_failure: halt",
            "⇒ finish failed by policy",
        ],
    ),
    "blocked, and no rule takes it": (
        lambda: told(ruled(NEVER), BLOCKED),
        [
            "blocked True: the outcome is blocked",
            "rules r1 False [operand=result value=blocked]",
            "rules True: blocked, and no rule takes it",
            "⇒ wait blocked",
        ],
    ),
    "blocked by blockers": (
        lambda: told(ruled({}), {**OK, "blockers": ["key", "time"]}),
        [
            "blocked True: 2 blockers",
            "rules r1 True",
            "effects r1 True: goes to b (by fallback)",
            "⇒ move b by fallback r1",
        ],
    ),
    "a required result document is missing": (
        lambda: told(ruled({}, station={"result_document": "required"}), {"exit_code": 0}),
        [
            "blocked True: the required result document is missing or invalid",
            "rules r1 True",
            "effects r1 True: goes to b (by fallback)",
            "⇒ move b by fallback r1",
        ],
    ),
    "a rule that cannot be read": (
        lambda: told(ruled({"to": "z"}), OK),
        [
            "rules r1 error: stations[0].rules[0].to: the line has no station or end “z” (known: a, b, c, completed, failed, cancelled, @origin, @blocked)",
            "⇒ stuck InvalidTransitionSyntax r1: Rule r1 cannot be read: stations[0].rules[0].to: the line has no station or end “z” (known: a, b, c, completed, failed, cancelled, @origin, @blocked)",
        ],
    ),
    "output that cannot be read": (
        lambda: told(ruled({"when": {"output": {"path": "k", "op": "exists"}}}), UNPARSEABLE),
        [
            "rules r1 error: The output of this station was there, but it is not JSON.",
            "⇒ stuck OutputDataParseError r1: The output of this station was there, but it is not JSON.",
        ],
    ),
    "an evaluation that is not answered yet": (
        lambda: told(ruled({"when": HOOK}), OK),
        [
            "rules r1 ask: not asked yet [operand=hook value=None]",
            "⇒ ask",
        ],
    ),
    "an evaluation that nobody could answer": (
        lambda: told(
            ruled({"when": HOOK}), OK, answers=[{"hook": {"argv": ["ready"]}, "answer": "unanswered"}]
        ),
        [
            "rules r1 ask: unanswered [operand=hook value=unanswered]",
            "⇒ wait blocked to be answered",
        ],
    ),
    "an answered evaluation": (
        lambda: told(
            ruled({"when": HOOK, "feedback": True}),
            OK,
            answers=[{"hook": {"argv": ["ready"]}, "answer": "pass", "text": "go"}],
        ),
        [
            "rules r1 True [operand=hook value=pass]",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
}


@pytest.mark.parametrize(("found", "expected"), list(CASES.values()), ids=list(CASES))
def test_the_trace_tells_why(found: Callable[[], list[str]], expected: list[str]) -> None:
    assert found() == expected
