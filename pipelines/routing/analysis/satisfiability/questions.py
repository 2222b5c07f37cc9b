"""Questions about the rules of one station: each is a search, and what it showed is kept for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import takewhile
from typing import Any, TypeVar

from pipelines.routing.analysis.satisfiability.box_situations import build_situations
from pipelines.routing.analysis.satisfiability.choices import ValueChoice
from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.analysis.satisfiability.entrances import Entrance, StationGate, rule_rework_formula
from pipelines.routing.analysis.satisfiability.evals import EvalSet
from pipelines.routing.analysis.satisfiability.formulas import (
    EVAL,
    STATUS,
    Formula,
    condition_formula,
    eval_literal,
    negated_formula,
)
from pipelines.routing.analysis.satisfiability.recorded_fields import WORD, split_documents
from pipelines.routing.analysis.satisfiability.rule_obstacles import likeliest_origin_or_none
from pipelines.routing.analysis.satisfiability.search_failures import Impossible
from pipelines.routing.analysis.satisfiability.situation_bounds import (
    AT_FIRST,
    BETWEEN,
    edge_count_bounds,
    formula_at_stage,
    variable_at_first_stage,
)
from pipelines.routing.analysis.satisfiability.situations import (
    APPROVE,
    REWORK,
    TestedSituation,
    WalkClaim,
    check_true_of_all,
    find_claimed_walk,
)
from pipelines.routing.analysis.satisfiability.solver import (
    Box,
    first_accepted_result,
    first_answer_or_raise,
    is_impossible,
    is_proved_impossible,
)
from pipelines.routing.analysis.satisfiability.statuses import BLOCKED, FORCED_FAILURE, Statuses
from pipelines.routing.document.algebra import EdgeCountTest, OutputTest, condition_leaf_tests
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

T = TypeVar("T")
ERROR, BLOCKED_EVAL = eval_literal("error").yes, eval_literal("blocked").yes


class StationQuestions:
    """About one station. All raise Impossible (proved), Unknown or EffortExhausted where there is no situation to show.

    `walks`: of each rule that can be taken the situation that showed it. `came_out`: what rules came to when they were
    tested first, in any situation that was shown.
    """

    def __init__(self, line: ParsedLine, station: Station) -> None:
        self.line = line
        self.station = station
        self.readable = station.rules_above_first_faulty
        self.gate = StationGate(line, station)
        self.walks: dict[str, TestedSituation] = {}
        self.came_out: set[tuple[str, bool | str]] = set()
        self._formulas: dict[str, Formula] = {}
        self._negations: dict[str, Formula] = {}

    @cached_property
    def statuses(self) -> Statuses:
        """Results and verdicts that reach the rules."""
        return frozenset().union(*(entrance.seen for entrance in self.gate.entrances))

    def rule_formula(self, rule: Rule) -> Formula:
        if rule.id not in self._formulas:
            spend_effort(10)
            formula = condition_formula(rule.when)
            self._formulas[rule.id] = split_documents(formula) if self.gate.reads_documents_apart else formula
        return self._formulas[rule.id]

    def negated_rule_formulas(self, rules: Sequence[Rule]) -> list[Formula]:
        return list(map(self._negation, rules))

    def _negation(self, rule: Rule) -> Formula:
        if rule.id not in self._negations:
            self._negations[rule.id] = negated_formula(self.rule_formula(rule))
        return self._negations[rule.id]

    # Rules as they are tested first

    def find_matching_walk(
        self,
        formulas: Sequence[Formula],
        match: Rule | None,
        statuses: Statuses | None = None,
        also: Rule | None = None,
    ) -> TestedSituation:
        """Find a situation for which `decide` takes `match`, where `also` is true, too. None as `match`: no
        rule matches."""
        matches = None if match is None else (match,)

        def walk_with_match(box: Box, entrance: Entrance) -> TestedSituation:
            claim = WalkClaim(matches, _rework_or_approve_word(box), () if also is None else (also,))
            return find_claimed_walk(self.line, self._situations(box, entrance), claim)

        walk = self._first_entrance_answer(formulas, statuses, walk_with_match)
        # What was shown to come out needs no proof later that it is possible.
        self.came_out.update(walk.first_pass)
        return walk

    def _first_entrance_answer(
        self, formulas: Sequence[Formula], statuses: Statuses | None, accept: Callable[[Box, Entrance], T]
    ) -> T:
        """The result that was accepted at the first entrance on which anything was. Raises Impossible or Unknown."""
        counted = self._count_bounds(formulas)

        def accepted_at_entrance(entrance: Entrance) -> T:
            among = entrance.seen if statuses is None else entrance.seen & statuses
            if not among:
                raise Impossible
            reached = [*formulas, *entrance.reach, *counted]
            return first_accepted_result(
                reached, entrance.box_for_statuses(among), partial(_accept_at, accept, entrance)
            )

        return first_answer_or_raise(
            partial(accepted_at_entrance, entrance) for entrance in self.gate.entrances
        )

    def check_overlap(self, rule: Rule, other: Rule) -> None:
        """Check that some situation is true of both rules. Raises Impossible, Unknown or EffortExhausted where
        none is found."""

        def check_box_has_overlap(box: Box, entrance: Entrance) -> None:
            situations = self._situations(box, entrance)
            # Behind a gate that decides, only a walk of `decide` shows that it comes to the rules.
            if self.gate.decides_before_rules:
                find_claimed_walk(
                    self.line, situations, WalkClaim((), _rework_or_approve_word(box), (rule, other))
                )
            else:
                check_true_of_all(self.line, situations, (rule, other))

        self._first_entrance_answer(
            [self.rule_formula(rule), self.rule_formula(other)], None, check_box_has_overlap
        )

    def is_impossible(self, formulas: Sequence[Formula]) -> bool:
        """Proved: nothing that reaches the rules satisfies them all. Raises EffortExhausted."""
        return is_proved_impossible(lambda: self._first_entrance_answer(formulas, None, self._situations))

    def is_impossible_even_after_rework(self, formulas: Sequence[Formula]) -> bool:
        """The same also of what is tested again once the gate of a rule demanded rework."""
        if not self.is_impossible(formulas):
            return False
        if not self.gate.decides_before_rules or not any(rule.gates for rule in self.readable):
            return True
        every = [*formulas, *self._count_bounds(formulas)]
        return is_impossible(every, _FORCED[False], lambda box: box)

    def is_known_overlap(self, rule: Rule, other: Rule) -> bool:
        """Tell whether the situation that shows that `other` can be taken is true of `rule`."""
        return other.id in self.walks and self.walks[other.id].is_true_of(rule)

    # Rules that are tested again

    def may_follow_reworks(self, rule: Rule, others: Sequence[Rule]) -> bool:
        """Tell whether none of `others` takes from the rule all that comes back when rework is demanded."""
        then = [self.rule_formula(rule), *self.negated_rule_formulas(others)]
        again = [fallback for fallback in _FORCED if self._retests_rules(fallback)]
        return any(not self._is_refuted_on_retest(then, fallback) for fallback in again)

    def _is_refuted_on_retest(self, formulas: Sequence[Formula], fallback: bool) -> bool:
        """Tell whether nothing that is tested again satisfies them."""
        every = [*formulas, *edge_count_bounds(formulas)]
        return is_impossible(every, _FORCED[fallback], lambda box: box)

    def _retests_rules(self, fallback: bool) -> bool:
        """Tell whether rules are tested again as after a failure, or by the fallback where no rule takes that."""
        policy = self.line.policy
        return policy.on_failure == "fallback" if fallback else policy.failure_rules

    def find_rework_walk(self, rule: Rule, others: Sequence[Rule], left_out: Rule) -> TestedSituation:
        """`left_out` is taken first, one of its gates demands rework, and the rest of the rules, `others` before this
        one, is tested again: as after a failure, or by the fallback where the policy falls back from that."""
        return first_answer_or_raise(
            partial(self._rework_walk, rule, others, left_out, entrance, fallback)
            # After a failure first: the fallback follows only where no rule takes that.
            for fallback in (False, True)
            if self._retests_rules(fallback)
            for entrance in self.gate.detailed_entrances
        )

    def _rework_walk(
        self, rule: Rule, others: Sequence[Rule], left_out: Rule, entrance: Entrance, fallback: bool
    ) -> TestedSituation:
        before = self.readable[: self.readable.index(left_out)]
        then = [self.rule_formula(rule), *self.negated_rule_formulas(others)]
        demanded = rule_rework_formula(self.line, left_out, entrance, self.station.gate)
        composed = _compose_formulas(left_out)
        at_start = [
            formula_at_stage(formula)
            for formula in (
                self.rule_formula(left_out),
                *self.negated_rule_formulas(before),
                *entrance.reach,
                demanded,
                *composed,
            )
        ]
        if fallback and self.line.policy.failure_rules:
            at_start += [
                formula_at_stage(formula, BETWEEN)
                for formula in self._formulas_of_not_taken_by_others(left_out)
            ]
        start = (
            _BETWEEN
            | {
                variable_at_first_stage(variable): domain
                for variable, domain in entrance.box_for_statuses(entrance.seen).items()
            }
            | _FORCED[fallback]
        )

        def walk_after_rework(box: Box) -> TestedSituation:
            recorded = {
                **box,
                STATUS: box[variable_at_first_stage(STATUS)],
                EVAL: box.get(variable_at_first_stage(EVAL), EvalSet()),
            }
            bare = {v: domain for v, domain in recorded.items() if v[-1] not in (AT_FIRST, BETWEEN)}
            return find_claimed_walk(
                self.line,
                self._situations(bare, entrance),
                WalkClaim((left_out, rule), _rework_or_approve_word(box)),
            )

        return first_accepted_result(
            [*at_start, *then, *edge_count_bounds([*at_start, *then])], start, walk_after_rework
        )

    def _formulas_of_not_taken_by_others(self, left_out: Rule) -> list[Formula]:
        """No other rule takes it, or it comes to one whose `compose` can fail: those below that are not tested."""
        others = [rule for rule in self.readable if rule is not left_out]
        return self.negated_rule_formulas(list(takewhile(lambda rule: not rule.compose, others)))

    def _situations(self, box: Box, entrance: Entrance) -> list[dict[str, Any]]:
        apart = self.gate.reads_documents_apart
        return build_situations(
            self.line, self.station, box, entrance.fields, apart=apart, origin=self._origin
        )

    @cached_property
    def _origin(self) -> str | None:
        return likeliest_origin_or_none(self.line, self.station)

    def _count_bounds(self, formulas: Sequence[Formula]) -> list[Formula]:
        return edge_count_bounds(formulas) if self._reads_edges else []

    @cached_property
    def _reads_edges(self) -> bool:
        return any(
            isinstance(leaf, EdgeCountTest)
            for rule in self.readable
            for leaf in condition_leaf_tests(rule.when)
        )


def _accept_at(accept: Callable[[Box, Entrance], T], entrance: Entrance, box: Box) -> T:
    return accept(box, entrance)


def _compose_formulas(rule: Rule) -> Iterable[Formula]:
    """Conditions under which what the rule stores is found: else its gates are not asked."""
    return [
        condition_formula(OutputTest(entry.path, "exists"))
        for entry in rule.compose
        if entry.path and not entry.strategy
    ]


def _rework_or_approve_word(box: Box) -> str:
    """Word of a person at the gate of the station."""
    return REWORK if WORD in box and box[WORD].contains(REWORK) else APPROVE


@lru_cache(maxsize=100)
def _status_choice(statuses: Statuses) -> ValueChoice:
    return ValueChoice(statuses)


_FORCED: dict[bool, Box] = {
    False: {STATUS: _status_choice(FORCED_FAILURE), EVAL: ERROR},
    True: {STATUS: _status_choice(frozenset([BLOCKED])), EVAL: BLOCKED_EVAL},
}
"""What rules see when they are tested again: as after a failure, or by the fallback."""
_BETWEEN: Box = {(*variable, BETWEEN): domain for variable, domain in _FORCED[False].items()}
"""What they see before the fallback, after a failure."""
