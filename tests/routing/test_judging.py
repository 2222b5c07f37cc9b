"""Law §13, Result from facts: the first fact that holds decides, whatever the work says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.decide.outcome_judgement import judge_outcome
from pipelines.routing.document.expected_results import FAILURES
from pipelines.routing.document.line import read_line
from pipelines.routing.document.model import ParsedLine
from tests.routing.support import goes, ruled, traced

PROUD = {"exit_code": 0, "verdict": "pass", "summary": "I made made.txt"}
UNCHANGED = {"git": {"files_changed": 0}}
CHANGED = {"git": {"files_changed": 1}}
SAME_FOLDER = {"agent": {"source": {"before": "p", "tree": "p"}}}
OTHER_FOLDER = {"agent": {"source": {"before": "p", "tree": "q"}}}
DENIED = {"commands": {"denied": 1}}
RULES = (
    {"id": "done", "when": {"result": "success"}, "to": "b"},
    {"id": "stopped", "when": {"result": "blocked"}, "to": "@blocked"},
    {"id": "again", "when": {"result": "failure"}, "to": "c"},
)


def of(**station: Any) -> ParsedLine:
    more = {key: station.pop(key) for key in ("gates", "limits_of_task") if key in station}
    limits = {"limits": more.pop("limits_of_task")} if "limits_of_task" in more else {}
    return ruled(*RULES, station=station, **more, **limits)


def by(line: ParsedLine, outcome: dict[str, Any], spent: Any = 0) -> str:
    return judge_outcome(line, line.stations[0], read_outcome(outcome), spent).by


COSTS = {"usage": {"cost_usd": 0.6, "price": "reported"}}
DECIDED = [
    ({"expects": "change"}, {**PROUD, "facts": CHANGED}, ""),
    ({"expects": "change"}, {**PROUD, "facts": UNCHANGED}, "nothing_done"),
    ({"expects": "change"}, {**PROUD, "facts": SAME_FOLDER}, "nothing_done"),
    ({"expects": "change"}, {**PROUD, "facts": OTHER_FOLDER}, ""),
    # A second visit that changed nothing of what the first one did; and one that took all of it back.
    ({"expects": "change"}, {**PROUD, "facts": {**CHANGED, **SAME_FOLDER}}, "nothing_done"),
    ({"expects": "change"}, {**PROUD, "facts": {**UNCHANGED, **OTHER_FOLDER}}, ""),
    ({"expects": "change"}, PROUD, ""),
    ({"expects": "change"}, {**PROUD, "facts": {**UNCHANGED, **DENIED}}, "denied"),
    # A denied step on the way to what was expected is nothing.
    ({"expects": "change"}, {**PROUD, "facts": {**CHANGED, **DENIED}}, ""),
    ({"expects": "nothing"}, {**PROUD, "facts": {**UNCHANGED, **DENIED}}, ""),
    ({"expects": "output"}, PROUD, "output_missing"),
    ({"expects": "output"}, {**PROUD, "output_error": "line 1"}, "output_missing"),
    ({"expects": "output"}, {**PROUD, "facts": DENIED}, "denied"),
    ({"expects": "output"}, {**PROUD, "output": None}, ""),
    ({"expects": "output"}, {**PROUD, "artifacts": [{"name": "plan.md"}]}, ""),
    ({"expects": "output"}, {**PROUD, "artifacts": [{"name": "plan.md", "error": "gone"}]}, "output_missing"),
    # A planner whose last grep found nothing has done its work.
    ({"expects": "output"}, {**PROUD, "output": 1, "facts": {"commands": {"failed": 1, "last_exit_code": 1}}}, ""),
    ({"artifacts": [{"path": "out/t.xml"}]}, PROUD, "output_missing"),
    ({"artifacts": [{"path": "out/t.xml"}]}, {**PROUD, "artifacts": [{"name": "t.xml"}]}, ""),
    ({"artifacts": [{"path": "out/t.xml", "required": False}]}, PROUD, ""),
    ({}, {**PROUD, "facts": {"agent": {"final_event": False}}}, "no_final_event"),
    ({}, {**PROUD, "facts": {"agent": {"final_event": True}}}, ""),
    ({}, {**PROUD, "facts": {"agent": {"provider": "unavailable", "final_event": False}}}, "provider_unavailable"),
    ({"limits": {"cost_usd": 0.5}}, {**PROUD, "facts": {**COSTS, "agent": {"final_event": False}}}, "budget_exceeded"),
    ({"limits": {"cost_usd": 0.6}}, {**PROUD, "facts": COSTS}, ""),
    ({"limits": {"cost_usd": 0.5}}, {**PROUD, "facts": {"usage": {"price": "none"}}}, ""),
    # A program that ended by itself when it reached its limit, as its worker saw.
    (
        {"limits": {"cost_usd": 0.6}, "expects": "change"},
        {"result": "failure", "failure_type": "budget_exceeded", "facts": {**COSTS, **UNCHANGED}},
        "budget_exceeded",
    ),
    # What was no work of the station is not judged: it was cancelled, or Gateline could not do it.
    ({"expects": "output"}, {"result": "cancelled", "reason": "lease_lost"}, ""),
    ({"expects": "output"}, {"result": "failure", "failure_type": "command_not_started"}, ""),
    ({"expects": "output"}, {"exit_code": 0, "failure_type": "no_space"}, "output_missing"),
    ({"expects": "change"}, {"result": "failure", "failure_type": "no_fixer", "facts": UNCHANGED}, ""),
    ({}, {**PROUD, "facts": {**UNCHANGED, **DENIED}}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("station", "outcome", "expected"), DECIDED)
def test_the_first_fact_that_holds_decides(station: Any, outcome: Any, expected: str) -> None:
    assert by(of(**station), outcome) == expected


def test_the_cost_of_the_task_so_far_counts_exactly() -> None:
    line, third = of(limits_of_task={"cost_usd": 1.2}), {**PROUD, "facts": {"usage": {"cost_usd": 0.4}}}
    assert [by(line, third, spent) for spent in (0, 0.4, 0.8, 0.81)] == ["", "", "", "budget_exceeded"]


def test_it_is_routed_as_the_fact_says_and_the_trace_names_it() -> None:
    line = of(expects="change")
    outcome = {**PROUD, "facts": UNCHANGED}
    assert goes(line, outcome) == "move c by rule again"
    first = traced(line, outcome)["trace"][0]
    assert (first["step"], first["why"]) == ("facts", "nothing_done counts as failure")
    assert first["saw"] == [{"operand": "fact", "path": "git.files_changed", "nodes": [0]}]
    assert goes(line, {**outcome, "facts": {**UNCHANGED, **DENIED}}) == "wait blocked stopped"


def test_what_was_reported_is_kept_as_a_claim_once() -> None:
    line = of(expects="change")
    found = judge_outcome(line, line.stations[0], read_outcome({**PROUD, "facts": UNCHANGED})).outcome
    assert (found.result, found.verdict, found.eval, found.failure_type) == (
        *("failure", "fail", "error"),
        "nothing_done",
    )
    assert found.facts["claims"] == {"made": [{"kind": "result", "said": {"verdict": "pass"}}]}
    again = judge_outcome(line, line.stations[0], found)
    assert (again.by, again.outcome) == ("nothing_done", found)


@pytest.mark.parametrize("kind", FAILURES)
def test_a_station_maps_each_of_them(kind: str) -> None:
    facts = {
        "budget_exceeded": {"usage": {"cost_usd": 2}},
        "provider_unavailable": {"agent": {"provider": "unavailable"}},
        "no_final_event": {"agent": {"final_event": False}},
        "denied": {**UNCHANGED, **DENIED},
        "nothing_done": UNCHANGED,
        "output_missing": CHANGED,
        "refused": {"output": {"refused": "I cannot."}},
        "unreadable_output": {"output": {"unreadable": "line 3"}},
        "empty_answer": {"output": {"empty": True}},
    }[kind]
    station = {
        "expects": "change",
        "limits": {"cost_usd": 1},
        "artifacts": [{"path": "a"}],
        "output_keys": ["k"],
    }
    if kind == "nothing_done":
        station["artifacts"] = []
    ways = {"success": "move b by rule done", "failure": "move c by rule again"}
    ways["blocked"] = "wait blocked stopped"
    for word, way in ways.items():
        line = of(**station, outcome_of={kind: word})
        assert goes(line, {**PROUD, "facts": facts}) == way


OF_OUTPUT = {
    "refused": {"refused": "I cannot."},
    "unreadable_output": {"unreadable": "line 3: no JSON"},
    "empty_answer": {"empty": True},
}
READERS: list[dict[str, Any]] = [
    {"output_keys": ["plan"]},
    {"expects": "output"},
    {"work": {"kind": "route", "by": "model", "prompt": "Which?"}},
]


@pytest.mark.parametrize("reader", READERS, ids=["keys", "expects", "route"])
@pytest.mark.parametrize(("kind", "seen"), OF_OUTPUT.items())
def test_what_was_observed_of_the_output_decides_where_somebody_reads_it(
    reader: dict[str, Any], kind: str, seen: dict[str, Any]
) -> None:
    outcome = {**PROUD, "facts": {"output": seen}, "artifacts": [{"path": "a"}]}
    assert by(of(**reader), outcome) == kind
    assert goes(of(**reader), outcome) == "move c by rule again"
    # A rule that asks for the output is a reader; where there is none, nothing is decided, and the trace names it.
    asks = {"when": {"not": {"any": [{"output": {"path": "high", "op": "exists"}}]}}, "to": "c"}
    assert by(ruled(asks), outcome) == kind
    assert by(of(), outcome) == ""
    named = traced(of(), outcome)["trace"][0]
    [(key, value)] = seen.items()
    assert (named["step"], named["why"]) == ("facts", f"{kind} decides nothing")
    assert named["saw"] == [{"operand": "fact", "path": f"output.{key}", "nodes": [value]}]


def test_published_before_it_is_named_and_decides_nothing() -> None:
    for reader in READERS:
        before = read_line(of(**reader).to_document(), revision=2)
        for kind, seen in OF_OUTPUT.items():
            outcome = {**PROUD, "facts": {"output": seen}, "output": {"plan": 1}}
            del outcome["output"]
            assert by(before, {**outcome, "artifacts": [{"path": "a"}]}) == ""
            assert f"{kind} decides nothing" in [each["why"] for each in traced(before, outcome)["trace"]]


def test_a_failure_of_its_own_and_output_that_was_read_beside_it_stand() -> None:
    line = of(output_keys=["plan"])
    for seen in OF_OUTPUT.values():
        facts = {"facts": {"output": seen}}
        assert by(line, {"exit_code": 3, **facts}) == ""
        assert by(line, {"result": "failure", "failure_type": "http_500", **facts}) == ""
        assert by(line, {"result": "blocked", **facts}) == ""
    unreadable = {"facts": {"output": OF_OUTPUT["unreadable_output"]}}
    assert by(line, {**PROUD, **unreadable, "output": {"plan": 1}}) == ""
    assert by(line, {**PROUD, **unreadable, "output_error": "line 3"}) == "unreadable_output"


def test_what_was_judged_before_is_judged_alike() -> None:
    line = of(output_keys=["plan"])
    for kind, seen in OF_OUTPUT.items():
        found = judge_outcome(line, line.stations[0], read_outcome({**PROUD, "facts": {"output": seen}}))
        again = judge_outcome(line, line.stations[0], found.outcome)
        assert (again.by, again.outcome) == (kind, found.outcome)


def test_the_line_of_a_signal_is_no_output() -> None:
    signal = {"flux:signal": {"verdict": "proceed"}}
    outcome = {**PROUD, "output": signal, "facts": {"output": {"signal": True}}}
    asks = {"id": "there", "when": {"output": {"path": "$", "op": "exists"}}, "to": "b"}
    line = ruled(asks, {"id": "none", "to": "c"})
    assert goes(line, outcome) == "move c by rule none"
    assert goes(read_line(line.to_document(), revision=2), outcome) == "move b by rule there"
    assert by(of(expects="output"), outcome) == "output_missing"


def test_an_error_that_an_agent_told_of_is_named_and_can_be_asked_for() -> None:
    asks = {"id": "error", "when": {"fact": {"path": "agent.error", "op": "exists"}}, "to": "c"}
    line = ruled(asks, {"id": "on", "to": "b"}, station={"output_keys": ["plan"]})
    outcome = {**PROUD, "facts": {"agent": {"error": "quota"}}}
    assert goes(line, outcome) == "move c by rule error"
    assert traced(line, outcome)["trace"][0]["why"] == "agent_error decides nothing"


def test_a_review_is_asked_at_the_gate_of_the_station() -> None:
    gates = [{"key": "g", "mode": "auto"}]
    line = of(expects="change", outcome_of={"nothing_done": "review"}, gate="g", gates=gates)
    outcome = {**PROUD, "facts": UNCHANGED}
    assert goes(line, {**PROUD, "facts": CHANGED}) == "move b by rule done"
    assert goes(line, outcome).startswith("wait awaiting_review")
    assert goes(line, outcome, gates={"g": {"decision": "approve"}}) == "move b by rule done"
    assert goes(line, outcome, gates={"g": {"decision": "abort"}}).startswith("finish failed")


def signal(verdict: str, **more: Any) -> dict[str, Any]:
    return {**PROUD, "facts": UNCHANGED, "signals": [{"verdict": verdict, **more}]}


def test_only_signals_that_do_not_praise_keep_their_effect() -> None:
    line = of(expects="change")
    jump = {"reason": "already_complete", "meta": {"targetState": "b"}}
    assert goes(line, signal("proceed")) == "move c by rule again"
    assert goes(line, signal("hold", **jump)) == "move c by rule again"
    assert goes(line, signal("abort")).startswith("finish failed")
    assert goes(line, signal("rework")) == "move a by signal"
    assert goes(line, signal("hold", reason="needs_human")) == "wait blocked"


def test_rules_and_checks_see_what_the_fact_made_of_it() -> None:
    rule = {"id": "idle", "when": {"failure_type": "nothing_done"}, "to": "c"}
    line = ruled(rule, {"id": "on"}, station={"expects": "change"})
    assert goes(line, {**PROUD, "facts": UNCHANGED}) == "move c by rule idle"
    claims = {"fact": {"path": "$.claims.made[?@.kind == 'result']", "op": "exists"}}
    told = ruled({"when": claims, "to": "c"}, {"id": "on"}, station={"expects": "change"})
    assert goes(told, {**PROUD, "facts": UNCHANGED}) == "move c by rule r1"


@pytest.mark.parametrize(
    "station", [{"expects": "output"}, {"artifacts": [{"path": "a"}]}, {"expects": "change"}]
)
def test_the_analysis_finds_situations_that_leave_what_is_expected(station: Any) -> None:
    line = of(**station)
    standings = FirstMatchAnalysis(line, line.stations[0]).rule_liveness
    assert [each.status for each in standings] == ["live"] * 3
    assert not [each for each in lint_line(line) if each.severity == "error"]
