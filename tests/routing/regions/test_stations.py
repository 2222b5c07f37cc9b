"""What is shown of a rule has been decided so, whatever stands in front of the rules."""

from __future__ import annotations

from typing import Any

from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from tests.routing.regions.support import analysed, eval_, output, statuses
from tests.routing.support import decided, ruled


def test_a_witness_of_exhausted_rework_signals_comes_with_the_fact() -> None:
    analysis = analysed({"verdict": "blocked"}, {"result": "blocked"})
    shown = analysis.rule_liveness[1].witness
    assert shown is not None
    assert shown.situation["outcome"]["signals"] == [{"verdict": "rework"}]
    assert shown.situation["facts"] == {"signal_reworks": 3}


def test_a_station_gate_in_front_does_not_hide_what_the_rules_do() -> None:
    checks = {"all": [{"field": "exit_code", "operator": "equals", "value": 0, "action": "abort"}]}
    gates = [{"key": "g", "mode": "auto", "checks": checks}]
    of = ruled({"when": {"result": "failure"}}, {}, station={"gate": "g"}, gates=gates)
    assert [s.status for s in FirstMatchAnalysis(of, of.station("a")).rule_liveness] == [
        "live",
        "partly shadowed",
    ]


def test_a_rule_taken_after_a_demanded_rework_shows_that_word() -> None:
    gate = {"key": "g", "offers": ["approve", "rework"]}
    of = ruled({"gates": ["g"]}, {"when": eval_("equals", "error"), "to": "c"}, gates=[gate])
    standing = FirstMatchAnalysis(of, of.station("a")).rule_liveness[1]
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
    assert [s.status for s in FirstMatchAnalysis(of, of.station("a")).rule_liveness] == [
        "live",
        "live",
        "dead",
    ]


def test_what_is_beyond_the_bound_is_unknown_and_says_so() -> None:
    conditions = [{"any": [output(f"k{i}", "gt", j) for i in range(8)]} for j in range(3)]
    hard = {"all": [{"not": output(f"$.f[*].k{i}", "gt", 1)} for i in range(3)]}
    assert set(statuses(*conditions, hard)) <= {"live", "partly shadowed", "unknown", "dead"}
    standing = analysed(output("k", "matches", "a{1000}b{900}")).rule_liveness[0]
    assert (standing.status, standing.why) == ("unknown", "the pattern is too large for an automaton")


def test_many_rules_at_one_station_are_analysed() -> None:
    rules = [output("k", "equals", f"v{i}") for i in range(60)]
    assert set(statuses(*rules)) == {"live"}


def test_what_is_not_said_follows_from_the_kind_of_work() -> None:
    """Of a hook that fails the eval is `failed`, elsewhere `error` (law §2)."""
    hook = {"work": {"kind": "hook", "argv": ["./x.sh"]}}
    for word in ("error", "failed"):
        when = {"all": [{"result": "failure"}, eval_("equals", word)]}
        assert statuses(when, station=hook) == ["live"]
        assert statuses(when) == ["live"]


def test_a_place_deeper_than_any_value_may_nest_is_unknown() -> None:
    standing = analysed(output("$" + ".a" * 150, "exists")).rule_liveness[0]
    assert (standing.status, standing.why) == ("unknown", "the output would be nested deeper than 100")


def test_a_part_is_said_to_be_taken_only_where_a_situation_shows_it() -> None:
    """Two wildcards are two free variables, but nothing is both there and missing."""
    analysis = analysed(
        output("$.f[*]", "exists"), output("$.f[*]", "missing"), output("$.f[*]", "equals", 1)
    )
    second, third = analysis.rule_liveness[1:]
    assert (second.status, second.why[:3]) == ("live", "r1:")
    assert analysis.shadows(second.rule) == ()
    assert (third.status, third.why) == ("unknown", NO_SITUATION)


NO_SITUATION = "no situation was found that `decide` takes so (a path with wildcards or filters, or a gate)"
