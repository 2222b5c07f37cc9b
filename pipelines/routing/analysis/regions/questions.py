"""Questions about the rules of one station: each is a search, and what it showed is kept for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import takewhile
from typing import Any, TypeVar

from pipelines.routing.analysis.regions.choices import ValueChoice
from pipelines.routing.analysis.regions.effort import spend
from pipelines.routing.analysis.regions.entrances import Entrance, StationGate, rule_demands
from pipelines.routing.analysis.regions.evals import Evals
from pipelines.routing.analysis.regions.first_time import origin_of
from pipelines.routing.analysis.regions.formulas import (
    EVAL,
    STATUS,
    Formula,
    eval_is,
    formula_of,
    negation,
)
from pipelines.routing.analysis.regions.outcomes import Impossible
from pipelines.routing.analysis.regions.possible import AT_FIRST, BETWEEN, at_first, counts, first
from pipelines.routing.analysis.regions.recorded import WORD, read_apart
from pipelines.routing.analysis.regions.situations import (
    APPROVE,
    REWORK,
    ClaimedWalk,
    TestedSituation,
    first_walk,
    shown,
)
from pipelines.routing.analysis.regions.solver import Box, first_answer, is_impossible, is_refuted, solve
from pipelines.routing.analysis.regions.statuses import BLOCKED, FORCED_FAILURE, Statuses
from pipelines.routing.analysis.regions.written import witness
from pipelines.routing.document.algebra import EdgeTaken, OutputTest, leaves
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

T = TypeVar("T")
ERROR, BLOCKED_EVAL = eval_is("error").yes, eval_is("blocked").yes


class Questions:
    """About one station. All raise Impossible (proved), Unknown or EffortExhausted where there is no situation to show.

    `walks`: of each rule that can be taken the situation that showed it. `came_out`: what rules came to when they were
    tested first, in any situation that was shown.
    """

    def __init__(self, line: ParsedLine, station: Station) -> None:
        self.line = line
        self.station = station
        self.readable = station.readable
        self.gate = StationGate(line, station)
        self.walks: dict[str, TestedSituation] = {}
        self.came_out: set[tuple[str, bool | str]] = set()
        self._formulas: dict[str, Formula] = {}
        self._negations: dict[str, Formula] = {}

    @cached_property
    def statuses(self) -> Statuses:
        """Results and verdicts that reach the rules."""
        return frozenset().union(*(entrance.seen for entrance in self.gate.entrances))

    def of(self, rule: Rule) -> Formula:
        if rule.id not in self._formulas:
            spend(10)
            formula = formula_of(rule.when)
            self._formulas[rule.id] = read_apart(formula) if self.gate.reads_apart else formula
        return self._formulas[rule.id]

    def none_of(self, rules: Sequence[Rule]) -> list[Formula]:
        return list(map(self._not, rules))

    def _not(self, rule: Rule) -> Formula:
        if rule.id not in self._negations:
            self._negations[rule.id] = negation(self.of(rule))
        return self._negations[rule.id]

    # Rules as they are tested first

    def taken(
        self,
        formulas: Sequence[Formula],
        match: Rule | None,
        statuses: Statuses | None = None,
        also: Rule | None = None,
    ) -> TestedSituation:
        """A walk of `decide` in which `match` is the match, true of `also`, too; None: nothing matches."""
        matches = None if match is None else (match,)

        def accept(box: Box, entrance: Entrance) -> TestedSituation:
            claim = ClaimedWalk(matches, _word(box), () if also is None else (also,))
            return first_walk(self.line, self._situations(box, entrance), claim)

        walk = self._at_some_entrance(formulas, statuses, accept)
        # What was shown to come out needs no proof later that it is possible.
        self.came_out.update(walk.at_first)
        return walk

    def _at_some_entrance(
        self, formulas: Sequence[Formula], statuses: Statuses | None, accept: Callable[[Box, Entrance], T]
    ) -> T:
        """The result that was accepted at the first entrance on which anything was. Raises Impossible or Unknown."""
        counted = self._counts(formulas)

        def at(entrance: Entrance) -> T:
            among = entrance.seen if statuses is None else entrance.seen & statuses
            if not among:
                raise Impossible
            reached = [*formulas, *entrance.reach, *counted]
            return solve(reached, entrance.box(among), partial(_accepted, accept, entrance))

        return first_answer(partial(at, entrance) for entrance in self.gate.entrances)

    def both(self, rule: Rule, other: Rule) -> None:
        """Returns if some situation is true of both."""

        def accept(box: Box, entrance: Entrance) -> None:
            situations = self._situations(box, entrance)
            # Behind a gate that decides, only a walk of `decide` shows that it comes to the rules.
            if self.gate.decides:
                first_walk(self.line, situations, ClaimedWalk((), _word(box), (rule, other)))
            else:
                shown(self.line, situations, (rule, other))

        self._at_some_entrance([self.of(rule), self.of(other)], None, accept)

    def is_impossible(self, formulas: Sequence[Formula]) -> bool:
        """Proved: nothing that reaches the rules satisfies them all. Raises EffortExhausted."""
        return is_refuted(lambda: self._at_some_entrance(formulas, None, self._situations))

    def is_never(self, formulas: Sequence[Formula]) -> bool:
        """The same also of what is tested again once the gate of a rule demanded rework."""
        if not self.is_impossible(formulas):
            return False
        if not self.gate.decides or not any(rule.gates for rule in self.readable):
            return True
        every = [*formulas, *self._counts(formulas)]
        return is_impossible(every, _FORCED[False], lambda box: box)

    def shown_to_take(self, rule: Rule, other: Rule) -> bool:
        """Tell whether the situation that shows that `other` can be taken is true of `rule`."""
        return other.id in self.walks and self.walks[other.id].is_true_of(rule)

    # Rules that are tested again

    def after_several(self, rule: Rule, others: Sequence[Rule]) -> bool:
        """Tell whether none of `others` takes from the rule all that comes back when rework is demanded."""
        then = [self.of(rule), *self.none_of(others)]
        again = [fallback for fallback in _FORCED if self._comes_back(fallback)]
        return any(not self._is_refuted_again(then, fallback) for fallback in again)

    def _is_refuted_again(self, formulas: Sequence[Formula], fallback: bool) -> bool:
        """Tell whether nothing that is tested again satisfies them."""
        every = [*formulas, *counts(formulas)]
        return is_impossible(every, _FORCED[fallback], lambda box: box)

    def _comes_back(self, fallback: bool) -> bool:
        """Tell whether rules are tested again as after a failure, or by the fallback where no rule takes that."""
        policy = self.line.policy
        return policy.on_failure == "fallback" if fallback else policy.failure_rules

    def after_rework(self, rule: Rule, others: Sequence[Rule], left_out: Rule) -> TestedSituation:
        """`left_out` is taken first, one of its gates demands rework, and the rest of the rules, `others` before this
        one, is tested again: as after a failure, or by the fallback where the policy falls back from that."""
        return first_answer(
            partial(self._again, rule, others, left_out, entrance, fallback)
            # After a failure first: the fallback follows only where no rule takes that.
            for fallback in (False, True)
            if self._comes_back(fallback)
            for entrance in self.gate.starts
        )

    def _again(
        self, rule: Rule, others: Sequence[Rule], left_out: Rule, entrance: Entrance, fallback: bool
    ) -> TestedSituation:
        before = self.readable[: self.readable.index(left_out)]
        then = [self.of(rule), *self.none_of(others)]
        demanded = rule_demands(self.line, left_out, entrance, self.station.gate)
        composed = _composed(left_out)
        at_start = [
            at_first(formula)
            for formula in (self.of(left_out), *self.none_of(before), *entrance.reach, demanded, *composed)
        ]
        if fallback and self.line.policy.failure_rules:
            at_start += [at_first(formula, BETWEEN) for formula in self._untaken_but(left_out)]
        start = (
            _BETWEEN
            | {first(variable): domain for variable, domain in entrance.box(entrance.seen).items()}
            | _FORCED[fallback]
        )

        def accept(box: Box) -> TestedSituation:
            recorded = {**box, STATUS: box[first(STATUS)], EVAL: box.get(first(EVAL), Evals())}
            bare = {v: domain for v, domain in recorded.items() if v[-1] not in (AT_FIRST, BETWEEN)}
            return first_walk(
                self.line, self._situations(bare, entrance), ClaimedWalk((left_out, rule), _word(box))
            )

        return solve([*at_start, *then, *counts([*at_start, *then])], start, accept)

    def _untaken_but(self, left_out: Rule) -> list[Formula]:
        """No other rule takes it, or it comes to one whose `compose` can fail: those below that are not tested."""
        others = [rule for rule in self.readable if rule is not left_out]
        return self.none_of(list(takewhile(lambda rule: not rule.compose, others)))

    def _situations(self, box: Box, entrance: Entrance) -> list[dict[str, Any]]:
        apart = self.gate.reads_apart
        return witness(self.line, self.station, box, entrance.fields, apart=apart, origin=self._origin)

    @cached_property
    def _origin(self) -> str | None:
        return origin_of(self.line, self.station)

    def _counts(self, formulas: Sequence[Formula]) -> list[Formula]:
        return counts(formulas) if self._reads_edges else []

    @cached_property
    def _reads_edges(self) -> bool:
        return any(isinstance(leaf, EdgeTaken) for rule in self.readable for leaf in leaves(rule.when))


def _accepted(accept: Callable[[Box, Entrance], T], entrance: Entrance, box: Box) -> T:
    return accept(box, entrance)


def _composed(rule: Rule) -> Iterable[Formula]:
    """Conditions under which what the rule stores is found: else its gates are not asked."""
    return [
        formula_of(OutputTest(entry.path, "exists"))
        for entry in rule.compose
        if entry.path and not entry.strategy
    ]


def _word(box: Box) -> str:
    """Word of a person at the gate of the station."""
    return REWORK if WORD in box and box[WORD].holds(REWORK) else APPROVE


@lru_cache(maxsize=100)
def _choice(statuses: Statuses) -> ValueChoice:
    return ValueChoice(statuses)


_FORCED: dict[bool, Box] = {
    False: {STATUS: _choice(FORCED_FAILURE), EVAL: ERROR},
    True: {STATUS: _choice(frozenset([BLOCKED])), EVAL: BLOCKED_EVAL},
}
"""What rules see when they are tested again: as after a failure, or by the fallback."""
_BETWEEN: Box = {(*variable, BETWEEN): domain for variable, domain in _FORCED[False].items()}
"""What they see before the fallback, after a failure."""
