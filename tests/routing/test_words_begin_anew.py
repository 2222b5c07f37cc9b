"""A person's word begins anew: a Rework never ends in `ForcedRouteLoop` (law §12, Gates and words)."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.document.line import ParsedLine, read_line
from tests.routing.support import OK, decided, ruled, short

WORDS = ["approve", "send_back", "reject", "rework", "abort"]
G: dict[str, Any] = {"key": "g", "offers": WORDS}
H: dict[str, Any] = {"key": "h", "offers": WORDS}
STRICT: dict[str, Any] = {
    "key": "strict",
    "mode": "auto",
    "checks": {"all": [{"field": "exit_code", "operator": "equals", "value": 9, "action": "rework"}]},
}
REWORK = {"g": {"decision": "rework", "reason": "Again."}}
FAILURE = {"result": "failure"}
PROCEED = {**OK, "signals": [{"verdict": "proceed"}]}


def goes(of: ParsedLine, outcome: dict[str, Any], **gates: dict[str, Any]) -> str:
    return short(decided(of, outcome, gates=gates))


def test_on_the_route_that_a_word_demands_its_gate_is_passed() -> None:
    of = ruled(
        {"when": {"result": "success"}, "gates": ["g"]},
        {"when": FAILURE, "to": "c", "gates": ["g"]},
        gates=[G],
    )
    assert goes(of, OK, **REWORK) == "move c by gate r2"
    assert decided(of, OK, gates=REWORK)["feedback"] == "Again."


def test_with_its_checks_and_its_tool() -> None:
    tool = {"argv": ["./look"]}
    checks = STRICT["checks"]
    for more in ({"checks": checks, "mode": "manual"}, {"tool": tool, "mode": "manual"}):
        of = ruled({"gates": ["g"]}, {"to": "c", "gates": ["g", "skipped"]}, gates=[{**G, **more}, SKIPPED])
        answers = [{"tool": {"gate": "g"}, "answer": "pass"}]
        assert short(decided(of, OK, gates=REWORK, answers=answers)) == "move c by gate r2"


SKIPPED = {"key": "skipped", "mode": "skip"}


def test_the_same_gate_at_the_station_and_before_the_failure_rule() -> None:
    of = ruled({"when": FAILURE, "to": "c", "gates": ["g"]}, gates=[G], station={"gate": "g"})
    assert goes(of, OK, **REWORK) == "move c by gate r1"


def test_behind_proceed_the_route_that_led_there_does_not_count() -> None:
    of = ruled({"when": {"result": "success"}, "gates": ["g"]}, {"when": FAILURE, "to": "c"}, gates=[G])
    assert goes(of, PROCEED, **REWORK) == "move c by gate r2"
    at_station = ruled({"when": FAILURE, "to": "c", "gates": ["g"]}, gates=[G], station={"gate": "g"})
    assert goes(at_station, PROCEED, **REWORK) == "move c by gate r1"


@pytest.mark.parametrize("outcome", [{"result": "blocked"}, {**OK, "blockers": [{"title": "x"}]}])
def test_behind_a_fallback(outcome: dict[str, Any]) -> None:
    of = ruled({"when": {"result": "blocked"}, "gates": ["g"]}, {"when": FAILURE, "to": "c"}, gates=[G])
    assert goes(of, outcome, **REWORK) == "move c by gate r2"


def test_under_flux_a_rework_that_no_rule_takes_blocks_the_task_for_a_person() -> None:
    """`on_failure: fallback` forces one more route; the rule whose gate said no stays left out."""
    of = ruled({"gates": ["g"]}, gates=[G], preset="flux")
    assert goes(of, OK, **REWORK) == "wait blocked"


def test_a_second_person_may_say_it_too() -> None:
    of = ruled({"gates": ["g"]}, {"to": "c", "gates": ["h"]}, {"to": "c"}, gates=[G, H])
    assert goes(of, OK, **REWORK) == "wait awaiting_review at h then c r2"
    assert goes(of, OK, **REWORK, h={"decision": "rework"}) == "move c by gate r3"


def test_no_rule_whose_gate_said_no_is_taken_by_a_later_rework() -> None:
    of = ruled({"gates": ["g"]}, {"to": "c", "gates": ["h"]}, gates=[G, H], policy={"on_failure": "stuck"})
    assert goes(of, OK, **REWORK, h={"decision": "rework"}) == "stuck NoValidTransition"


def test_a_check_may_force_one_route_after_the_word() -> None:
    of = ruled({"gates": ["g"]}, {"to": "c", "gates": ["strict"]}, {"to": "c"}, gates=[G, STRICT])
    assert goes(of, OK, **REWORK) == "move c by gate r3"


def test_a_word_after_a_route_that_a_check_forced() -> None:
    of = ruled({"gates": ["strict"]}, {"to": "c", "gates": ["g"]}, {"to": "c"}, gates=[G, STRICT])
    assert goes(of, OK, **REWORK) == "move c by gate r3"


@pytest.mark.parametrize(
    ("knob", "expected"),
    [
        ("halt", "finish failed by policy"),
        ("stuck", "stuck NoValidTransition"),
        ("fallback", "wait blocked"),
        ("station:c", "move c by policy"),
    ],
)
def test_and_what_machines_demand_after_it_never_ends_in_a_loop(knob: str, expected: str) -> None:
    """Two checks that demand rework, or a check and a fallback: then the policy decides."""
    guarded = {"to": "c", "gates": ["strict"]}
    two = ruled({"gates": ["g"]}, guarded, guarded, gates=[G, STRICT], policy={"on_failure": knob})
    assert goes(two, OK, **REWORK) == expected
    one = ruled({"gates": ["g"]}, guarded, gates=[G, STRICT], policy={"on_failure": knob})
    assert goes(one, OK, **REWORK) == expected


def test_nor_does_a_compose_that_fails_again_on_the_fallback() -> None:
    failing = {"to": "c", "compose": [{"var": "v", "path": "k"}]}
    of = ruled({"gates": ["g"]}, failing, gates=[G], policy={"on_failure": "fallback"})
    assert goes(of, OK, **REWORK) == "wait blocked"


def test_machines_alone_still_loop() -> None:
    of = ruled({"gates": ["strict"]}, {"to": "c", "gates": ["strict"]}, gates=[STRICT])
    assert goes(of, OK) == "stuck ForcedRouteLoop r2"


UNREAD = {"result": "blocked", "output_error": "not JSON"}
READS = {"output": {"path": "$.high", "op": "gt", "value": 0}}


def test_output_that_cannot_be_parsed_counts_as_none_behind_the_fallback_too() -> None:
    """The fallback reads it as no output, and so does the route that a person's word demands at its gate."""
    of = ruled(
        {"when": {"result": "blocked"}, "gates": ["g"]},
        {"when": {"not": READS}, "to": "c"},
        gates=[G],
    )
    assert goes(of, UNREAD) == "wait awaiting_review at g then b r1"
    assert goes(of, UNREAD, **REWORK) == "move c by gate r2"
    # Behind no fallback it stays what it is.
    unforced = ruled({"when": {"result": "success"}, "gates": ["g"]}, {"when": READS, "to": "c"}, gates=[G])
    said = goes(unforced, {**OK, "output_error": "not JSON"}, **REWORK)
    assert said == "stuck OutputDataParseError r2"
    before = read_line(of.to_document(), revision=2)
    assert goes(before, UNREAD, **REWORK) == "stuck OutputDataParseError r2"
