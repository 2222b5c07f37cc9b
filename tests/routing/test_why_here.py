"""The trace answers "why is it here?": each step that was tried, in order, with what it saw and the reason."""

# ruff: noqa: E501  # traces stand here as they are shown
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipelines.routing.document.line import Line
from tests.routing.support import BLOCKED, FAILED, OK, line, ruled, short, traced


def told(of: Line, outcome: dict[str, Any], station: str = "a", **facts: Any) -> list[str]:
    """The trace, one line for each entry, then the decision and what a person reads of it."""
    answer = traced(of, outcome, station, **facts)
    message = f": {answer['message']}" if "message" in answer else ""
    return [*map(_entry, answer["trace"]), f"⇒ {short(answer)}{message}"]


def _entry(entry: dict[str, Any]) -> str:
    rule = f" {entry['rule']}" if entry["rule"] else ""
    why = f": {entry['why']}" if entry["why"] else ""
    saw = "".join(f" [{_seen(each)}]" for each in entry["saw"])
    return f"{entry['step']}{rule} {entry['result']}{why}{saw}"


def _seen(seen: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in seen.items())


CHECK = {"field": "exit_code", "operator": "equals", "value": 0}
HOOK = {"hook": {"argv": ["ready"]}, "answer": "pass"}
NEVER = {"when": {"result": "cancelled"}}
UNPARSEABLE = {"result": "success", "output_error": "line 3"}


def gated(mode: str = "manual", **more: Any) -> Line:
    """A rule from a to b behind the gate g."""
    return ruled({"gates": ["g"]}, gates=[{"key": "g", "mode": mode, **more}])


def checked(**more: Any) -> Line:
    """Station a with the gate g, which checks the exit code."""
    gate = {"key": "g", "mode": "auto", "checks": {"all": [{**CHECK, **more}]}}
    return ruled({}, station={"gate": "g"}, gates=[gate])


