"""Law §4: what each preset decides, and each knob by itself; one line of the table, one decision."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import PRESETS, ParsedLine
from tests.routing.support import FAILED, OK, goes, ruled

NEVER = {"when": {"failure_type": "never"}}
GATE = {"gates": [{"key": "g"}]}
ASKED = {"gates": ["g"], "to": "c"}
REJECTED = {"g": {"decision": "reject", "reason": "No."}}

ALP = {
    "no rules": "move b by policy",
    "no match": "move b by policy",
    "failure": "finish failed by policy",
    "revisit": "move c by rule r1",
    "reject": "finish failed by gate r1",
    "exhausted": "finish failed by policy with RetryLimitExceeded r1",
}
CONTENOX = ALP | {
    "no rules": "finish completed by policy",
    "no match": "finish failed by policy with NoValidTransition",
    "exhausted": "stuck RetryLimitExceeded r1",
}
VIBE_FACTORY = CONTENOX | {
    "no match": "stuck NoValidTransition",
    "revisit": "stuck CircularWorkflow r1",
    "reject": "move a by gate r1",
}
FLUX = CONTENOX | {
    "no rules": "stuck NoValidTransition",
    "no match": "wait blocked",
    "failure": "wait blocked",
    "reject": "move b by gate r1",
}
AEEF = {
    "no rules": "stuck NoValidTransition",
    "no match": "escalate no_match",
    "failure": "escalate on_failure",
    "revisit": "move c by rule r1",
    "reject": "move a by gate r1",
    "exhausted": "escalate RetryLimitExceeded r1",
}
DECISIONS = {"alp": ALP, "contenox": CONTENOX, "vibe-factory": VIBE_FACTORY, "flux": FLUX, "aeef": AEEF}


def decided_in(case: str, **more: Any) -> str:
    """What a line with this preset or policy decides in one of the six cases."""

    def line(*rules: dict[str, Any]) -> ParsedLine:
        # What a forward move needs under `aeef` is another table's: tests/routing/test_preconditions.py.
        return ruled(*rules, station={"requires": []}, **GATE, **more)

    if case == "no rules":
        return goes(line(), OK)
    if case == "no match":
        return goes(line(NEVER), OK)
    if case == "failure":
        return goes(line(NEVER), FAILED)
    if case == "revisit":
        return goes(line({"to": "c"}), OK, visits={"c": 1})
    if case == "exhausted":
        return goes(line({"to": "c", "max_retries": 1}), OK, rules={"r1": 1})
    chosen = {"route": "b"} if line().policy.on_reject == "reviewer_chooses" else {}
    return goes(line(ASKED), OK, gates={"g": REJECTED["g"] | chosen})


@pytest.mark.parametrize(
    ("preset", "case"), [(preset, case) for preset, cases in DECISIONS.items() for case in cases]
)
def test_each_preset_decides_each_case_as_its_row_says(preset: str, case: str) -> None:
    assert decided_in(case, preset=preset) == DECISIONS[preset][case]


def test_no_preset_is_left_out() -> None:
    assert DECISIONS.keys() == PRESETS.keys()


KNOBS = [
    ({"no_rules": "advance"}, "no rules", ALP["no rules"]),
    ({"no_rules": "end"}, "no rules", CONTENOX["no rules"]),
    ({"no_rules": "refuse"}, "no rules", FLUX["no rules"]),
    ({"no_match": "default"}, "no match", ALP["no match"]),
    ({"no_match": "fail"}, "no match", CONTENOX["no match"]),
    ({"no_match": "stuck"}, "no match", VIBE_FACTORY["no match"]),
    ({"no_match": "fallback"}, "no match", FLUX["no match"]),
    ({"no_match": "escalate"}, "no match", AEEF["no match"]),
    ({"on_failure": "halt"}, "failure", ALP["failure"]),
    ({"on_failure": "stuck"}, "failure", "stuck NoValidTransition"),
    ({"on_failure": "escalate"}, "failure", AEEF["failure"]),
    ({"on_failure": "fallback"}, "failure", FLUX["failure"]),
    ({"on_failure": "station:c"}, "failure", "move c by policy"),
    ({"revisit": "allow"}, "revisit", ALP["revisit"]),
    ({"revisit": "forbid"}, "revisit", VIBE_FACTORY["revisit"]),
    ({"revisit": "limit:0"}, "revisit", VIBE_FACTORY["revisit"]),
    ({"revisit": "limit:1"}, "revisit", ALP["revisit"]),
    ({"on_reject": "fail"}, "reject", ALP["reject"]),
    ({"on_reject": "rework"}, "reject", AEEF["reject"]),
    ({"on_reject": "route:b"}, "reject", FLUX["reject"]),
    ({"on_reject": "reviewer_chooses"}, "reject", FLUX["reject"]),
    ({"on_exhausted": "fail"}, "exhausted", ALP["exhausted"]),
    ({"on_exhausted": "stuck"}, "exhausted", CONTENOX["exhausted"]),
    ({"on_exhausted": "escalate"}, "exhausted", AEEF["exhausted"]),
]


@pytest.mark.parametrize(("policy", "case", "decision"), KNOBS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_knob_by_itself_decides_its_case_under_every_preset(
    preset: str, policy: dict[str, Any], case: str, decision: str
) -> None:
    assert decided_in(case, preset=preset, policy=policy) == decision


LOOP = {"when": {"result": "failure"}, "to": "a"}


@pytest.mark.parametrize(("limit", "taken", "again"), [(1, 0, True), (1, 1, False), ("none", 50, True)])
def test_self_loop_limit_by_itself(limit: Any, taken: int, again: bool) -> None:
    of = ruled(LOOP, preset="contenox", policy={"self_loop_limit": limit})
    expected = "move a by rule r1" if again else "stuck RetryLimitExceeded r1"
    assert goes(of, FAILED, rules={"r1": taken}, visits={"a": 2}) == expected


def test_failure_rules_by_itself() -> None:
    of = ruled({**LOOP, "to": "c"}, policy={"failure_rules": "no"})
    assert goes(of, FAILED) == "finish failed by policy"
    assert goes(ruled({**LOOP, "to": "c"}), FAILED) == "move c by rule r1"


@pytest.mark.parametrize(
    ("scope", "expected"), [("current", "move c by rule r2"), ("merged", "move b by rule r1")]
)
def test_condition_scope_by_itself(scope: str, expected: str) -> None:
    of = ruled(
        {"when": {"output": {"path": "k", "op": "exists"}}}, {"to": "c"}, policy={"condition_scope": scope}
    )
    assert goes(of, OK, context={"k": 1}) == expected


def test_visit_cap_by_itself() -> None:
    of = ruled({"to": "c"}, policy={"visit_cap": 2})
    assert goes(of, OK, visits={"c": 1}) == "move c by rule r1"
    assert goes(of, OK, visits={"c": 2}) == "stuck VisitLimitExceeded r1"
