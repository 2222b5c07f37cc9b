"""Rules behind the gate of their station: what is said of them is said of the line as it is, with this gate.

The same widely, with counts: `proof/soak/test_gated.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import Liveness
from tests.routing.regions.gated import Claims
from tests.routing.regions.support import eval_, output
from tests.routing.support import decided, ruled

LINES, SITUATIONS = 80, 12


@pytest.mark.parametrize("lines", [LINES, pytest.param(250, marks=pytest.mark.wide)])
def test_drawn_lines_are_decided_as_shown(lines: int) -> None:
    counted: Counter[str] = Counter()
    for seed in range(lines):
        Claims(seed, counted).hold(SITUATIONS)
    assert counted["dead"] > lines // 2
    assert counted["witnesses"] > 3 * lines
    assert counted["unknown"] <= 0.05 * counted["rules"], counted


def gated(gate: dict[str, Any], *rules: dict[str, Any], **more: Any) -> list[Liveness]:
    of = ruled(*rules, station={"gate": "g"}, gates=[{"key": "g", **gate}], **more)
    standings = FirstMatchAnalysis(of, of.station("a")).rule_liveness
    for each in standings:
        if each.witness is not None:
            shown = each.witness.situation
            decision = decided(of, shown["outcome"], **shown.get("facts", {}))
            assert decision == each.witness.decision
    return list(standings)


def check(field: str, operator: str, value: Any, action: str, **more: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value, "action": action, **more}


def only(*checks: dict[str, Any], mode: str = "auto") -> dict[str, Any]:
    return {"mode": mode, "checks": {"all": list(checks)}}


OK_OR_ABORT = only(check("eval", "equals", "ok", "abort"))
ERROR, ALWAYS = {"when": eval_("equals", "error"), "to": "completed"}, {"to": "failed"}


def test_what_the_gate_aborts_never_comes_to_the_rules() -> None:
    error, rest = gated(OK_OR_ABORT, ERROR, ALWAYS)
    assert (error.status, error.never) == ("dead", True)
    assert rest.status == "live"


def test_a_warning_stops_nothing() -> None:
    warning = only(check("eval", "equals", "ok", "abort", severity="warn"))
    assert [each.status for each in gated(warning, ERROR, ALWAYS)] == ["live", "partly shadowed"]


@pytest.mark.parametrize("mode", ["manual", "skip"])
def test_checks_that_are_only_shown_stop_nothing(mode: str) -> None:
    checks = only(check("eval", "equals", "ok", "abort"), mode=mode)
    assert [each.status for each in gated(checks, ERROR, ALWAYS)] == ["live", "partly shadowed"]


def test_what_a_check_holds_comes_with_the_approval_of_who_is_asked() -> None:
    error, _ = gated(only(check("eval", "equals", "ok", "hold")), ERROR, ALWAYS)
    assert error.witness is not None
    assert [word.to_dict() for word in error.witness.words] == [
        {"gate": "g", "word": "approve", "opening": "station", "rule": None}
    ]


def test_where_nobody_is_asked_nobody_says_a_word() -> None:
    ok, _ = gated(only(check("eval", "equals", "ok", "hold")), {"when": eval_("equals", "ok")}, ALWAYS)
    assert ok.witness is not None
    assert "gates" not in ok.witness.situation.get("facts", {})


def test_a_gate_that_cannot_be_approved_lets_nothing_through_but_what_it_never_sees() -> None:
    """A blocked outcome goes past the gate of the station."""
    gate = {"mode": "manual", "offers": ["reject"]}
    success, blocked = gated(gate, {"when": {"result": "success"}}, {"when": {"result": "blocked"}})
    assert (success.status, blocked.status) == ("dead", "live")


def test_a_demanded_rework_comes_to_the_rules_as_a_failure() -> None:
    """The check reads what was recorded; the rules see failure, fail, error."""
    gate = only(check("result", "equals", "failure", "rework"))
    error, _ = gated(gate, {"when": {"all": [eval_("equals", "error"), {"verdict": "fail"}]}}, ALWAYS)
    assert error.witness is not None
    assert error.status == "live"
    unlike = {"when": {"all": [{"result": "failure"}, {"not": eval_("equals", "error")}]}}
    assert gated(only(check("result", "equals", "success", "abort")), unlike)[0].status == "dead"


def test_a_word_at_a_shared_gate_is_said_at_the_opening_that_asks() -> None:
    """`proceed` alone comes past the checks at the station; at the rule one of them asks, and hears the word."""
    checks = only(check("signal", "equals", "proceed", "abort"), check("result", "equals", "failure", "hold"))
    gate = {**checks, "offers": ["rework", "abort"]}
    _, standing = gated(gate, {"when": {"verdict": "pass"}, "gates": ["g"]}, {"when": {"verdict": "fail"}})
    assert standing.after_rework == "r1"
    assert standing.witness is not None
    assert standing.witness.to_dict()["words"] == [
        {"gate": "g", "word": "rework", "opening": "rule", "rule": "r1"}
    ]


def test_a_rule_above_is_reached_when_the_gate_of_one_below_demands_rework() -> None:
    """Only a blocked outcome comes to the rules by itself, so the failure comes from the gate `k` alone."""
    of = ruled(
        {"when": {"verdict": "any"}},
        {"gates": ["k"]},
        station={"gate": "g"},
        gates=[{"key": "g", "offers": ["reject"]}, {"key": "k", "offers": ["approve", "rework"]}],
    )
    first, _ = FirstMatchAnalysis(of, of.station("a")).rule_liveness
    assert (first.status, first.after_rework) == ("partly shadowed", "r2")
    assert first.witness is not None
    assert [word.to_dict()["opening"] for word in first.witness.words] == ["rule"]


def test_a_rule_for_blocked_outcomes_is_reached_by_the_fallback_after_a_demanded_rework() -> None:
    of = ruled(
        {"gates": ["k"]},
        {"when": {"result": "blocked"}},
        gates=[{"key": "k", "offers": ["approve", "rework"]}],
        policy={"on_failure": "fallback"},
    )
    assert FirstMatchAnalysis(of, of.station("a")).rule_liveness[1].after_rework == "r1"


def test_checks_and_conditions_read_the_same_output() -> None:
    gate = only(check("output.n", "greater_than", 5, "abort"))
    less, more = gated(
        gate,
        {"when": {"all": [output("n", "lt", 3), {"result": "success"}, eval_("equals", "fine")]}},
        {"when": output("$.n", "gt", 7)},
    )
    assert (less.status, more.status) == ("dead", "live")
    merged = gated(
        gate,
        {"when": {"all": [output("n", "lt", 3), {"result": "success"}, eval_("equals", "fine")]}},
        {"when": output("n", "gt", 7)},
        policy={"condition_scope": "merged"},
    )
    assert merged[0].status == "dead"


def test_nobody_says_rework_at_the_gate_of_a_rule_that_does_not_ask() -> None:
    """The gate asks about failures alone, and the rule takes none."""
    gate = {"key": "k", **only(check("result", "equals", "success", "hold")), "offers": ["approve", "rework"]}
    failed = {"when": {"all": [{"result": "failure"}, eval_("equals", "error")]}}
    of = ruled(
        {"when": {"any": [{"result": "success"}, {"result": "failure"}]}, "gates": ["k"]},
        failed,
        gates=[gate],
    )
    standing = FirstMatchAnalysis(of, of.station("a")).rule_liveness[1]
    assert standing.after_rework == "r1"
    assert standing.witness is not None
    assert standing.witness.situation["outcome"]["result"] == "failure"


def test_a_line_that_was_refuted_once_holds() -> None:
    """The fallback after a `compose` that fails, once a person demanded rework."""
    Claims(119834, Counter()).hold(60)
