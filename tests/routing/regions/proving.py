"""Everything that the analysis of one station claims, held against `decide` on situations built to refute it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pipelines.routing.analysis.lint.run import lint_line
from pipelines.routing.analysis.satisfiability.effort import limiting_effort
from pipelines.routing.analysis.satisfiability.first_match_analysis import FirstMatchAnalysis
from pipelines.routing.analysis.satisfiability.liveness import DEAD, LIVE, UNKNOWN
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.basics.outcome import FORCED, DerivedOutcome
from pipelines.routing.decide.decide import decide
from pipelines.routing.decide.situation import Situation, read_situation
from pipelines.routing.decide.steps.routing_context import RoutingContext, TakenRoute
from pipelines.routing.document.algebra import condition_holds
from pipelines.routing.document.line import ParsedLine
from tests.routing.regions.attacks import Attacker
from tests.routing.regions.drawing import AT_STATION, BY_CHECK, BY_HAND, When
from tests.routing.support import ruled

UNITS = 3_000_000
"""Of work for one station, which is less than lint allows: about a second."""

counted: Counter[str] = Counter()
"""What was tried so far, for those who want to see it."""


def line_of(drawn: dict[str, Any]) -> ParsedLine:
    more = {"policy": drawn["policy"], "station": drawn["station"], "gates": [BY_HAND, BY_CHECK, AT_STATION]}
    return ruled(*drawn["rules"], flags={"agentic_conditions": True}, **more)


def starting_points(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    """Witnesses of each condition alone, of pairs of them, and of one without the other."""
    whens: list[When] = [rule["when"] for rule in drawn["rules"]]
    pairs = [{"all": [a, b]} for i, a in enumerate(whens) for b in whens[:i]]
    apart = [{"all": [a, {"not": b}]} for a, b in zip(whens[1:], whens, strict=False)]
    found = []
    for when in [*whens, *pairs, *apart]:
        alone = line_of({**drawn, "rules": [{"when": when}]})
        with limiting_effort(UNITS // 20):
            witness = FirstMatchAnalysis(alone, alone.station("a")).rule_liveness[0].witness
        found += [witness.situation] if witness else []
    return found


def fired(of: ParsedLine, situation: Situation) -> list[str]:
    """The rules that were true in the walks of one decision; `none` stands first where the first walk found none."""
    trace = decide(of, situation).trace
    tested = [e for e in trace if e.step == "rules" and e.rule and not e.why]
    count = len(of.station("a").rules)
    none = len(tested) >= count and not any(e.result for e in tested[:count])
    return (["none"] if none else []) + [str(e.rule) for e in tested if e.result is True]


def seen_by_rules(of: ParsedLine, case: RoutingContext) -> DerivedOutcome | None:
    """With which result, verdict and eval the rules are first tested; None: they are not."""
    outcome, recorded = case.situation.outcome, case.recorded
    word = outcome.deciding_signal["verdict"] if outcome.deciding_signal else None
    if word == "proceed":
        return FORCED["success"]
    if word == "rework":
        seen = recorded.with_verdict("fail")
    elif recorded.outcome_state == "blocked" or outcome.blockers:
        return FORCED["blocked"]
    else:
        seen = recorded
    return None if seen.outcome_state == "failed" and not of.policy.failure_rules else seen


def true_of(of: ParsedLine, situation: Situation) -> tuple[set[str], str] | None:
    """All rules whose condition holds, each by itself, and the standing of the outcome as they see it.

    None where the rules are not reached or output is no JSON.
    """
    case = RoutingContext(of, situation)
    seen = seen_by_rules(of, case)
    if seen is None or situation.outcome.output_error:
        return None
    view = case.condition_view(TakenRoute(seen))
    return {rule.id for rule in of.station("a").rules if condition_holds(rule.when, view)}, seen.outcome_state


def holds_against(drawn: dict[str, Any], attempts: int, seed: int = 0) -> FirstMatchAnalysis:
    """Raises AssertionError at the first claim that does not hold."""
    of = line_of(drawn)
    lint_line(of)
    with limiting_effort(UNITS):
        analysis = FirstMatchAnalysis(of, of.station("a"))
        _witnesses_do_what_is_claimed(of, analysis)
        claims = _Claims(of, analysis)
    attacker = Attacker(drawn["rules"], starting_points(drawn), seed)
    for data in attacker.situations(attempts):
        claims.hold_against(data)
    _count(analysis, attempts)
    return analysis


class _Claims:
    """What is said never to happen."""

    def __init__(self, of: ParsedLine, analysis: FirstMatchAnalysis) -> None:
        self.of = of
        standings = analysis.rule_liveness
        self.order = [s.rule.id for s in standings]
        self.dead = {s.rule.id for s in standings if s.status == DEAD}
        self.never = {s.rule.id for s in standings if s.never}
        self.alone = {s.rule.id for s in standings if s.status == LIVE and not s.why}
        self.always = {s.rule.id for s in standings if analysis.constant_truth_of_rule(s.rule) is True}
        self.never |= {s.rule.id for s in standings if analysis.constant_truth_of_rule(s.rule) is False}
        self.killers = {s.rule.id: set(s.killers) for s in standings if s.status == DEAD and not s.never}
        self.closed = {
            standing for standing in STANDINGS if analysis.outcomes_no_rule_takes(standing) is None
        }

    def hold_against(self, data: dict[str, Any]) -> None:
        situation = read_situation(data)
        found = fired(self.of, situation)
        assert not self.dead & set(found), (self.dead, data)
        told = true_of(self.of, situation)
        if told is None:
            return
        true, standing = told
        first = next((rule for rule in self.order if rule in true), "none")
        assert found[:1] == [first], (found, true, data)
        assert not true & self.never, (self.never, data)
        assert self.always <= true, (self.always, data)
        assert first != "none" or standing not in self.closed, (self.closed, data)
        self._nothing_is_shared(true, data)

    def _nothing_is_shared(self, true: set[str], data: dict[str, Any]) -> None:
        for index, rule in enumerate(self.order):
            if rule in true and rule in self.alone:
                assert not true & set(self.order[:index]), (rule, data)
            if rule in true and rule in self.killers:
                assert true & self.killers[rule], (rule, self.killers[rule], data)


def _witnesses_do_what_is_claimed(of: ParsedLine, analysis: FirstMatchAnalysis) -> None:
    for standing in analysis.rule_liveness:
        assert (standing.witness is None) == (standing.status in (DEAD, UNKNOWN)), standing
        if standing.witness is not None:
            expected = [standing.rule.id]
            if standing.after_rework:
                expected = [standing.after_rework, standing.rule.id]
            situation = read_situation(standing.witness.situation)
            assert fired(of, situation)[: len(expected)] == expected, standing
            _is_decided_as_shown(of, standing.witness)
    for name in STANDINGS:
        rest = analysis.outcomes_no_rule_takes(name)
        if rest is not None and rest.witness is not None:
            situation = read_situation(rest.witness.situation)
            assert fired(of, situation)[:1] == ["none"], rest
            told = true_of(of, situation)
            assert told == (set(), name), rest
            _is_decided_as_shown(of, rest.witness)
    for standing in analysis.rule_liveness:
        for shadow in analysis.shadows(standing.rule):
            assert shadow.witness is not None
            told = true_of(of, read_situation(shadow.witness.situation))
            assert told is not None
            assert {standing.rule.id, shadow.by} <= told[0], shadow


def _is_decided_as_shown(of: ParsedLine, witness: Any) -> None:
    shown = decide(of, read_situation(witness.situation)).to_dict()
    del shown["trace"]
    assert shown == witness.decision


def _count(analysis: FirstMatchAnalysis, attempts: int) -> None:
    counted["stations"] += 1
    counted["outcomes"] += attempts
    for standing in analysis.rule_liveness:
        counted["rules"] += 1
        counted[standing.status] += 1
    counted["witnesses"] += sum(s.witness is not None for s in analysis.rule_liveness)
    rests = [analysis.outcomes_no_rule_takes(name) for name in STANDINGS]
    counted["rests proved empty"] += rests.count(None)
    counted["rests with a witness"] += sum(rest is not None and rest.witness is not None for rest in rests)
    counted["rests unknown"] += sum(rest is not None and rest.witness is None for rest in rests)
