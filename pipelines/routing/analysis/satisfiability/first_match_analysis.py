"""The first-match analysis of one station (law §10): exact, from the conditions that `decide` evaluates.

Which situations reach the rules (law §5, steps 3 to 6): result success, failure or cancelled with verdict
pass or fail and any eval; blocked, blocked, "blocked" of the fallback; blocked with verdict fail and any eval,
after exhausted `rework` signals. The forced success and failure routes lie within the first. Under
`failure_rules: no` failed ones do not reach them. Output that is not JSON needs no case of its own: a rule that
takes it has reached no `output` operand, so it takes the same situation without output, too.

After a gate of a rule has demanded rework, the rules are tested again as failure/fail/error without that rule.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property

from pipelines.routing.analysis.satisfiability.effort import EffortExhausted, spend_effort
from pipelines.routing.analysis.satisfiability.liveness import (
    DEAD,
    LIVE,
    SHADOWED,
    UNKNOWN,
    Liveness,
    Remainder,
    Shadow,
)
from pipelines.routing.analysis.satisfiability.questions import StationQuestions
from pipelines.routing.analysis.satisfiability.rework import may_demand_rework, reviewer_may_demand_rework
from pipelines.routing.analysis.satisfiability.rule_obstacles import is_always_stopped
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown
from pipelines.routing.analysis.satisfiability.situations import TestedSituation, Witness, rule_index
from pipelines.routing.analysis.satisfiability.statuses import STANDINGS
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences import part_names as named


class FirstMatchAnalysis:
    """Analysis of one station; everything is computed when it is first asked."""

    def __init__(self, line: ParsedLine, station: Station) -> None:
        self.line = line
        self.station = station
        self.readable = station.rules_above_first_faulty
        self._ask = StationQuestions(line, station)
        self._constants: dict[str, bool | None] = {}
        self._demanding: dict[str, bool] = {}

    @cached_property
    def rule_liveness(self) -> tuple[Liveness, ...]:
        """Standing of each rule, in order."""
        rule_states = [self._liveness_at(index) for index in range(len(self.readable))]
        faulty = self.station.rules[len(self.readable) :]
        return (
            *rule_states,
            *(Liveness(rule, UNKNOWN, why=self._unreadable_reason(rule)) for rule in faulty),
        )

    def _unreadable_reason(self, rule: Rule) -> str:
        return "the rule cannot be read" if rule.fault else "a rule above it cannot be read"

    def _liveness_at(self, index: int) -> Liveness:
        rule, earlier = self.readable[index], self.readable[:index]
        try:
            spend_effort(1 + index)
            walk = self._ask.find_matching_walk(
                [self._ask.rule_formula(rule), *self._ask.negated_rule_formulas(earlier)], rule
            )
        except Unknown as unknown:
            return Liveness(rule, UNKNOWN, why=str(unknown))
        except Impossible:
            return self._liveness_after_rework(rule, earlier)
        self._ask.walks[rule.id] = walk
        return self._reachable_liveness(rule, earlier, walk.to_witness())

    def _reachable_liveness(self, rule: Rule, earlier: tuple[Rule, ...], witness: Witness) -> Liveness:
        """Standing of a rule that can be taken: whether earlier ones take a part of it."""
        doubt = ""
        # A situation that was shown already spares the search.
        if any(self._ask.is_known_overlap(rule, other) for other in earlier):
            return Liveness(rule, SHADOWED, witness)
        for other in earlier:
            try:
                self._ask.check_overlap(rule, other)
                return Liveness(rule, SHADOWED, witness)
            except Impossible:
                continue
            except EffortExhausted as exhausted:
                return Liveness(rule, UNKNOWN, why=str(exhausted))
            except Unknown as unknown:
                words = _(
                    "rule %(rule)s: %(why)s", rule=named.rule_phrase(self.line, other.id), why=unknown.args[0]
                )
                doubt = doubt or Wording.of(f"{other.id}: {unknown}", words)
        return Liveness(rule, LIVE, witness, why=doubt)

    def shadows(self, rule: Rule, in_short: Container[str] = ()) -> tuple[Shadow, ...]:
        """Earlier rules that take something of it, each with one situation, the rules between them left out. Of
        those `in_short` only the first has one."""
        shadows: list[Shadow] = []
        earlier = self.readable[: rule_index(self.station.rules, rule)]
        for index, other in enumerate(earlier):
            try:
                spend_effort(1 + index)
                short = bool(shadows) and other.id in in_short
                if short and self._ask.is_known_overlap(rule, other):
                    shadows.append(Shadow(other.id))
                    continue
                walk = self._find_shadow_walk(rule, earlier, index)
                shadows.append(Shadow(other.id, None if short else walk.to_witness()))
            except EffortExhausted:
                break
            except (Impossible, Unknown):
                continue
        return tuple(shadows)

    def _find_shadow_walk(self, rule: Rule, earlier: tuple[Rule, ...], index: int) -> TestedSituation:
        """A situation that is true of the rule and that the earlier one of this index takes."""
        formulas = [
            self._ask.rule_formula(rule),
            self._ask.rule_formula(earlier[index]),
            *self._ask.negated_rule_formulas(earlier[:index]),
        ]
        return self._ask.find_matching_walk(formulas, earlier[index], also=rule)

    def outcomes_no_rule_takes(self, outcome_state: str) -> Remainder | None:
        """Outcomes that no rule takes of outcomes that passed, failed or blocked; None: proved to be nothing."""
        statuses = STANDINGS[outcome_state] & self._ask.statuses
        # A faulty rule makes the task stuck when it is reached: nothing goes past it to the policy.
        if not statuses or len(self.readable) < len(self.station.rules):
            return None
        try:
            walk = self._ask.find_matching_walk(
                self._ask.negated_rule_formulas(self.readable), None, statuses
            )
        except Impossible:
            return None
        except Unknown as unknown:
            return Remainder(outcome_state, why=str(unknown))
        return Remainder(outcome_state, walk.to_witness())

    def constant_truth_of_rule(self, rule: Rule) -> bool | None:
        """Tell whether the condition is true, or false, of everything that reaches the rules; None: it depends."""
        if rule.id not in self._constants:
            self._constants[rule.id] = self._compute_constant_truth_or_none(rule)
        return self._constants[rule.id]

    def _compute_constant_truth_or_none(self, rule: Rule) -> bool | None:
        """Situations that were shown need no proof that it is possible."""
        witnessed = self._ask.came_out
        try:
            if (rule.id, True) not in witnessed and self._ask.is_impossible_even_after_rework(
                [self._ask.rule_formula(rule)]
            ):
                return False
            if (rule.id, False) not in witnessed and self._ask.is_impossible_even_after_rework(
                self._ask.negated_rule_formulas([rule])
            ):
                return True
        except EffortExhausted:
            pass
        return None

    # Rules that fire only after a gate has demanded rework

    def _liveness_after_rework(self, rule: Rule, earlier: tuple[Rule, ...]) -> Liveness:
        doubt = ""
        # Where the forced failure comes to the rules by itself, only a rule above this one can stand in its way.
        for left_out in self.readable if self._ask.gate.decides_before_rules else earlier:
            try:
                walk = self._rework_walk(rule, earlier, left_out)
                return Liveness(rule, SHADOWED, walk.to_witness(), after_rework=left_out.id)
            except Impossible:
                continue
            except Unknown as unknown:
                doubt = str(unknown)
        try:
            if not doubt and self._may_follow_reworks(rule, earlier):
                doubt = "the rules may be tested again after the gates of several rules demanded rework"
        except Unknown as unknown:
            doubt = str(unknown)
        if doubt:
            return Liveness(rule, UNKNOWN, why=doubt)
        if self.constant_truth_of_rule(rule) is False:
            return Liveness(rule, DEAD, never=True)
        killers = self._ids_of_killing_rules(rule, earlier)
        if not killers:
            # No earlier rule is needed to keep it from matching, so its condition is never true.
            self._constants[rule.id] = False
            return Liveness(rule, DEAD, never=True)
        return Liveness(
            rule, DEAD, killers=killers, instead=self._killer_witness_or_none(rule, earlier, killers)
        )

    def _rework_walk(self, rule: Rule, earlier: tuple[Rule, ...], left_out: Rule) -> TestedSituation:
        if left_out is rule or not self._may_demand_rework(left_out):
            raise Impossible
        others = [other for other in earlier if other is not left_out]
        return self._ask.find_rework_walk(rule, others, left_out)

    def _may_follow_reworks(self, rule: Rule, earlier: tuple[Rule, ...]) -> bool:
        """Tell whether the rule may be taken once more than one other rule is left out: after a person's word the
        rules are tested anew (law §12), so the gate of another one may demand rework, too. Which ones is not looked
        for."""
        others = self.readable if self._ask.gate.decides_before_rules else earlier
        left_out = [other for other in others if other is not rule and self._may_demand_rework(other)]
        has_rework_gate = any(
            reviewer_may_demand_rework(self.line.gate(key)) for other in left_out for key in other.gates
        )
        if len(left_out) < 2 or not has_rework_gate:
            return False
        return self._ask.may_follow_reworks(rule, [other for other in earlier if other not in left_out])

    def _may_demand_rework(self, rule: Rule) -> bool:
        """Tell whether a gate of the rule may demand rework once the rule is taken."""
        if rule.id not in self._demanding:
            demanding = any(may_demand_rework(self.line.gate(key)) for key in rule.gates)
            self._demanding[rule.id] = demanding and not is_always_stopped(self.line, self.station, rule)
        return self._demanding[rule.id]

    # Killers

    def _ids_of_killing_rules(self, rule: Rule, earlier: tuple[Rule, ...]) -> tuple[str, ...]:
        """A smallest set in the sense that each of them is needed, as far as the work that is allowed goes."""
        needed = list(earlier)
        try:
            again = self._ask.is_impossible_even_after_rework(
                [self._ask.rule_formula(rule), *self._ask.negated_rule_formulas(earlier)]
            )
        except EffortExhausted:
            return tuple(killer.id for killer in needed)
        impossible = self._ask.is_impossible_even_after_rework if again else self._ask.is_impossible
        for candidate in earlier:
            without = tuple(other for other in needed if other is not candidate)
            try:
                if impossible([self._ask.rule_formula(rule), *self._ask.negated_rule_formulas(without)]):
                    needed = list(without)
            except EffortExhausted:
                break
        return tuple(killer.id for killer in needed)

    def _killer_witness_or_none(
        self, rule: Rule, earlier: tuple[Rule, ...], killers: tuple[str, ...]
    ) -> Witness | None:
        """A situation that is true of the rule and that one of its killers takes."""
        for index, other in enumerate(earlier):
            if other.id in killers:
                try:
                    spend_effort(1 + index)
                    return self._find_shadow_walk(rule, earlier, index).to_witness()
                except (Impossible, Unknown):
                    continue
        return None