CASES: dict[str, tuple[Callable[[], list[str]], list[str]]] = {
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
    "back to the origin": (
        lambda: told(ruled({"to": "@origin"}), OK, origin="c"),
        [
            "rules r1 True",
            "effects r1 True: goes to c (by rule)",
            "⇒ move c by rule r1",
        ],
    ),
    "without an origin": (
        lambda: told(ruled({"to": "@origin"}), OK),
        [
            "rules r1 True",
            "target r1 error: there is no origin",
            "⇒ stuck NoOrigin r1: No rule has brought this task here, so it has no origin to go back to.",
        ],
    ),
    "a fork": (
        lambda: told(ruled({"to": ["b", "c"]}), OK),
        [
            "rules r1 True",
            "effects r1 True: goes to b + c (by rule)",
            "⇒ move b+c by rule r1",
        ],
    ),
    "nothing to compose": (
        lambda: told(ruled({"compose": [{"var": "v", "path": "$.x"}]}), {**OK, "output": {}}),
        [
            "rules r1 True",
            "target r1 error: compose: $.x finds nothing for the variable v",
            "rules r1 True: on_failure: halt after compose_failed",
            "⇒ finish failed by policy with compose_failed r1",
        ],
    ),
    "nothing to compose, and the policy is stuck": (
        lambda: told(
            ruled({"compose": [{"var": "v", "path": "$.x"}]}, policy={"on_failure": "stuck"}),
            {**OK, "output": {}},
        ),
        [
            "rules r1 True",
            "target r1 error: compose: $.x finds nothing for the variable v",
            "rules r1 True: on_failure: stuck after compose_failed",
            "⇒ stuck compose_failed r1: What the rule should store could not be found in the output of a.",
        ],
    ),
    "no output to compose": (
        lambda: told(ruled({"compose": [{"var": "v", "strategy": "override"}]}), OK),
        [
            "rules r1 True",
            "target r1 error: compose: the output finds nothing for the variable v",
            "rules r1 True: on_failure: halt after compose_failed",
            "⇒ finish failed by policy with compose_failed r1",
        ],
    ),
    "a variable that does not exist yet": (
        lambda: told(
            ruled({"compose": [{"var": "v", "path": "$.x", "strategy": "override"}]}),
            {**OK, "output": {"x": {}}},
        ),
        [
            "rules r1 True",
            "target r1 error: compose: the variable does not exist yet",
            "rules r1 True: on_failure: halt after compose_failed",
            "⇒ finish failed by policy with compose_failed r1",
        ],
    ),
    "a circle": (
        lambda: told(ruled({"to": "c"}, policy={"revisit": "forbid"}), OK, visits={"a": 1, "c": 1}),
        [
            "rules r1 True",
            "target r1 False: This task has been at c before, and may not return.",
            "⇒ stuck CircularWorkflow r1: This task has been at c before, and may not return.",
        ],
    ),
    "a circle that the rule forbids": (
        lambda: told(ruled({"to": "c", "allow_revisit": False}), OK, visits={"a": 1, "c": 1}),
        [
            "rules r1 True",
            "target r1 False: This task has been at c before, and may not return.",
            "⇒ stuck CircularWorkflow r1: This task has been at c before, and may not return.",
        ],
    ),
    "more re-entries than the limit": (
        lambda: told(ruled({"to": "c"}, policy={"revisit": "limit:1"}), OK, visits={"c": 2}),
        [
            "rules r1 True",
            "target r1 False: This task has been at c before, and may not return.",
            "⇒ stuck CircularWorkflow r1: This task has been at c before, and may not return.",
        ],
    ),
    "the cap": (
        lambda: told(ruled({"to": "c"}, policy={"visit_cap": 5}), OK, visits={"c": 5}),
        [
            "rules r1 True",
            "target r1 False: This task has entered c 5 times; the cap is 5.",
            "⇒ stuck VisitLimitExceeded r1: This task has entered c 5 times; the cap is 5.",
        ],
    ),
    "a rule that was taken too often": (
        lambda: told(ruled({"max_retries": 2}), OK, rules={"r1": 2}),
        [
            "rules r1 True",
            "target r1 False: RetryLimitExceeded: rule r1 was taken 2 of 2 times",
            "⇒ finish failed by policy with RetryLimitExceeded r1",
        ],
    ),
    "several limits at once": (
        lambda: told(
            ruled({"max_retries": 0, "max_visits": 1, "on_exhausted": "stuck"}), OK, visits={"b": 1}
        ),
        [
            "rules r1 True",
            "target r1 False: RetryLimitExceeded: rule r1 was taken 0 of 0 times; b was entered 1 of 1 times",
            "⇒ stuck RetryLimitExceeded r1: A limit is reached: rule r1 was taken 0 of 0 times; b was entered 1 of 1 times.",
        ],
    ),
    "a loop that was taken too often": (
        lambda: told(ruled({"to": "a"}), OK, rules={"r1": 3}, visits={"a": 4}),
        [
            "rules r1 True",
            "target r1 False: RetryLimitExceeded: rule r1, a loop, was taken 3 of 3 times",
            "⇒ finish failed by policy with RetryLimitExceeded r1",
        ],
    ),
    "a station that was entered too often": (
        lambda: told(
            line(
                {"rules": [{"id": "r1", "to": "b"}]},
                {"limits": {"max_visits": 2}},
                policy={"on_exhausted": "escalate"},
            ),
            OK,
            visits={"b": 2},
        ),
        [
            "rules r1 True",
            "target r1 False: RetryLimitExceeded: b was entered 2 of 2 times",
            "⇒ escalate RetryLimitExceeded r1",
        ],
    ),
    "an exhausted rule that names a target": (
        lambda: told(ruled({"max_retries": 0, "on_exhausted": {"to": "c"}}), OK),
        [
            "rules r1 True",
            "target r1 False: RetryLimitExceeded: rule r1 was taken 0 of 0 times",
            "effects r1 True: goes to c (by rule)",
            "⇒ move c by rule r1",
        ],
    ),
    "preconditions that are missing": (
        lambda: told(
            ruled({}),
            OK,
            preconditions={"handoff": False, "agent": True, "contract": False},
            open_escalations=1,
        ),
        [
            "rules r1 True",
            "target r1 False: missing: handoff, contract, no_open_escalation",
            "⇒ wait held for handoff+contract+no_open_escalation then b r1",
        ],
    ),
    "a rule's gate waits": (
        lambda: told(gated(), OK),
        [
            "rules r1 True",
            "rule_gates r1 True: g: no checks",
            "rule_gates r1 False: waits for g",
            "⇒ wait awaiting_review at g then b r1",
        ],
    ),
    "a rule's gate is approved": (
        lambda: told(gated(), OK, gates={"g": {"decision": "approve"}}),
        [
            "rules r1 True",
            "rule_gates r1 True: g: no checks",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
    "a rule's gate is skipped": (
        lambda: told(gated("skip"), OK),
        [
            "rules r1 True",
            "rule_gates r1 True: g: skipped",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
    "a reject": (
        lambda: told(gated(), OK, gates={"g": {"decision": "reject", "reason": "no"}}),
        [
            "rules r1 True",
            "rule_gates r1 False: g: reject",
            "⇒ finish failed by gate r1",
        ],
    ),
    "a rework by a person": (
        lambda: told(gated(), OK, gates={"g": {"decision": "rework", "reason": "again"}}),
        [
            "rules r1 True",
            "rule_gates r1 False: g: rework",
            "rules True: on_failure: halt",
            "⇒ finish failed by policy",
        ],
    ),
    "sent back": (
        lambda: told(gated(), OK, gates={"g": {"decision": "send_back", "reason": "again"}}),
        [
            "rules r1 True",
            "rule_gates r1 False: g: send_back",
            "effects r1 True: goes to a (by gate)",
            "⇒ move a by gate r1",
        ],
    ),
    "sent back too often": (
        lambda: told(
            gated(approval={"max_rounds": 1}), OK, gates={"g": {"decision": "send_back"}}, rounds={"g": 1}
        ),
        [
            "rules r1 True",
            "rule_gates r1 False: g: no round is left to send back, the word is refused",
            "rule_gates r1 True: g: no checks",
            "rule_gates r1 False: waits for g",
            "⇒ wait awaiting_review at g then b r1",
        ],
    ),
    "aborted": (
        lambda: told(gated(), OK, gates={"g": {"decision": "abort"}}),
        [
            "rules r1 True",
            "rule_gates r1 False: g: abort",
            "⇒ finish failed by gate r1",
        ],
    ),
    "checks of a rule's gate that ask for rework": (
        lambda: told(
            ruled(
                {"gates": ["g"]},
                {"when": {"result": "failure"}, "to": "c"},
                gates=[{"key": "g", "mode": "auto", "checks": {"all": [{**CHECK, "action": "rework"}]}}],
            ),
            {"exit_code": 1, "result": "success"},
        ),
        [
            "rules r1 True",
            "rule_gates r1 False: g: rework [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=rework label=]",
            "rules r2 True [operand=result value=failure]",
            "effects r2 True: goes to c (by gate)",
            "⇒ move c by gate r2",
        ],
    ),
    "checks of a rule's gate that abort": (
        lambda: told(
            ruled(
                {"gates": ["g"]},
                gates=[{"key": "g", "mode": "auto", "checks": {"all": [{**CHECK, "action": "abort"}]}}],
            ),
            {"exit_code": 1, "result": "success"},
        ),
        [
            "rules r1 True",
            "rule_gates r1 False: g: abort [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=abort label=]",
            "⇒ finish failed by gate r1",
        ],
    ),
    "checks of a manual gate are shown": (
        lambda: told(
            gated("manual", checks={"all": [{**CHECK, "label": "Exit code"}]}),
            {"exit_code": 1, "result": "success"},
        ),
        [
            "rules r1 True",
            "rule_gates r1 True: g: hold, shown only [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=hold label=Exit code]",
            "rule_gates r1 False: waits for g",
            "⇒ wait awaiting_review at g then b r1",
        ],
    ),
    "a second forced route": (
        lambda: told(
            ruled(
                {"when": {"result": "success"}, "gates": ["g"]},
                {"when": {"result": "failure"}, "gates": ["g"]},
                gates=[{"key": "g", "mode": "auto", "checks": {"all": [{**CHECK, "action": "rework"}]}}],
            ),
            {"exit_code": 1, "result": "success"},
        ),
        [
            "rules r1 True [operand=result value=success]",
            "rule_gates r1 False: g: rework [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=rework label=]",
            "rules r2 True [operand=result value=failure]",
            "rule_gates r2 False: g: rework [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=rework label=]",
            "rules r2 error: a second forced route",
            "⇒ stuck ForcedRouteLoop r2: One decision took a forced route already, and a second one was demanded.",
        ],
    ),
    "a second forced route by the policy": (
        lambda: told(
            ruled(
                NEVER,
                policy={"on_failure": "fallback"},
                station={"gate": "g"},
                gates=[{"key": "g", "mode": "auto", "checks": {"all": [{**CHECK, "action": "rework"}]}}],
            ),
            {"exit_code": 1, "result": "success"},
        ),
        [
            "station_gate False: g: rework [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=rework label=]",
            "rules r1 False [operand=result value=failure]",
            "rules True: on_failure: fallback",
            "rules error: a second forced route",
            "⇒ stuck ForcedRouteLoop: One decision took a forced route already, and a second one was demanded.",
        ],
    ),
    "a station gate that holds": (
        lambda: told(checked(), {"exit_code": 1}),
        [
            "station_gate False: g: hold [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=hold label=]",
            "station_gate False: waits for g",
            "⇒ wait awaiting_review at g",
        ],
    ),
    "a station gate that passes": (
        lambda: told(checked(label="Exit code"), {"exit_code": 0}),
        [
            "station_gate True: g: proceed [field=exit_code operator=equals value=0 saw=0 passed=True severity=required action=hold label=Exit code]",
            "rules r1 True",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
    "a station gate that asks for rework": (
        lambda: told(checked(action="rework"), {"exit_code": 1}),
        [
            "station_gate False: g: rework [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=rework label=]",
            "rules r1 True",
            "effects r1 True: goes to b (by gate)",
            "⇒ move b by gate r1",
        ],
    ),
    "a station gate that aborts": (
        lambda: told(checked(action="abort"), {"exit_code": 1}),
        [
            "station_gate False: g: abort [field=exit_code operator=equals value=0 saw=1 passed=False severity=required action=abort label=]",
            "⇒ finish failed by gate",
        ],
    ),
    "a station gate with an unknown field": (
        lambda: told(checked(field="exit_cod"), {"exit_code": 0}),
        [
            "station_gate False: g: hold [field=exit_cod operator=equals value=0 saw=None passed=False severity=required action=hold label= why=unknown field]",
            "station_gate False: waits for g",
            "⇒ wait awaiting_review at g",
        ],
    ),
    "a station gate with a value that is absent": (
        lambda: told(checked(field="output.n"), {"exit_code": 0}),
        [
            "station_gate False: g: hold [field=output.n operator=equals value=0 saw=None passed=False severity=required action=hold label= why=no value]",
            "station_gate False: waits for g",
            "⇒ wait awaiting_review at g",
        ],
    ),
    "a station gate without checks": (
        lambda: told(
            ruled({}, station={"gate": "g"}, gates=[{"key": "g"}]), OK, gates={"g": {"decision": "approve"}}
        ),
        [
            "station_gate True: g: no checks",
            "rules r1 True",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
    "abort says the signal": (
        lambda: told(ruled({}), {**OK, "signals": [{"verdict": "abort", "reason": "broken"}]}),
        [
            "signal True: the signal says abort [operand=verdict value=abort] [operand=reason value=broken]",
            "⇒ finish failed by signal",
        ],
    ),
    "proceed says the signal": (
        lambda: told(checked(action="abort"), {"exit_code": 1, "signals": [{"verdict": "proceed"}]}),
        [
            "signal True: the signal says proceed [operand=verdict value=proceed]",
            "station_gate True: g: passed by the signal",
            "rules r1 True",
            "effects r1 True: goes to b (by signal)",
            "⇒ move b by signal r1",
        ],
    ),
    "rework says the signal": (
        lambda: told(ruled({}), {**OK, "signals": [{"verdict": "rework"}]}),
        [
            "signal True: the signal says rework [operand=verdict value=rework]",
            "effects True: goes to a (by signal)",
            "⇒ move a by signal",
        ],
    ),
    "rework says the signal once too often": (
        lambda: told(
            ruled({"when": {"verdict": "fail"}}), {**OK, "signals": [{"verdict": "rework"}]}, signal_reworks=3
        ),
        [
            "signal True: the signal says rework [operand=verdict value=rework]",
            "signal False: reworked 3 of 3 times: the verdict becomes fail",
            "rules r1 True [operand=verdict value=fail]",
            "effects r1 True: goes to b (by rule)",
            "⇒ move b by rule r1",
        ],
    ),
    "hold says the signal": (
        lambda: told(
            ruled({}),
            {**OK, "signals": [{"verdict": "hold", "reason": "needs_human", "meta": {"question": "Which?"}}]},
        ),
        [
            "signal True: the signal says hold [operand=verdict value=hold] [operand=reason value=needs_human]",
            "⇒ wait blocked",
        ],
    ),
    "a jump": (
        lambda: told(
            ruled({}),
            {
                **OK,
                "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "c"}}],
            },
        ),
        [
            "signal True: the signal says hold [operand=verdict value=hold] [operand=reason value=already_complete]",
            "effects True: goes to c (by signal)",
            "⇒ move c by signal",
        ],
    ),
    "a jump that is reviewed": (
        lambda: told(
            gated(),
            {
                **OK,
                "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "c"}}],
            },
        ),
        [
            "signal True: the signal says hold [operand=verdict value=hold] [operand=reason value=already_complete]",
            "signal False: waits for a review of the jump",
            "⇒ wait awaiting_review at @jump then c",
        ],
    ),
    "a jump to nowhere": (
        lambda: told(
            ruled({}),
            {
                **OK,
                "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "z"}}],
            },
        ),
        [
            "signal True: the signal says hold [operand=verdict value=hold] [operand=reason value=already_complete]",
            "signal False: the target of the jump is missing or unknown",
            "⇒ wait blocked",
        ],
    ),
    "a jump that is rejected": (
        lambda: told(
            gated(),
            {
                **OK,
                "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "c"}}],
            },
            gates={"@jump": {"decision": "reject"}},
        ),
        [
            "signal True: the signal says hold [operand=verdict value=hold] [operand=reason value=already_complete]",
            "signal False: @jump: reject",
            "⇒ finish failed by gate",
        ],
    ),
    "a jump over the cap": (
        lambda: told(
            ruled({}, policy={"visit_cap": 3}),
            {
                **OK,
                "signals": [{"verdict": "hold", "reason": "already_complete", "meta": {"targetState": "c"}}],
            },
            visits={"c": 3},
        ),
        [
            "signal True: the signal says hold [operand=verdict value=hold] [operand=reason value=already_complete]",
            "target False: This task has entered c 3 times; the cap is 3.",
            "⇒ stuck VisitLimitExceeded: This task has entered c 3 times; the cap is 3.",
        ],
    ),
}


@pytest.mark.parametrize(("found", "expected"), list(CASES.values()), ids=list(CASES))
def test_the_trace_tells_why(found: Callable[[], list[str]], expected: list[str]) -> None:
    assert found() == expected
