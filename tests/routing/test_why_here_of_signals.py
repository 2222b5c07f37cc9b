"""The trace answers "why is it here?" where the work gave a signal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.routing.support import OK, ruled
from tests.routing.why_here import Cases, checked, told

CASES: Cases = {
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
            ruled({}, jumps=["c"]),
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
            ruled({"gates": ["g"]}, gates=[{"key": "g", "mode": "manual"}], jumps="all"),
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
            ruled({"gates": ["g"]}, gates=[{"key": "g", "mode": "manual"}], jumps="all"),
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
            ruled({}, policy={"visit_cap": 3}, jumps="all"),
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
