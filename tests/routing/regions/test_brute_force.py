"""Against brute force: nothing dead ever fires, every witness does what is claimed, nothing proved is false.

The same widely, with counts: `proof/soak/test_analysis.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import DEAD, UNKNOWN
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.decide.situation import read_situation
from tests.routing.regions.attacks import Attacker
from tests.routing.regions.drawing import any_stations, listed_stations
from tests.routing.regions.proving import fired, holds_against, line_of, starting_points

seeds = st.integers(0, 1_000)


def nothing_is_unknown(analysis: FirstMatchAnalysis) -> None:
    for standing in analysis.rule_liveness:
        assert (standing.status == UNKNOWN, standing.why) == (False, ""), standing
    for name in STANDINGS:
        rest = analysis.outcomes_no_rule_takes(name)
        assert rest is None or rest.witness is not None, rest


@pytest.mark.wide
@settings(max_examples=60, deadline=None, database=None)
@given(drawn=any_stations(), seed=seeds)
def test_what_is_claimed_of_any_station_holds_against_trying(drawn: dict[str, Any], seed: int) -> None:
    holds_against(drawn, 150, seed)


@settings(max_examples=60, deadline=None, database=None)
@given(drawn=listed_stations(), seed=seeds)
def test_of_what_is_listed_everything_is_decided_and_holds(drawn: dict[str, Any], seed: int) -> None:
    nothing_is_unknown(holds_against(drawn, 150, seed))


def test_a_rule_that_is_reached_when_the_gates_of_two_others_demanded_rework_is_not_dead() -> None:
    """A person's word at `g` leaves the first rule out, the checks of `h` then the second one, too."""
    drawn = {
        "rules": [
            {"when": {"output": {"path": "$.a", "op": "not_equals", "value": 1}}, "gates": ["g"]},
            {"when": {"output": {"path": "$.k", "op": "not_equals", "value": 1}}, "gates": ["h"]},
            {
                "when": {
                    "all": [{"output": {"path": "$.a", "op": "equals", "value": 2}}, {"result": "failure"}]
                }
            },
        ],
        "policy": {},
        "station": {"work": {"kind": "noop"}},
    }
    of = line_of(drawn)
    facts = {"gates": {"g": {"decision": "rework"}}}
    outcome = {"result": "failure", "eval": "ab", "output": {"a": 2, "k": 2}}
    assert fired(of, read_situation({"station": "a", "outcome": outcome, "facts": facts}))[-1] == "r3"
    assert [each.status == DEAD for each in FirstMatchAnalysis(of, of.station("a")).rule_liveness] == [
        False
    ] * 3


@pytest.mark.wide
def test_the_attacks_hit_what_can_be_hit() -> None:
    """Attacks that never hit anything would prove nothing: nine in ten of the rules that live are taken."""
    hits: list[bool] = []

    @settings(max_examples=40, deadline=None, database=None, derandomize=True)
    @given(drawn=listed_stations())
    def collect(drawn: dict[str, Any]) -> None:
        of = line_of(drawn)
        wanted = {
            s.rule.id for s in FirstMatchAnalysis(of, of.station("a")).rule_liveness if s.status != DEAD
        }
        attacker = Attacker(drawn["rules"], starting_points(drawn), 1)
        found = {rule for data in attacker.situations(400) for rule in fired(of, read_situation(data))}
        hits.extend(rule in found for rule in wanted)

    collect()
    assert sum(hits) >= 0.9 * len(hits), (sum(hits), len(hits))
