"""What is shown of a rule has been decided so, whatever stands in front of the rules."""

from __future__ import annotations

from typing import Any

from pipelines.routing.regions.stations import Analysis
from tests.routing.regions.support import analysed, eval_, output, statuses
from tests.routing.support import decided, ruled


def test_a_witness_of_exhausted_rework_signals_comes_with_the_fact() -> None:
    analysis = analysed({"verdict": "blocked"}, {"result": "blocked"})
    shown = analysis.standings[1].witness
    assert shown is not None
    assert shown.situation["outcome"]["signals"] == [{"verdict": "rework"}]
    assert shown.situation["facts"] == {"signal_reworks": 3}


def test_a_station_gate_in_front_does_not_hide_what_the_rules_do() -> None:
    checks = {"all": [{"field": "exit_code", "operator": "equals", "value": 0, "action": "abort"}]}
    gates = [{"key": "g", "mode": "auto", "checks": checks}]
    of = ruled({"when": {"result": "failure"}}, {}, station={"gate": "g"}, gates=gates)
    assert [s.status for s in Analysis(of, of.station("a")).standings] == ["live", "partly shadowed"]


def test_a_rule_taken_after_a_demanded_rework_shows_that_word() -> None:
    gate = {"key": "g", "offers": ["approve", "rework"]}
    of = ruled({"gates": ["g"]}, {"when": eval_("equals", "error"), "to": "c"}, gates=[gate])
    standing = Analysis(of, of.station("a")).standings[1]
    assert standing.after_rework == "r1"
    assert standing.witness is not None
    given = standing.witness.situation
    assert decided(of, given["outcome"], **given["facts"])["rule"] == "r2"


def test_the_document_is_the_same_before_and_after_the_demand() -> None:
    gate = {"key": "g", "offers": ["approve", "rework"]}
    rules: list[dict[str, Any]] = [
        {"when": output("k", "gt", 5), "gates": ["g"]},
        {"when": output("k", "lt", 5)},
        {"when": {"all": [output("k", "lt", 3), {"result": "failure"}]}},
    ]
    of = ruled(*rules, gates=[gate])
    assert [s.status for s in Analysis(of, of.station("a")).standings] == ["live", "live", "dead"]


def test_what_is_beyond_the_bound_is_unknown_and_says_so() -> None:
    conditions = [{"any": [output(f"k{i}", "gt", j) for i in range(8)]} for j in range(3)]
    hard = {"all": [{"not": output(f"$.f[*].k{i}", "gt", 1)} for i in range(3)]}
    assert set(statuses(*conditions, hard)) <= {"live", "partly shadowed", "unknown", "dead"}
    standing = analysed(output("k", "matches", "a{1000}b{900}")).standings[0]
    assert (standing.status, standing.why) == ("unknown", "the pattern is too large for an automaton")


def test_many_rules_at_one_station_are_analysed() -> None:
    rules = [output("k", "equals", f"v{i}") for i in range(60)]
    assert set(statuses(*rules)) == {"live"}
