"""The trace answers "why is it here?" where something stands between a rule and its target."""

# ruff: noqa: E501  # traces stand here as they are shown
from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.routing.support import OK, line, ruled
from tests.routing.why_here import Cases, told

CASES: Cases = {
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
}


@pytest.mark.parametrize(("found", "expected"), list(CASES.values()), ids=list(CASES))
def test_the_trace_tells_why(found: Callable[[], list[str]], expected: list[str]) -> None:
    assert found() == expected
