"""The trace answers "why is it here?" where gates were asked."""

# ruff: noqa: E501  # traces stand here as they are shown
from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.routing.support import OK, ruled
from tests.routing.why_here import CHECK, NEVER, Cases, checked, gated, told

CASES: Cases = {
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
}


@pytest.mark.parametrize(("found", "expected"), list(CASES.values()), ids=list(CASES))
def test_the_trace_tells_why(found: Callable[[], list[str]], expected: list[str]) -> None:
    assert found() == expected
