"""What is asked about the rules of one station: each question is a search, and what it showed is kept for others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from pipelines.routing.analysis.regions.choices import ValueChoice
from pipelines.routing.analysis.regions.effort import spend
from pipelines.routing.analysis.regions.evals import Evals
from pipelines.routing.analysis.regions.formulas import EVAL, STATUS, Formula, eval_is, formula_of, negation
from pipelines.routing.analysis.regions.liveness import FORCED_FAILURE, PASSED, RECORDED
from pipelines.routing.analysis.regions.outcomes import Impossible
from pipelines.routing.analysis.regions.possible import AT_FIRST, COUPLED, at_first, counts, first
from pipelines.routing.analysis.regions.rework import can_be_told
from pipelines.routing.analysis.regions.situations import (
    BLOCKED,
    EXHAUSTED,
    TestedSituation,
    first_walk,
    shown,
    witness,
)
from pipelines.routing.analysis.regions.solver import Box, is_impossible, solve
from pipelines.routing.document.algebra import EdgeTaken, leaves
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import Line
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

Statuses = frozenset[tuple[str, str]]
"""Pairs of result and verdict."""
ERROR = eval_is("error").yes


class Questions:
    """About one station. All raise Impossible (proved), Unknown or EffortExhausted where there is no situation to show.

    `walks`: of each rule that can be taken the situation that showed it. `came_out`: what rules came to when they were
    tested first, in any situation that was shown.
    """

    def __init__(self, line: Line, station: Station) -> None:
        self.line = line
        self.station = station
        self.readable = station.readable
        self.walks: dict[str, TestedSituation] = {}
        self.came_out: set[tuple[str, bool | str]] = set()
        self._formulas: dict[str, Formula] = {}
        self._negations: dict[str, Formula] = {}

    @cached_property
    def statuses(self) -> Statuses:
        """Results and verdicts that reach the rules."""
        rest = frozenset([BLOCKED, EXHAUSTED])
        return (RECORDED if self.line.policy.failure_rules else PASSED) | rest

    def of(self, rule: Rule) -> Formula:
        if rule.id not in self._formulas:
            spend(10)
            self._formulas[rule.id] = formula_of(rule.when)
        return self._formulas[rule.id]

    def none_of(self, rules: Sequence[Rule]) -> list[Formula]:
        return list(map(self._not, rules))

    def _not(self, rule: Rule) -> Formula:
        if rule.id not in self._negations:
            self._negations[rule.id] = negation(self.of(rule))
        return self._negations[rule.id]

    def taken(
        self,
        formulas: Sequence[Formula],
        wanted: Rule | None,
        statuses: Statuses | None = None,
        also: Rule | None = None,
    ) -> TestedSituation:
        """A walk of `decide` in which `wanted` is the match, true of `also`, too; None: nothing matches."""
        among = self.statuses if statuses is None else statuses
        try:
            walk = self._walk(formulas, wanted, among - {EXHAUSTED}, also)
        except Impossible:
            walk = self._walk(formulas, wanted, among & {EXHAUSTED}, also)
        self.came_out.update(walk.at_first)
        return walk

    def _walk(
        self, formulas: Sequence[Formula], wanted: Rule | None, among: Statuses, also: Rule | None
    ) -> TestedSituation:
        if not among:
            raise Impossible
        return solve(
            [*formulas, COUPLED, *self._counts(formulas)],
            _given(among),
            lambda box: first_walk(self.line, self._situations(box), wanted, also=also),
        )

    def both(self, rule: Rule, other: Rule) -> None:
        """Whether some situation is true of both: returns where there is one."""
        formulas = [self.of(rule), self.of(other)]
        solve(
            [*formulas, COUPLED, *self._counts(formulas)],
            _given(self.statuses),
            lambda box: shown(self.line, self._situations(box), (rule, other)),
        )

    def is_impossible(self, formulas: Sequence[Formula]) -> bool:
        """Proved: nothing that reaches the rules satisfies them all. Raises EffortExhausted."""
        return is_impossible(
            [*formulas, COUPLED, *self._counts(formulas)], _given(self.statuses), self._situations
        )

    def shown_to_take(self, rule: Rule, other: Rule) -> bool:
        """Whether the situation that shows that `other` can be taken is true of `rule`."""
        return other.id in self.walks and self.walks[other.id].is_true_of(rule)

    def after_several(self, rule: Rule, others: Sequence[Rule]) -> bool:
        """Whether none of `others` takes from the rule all that comes back when rework is demanded."""
        then = [self.of(rule), *self.none_of(others)]
        given = {STATUS: _choice(FORCED_FAILURE), EVAL: ERROR}
        return not is_impossible([*then, *counts(then)], given, self._situations)

    def after_rework(
        self, rule: Rule, others: Sequence[Rule], left_out: Rule, demanding: Sequence[Gate]
    ) -> TestedSituation:
        """`left_out` is taken first, one of its gates `demanding` rework, and the rest of the rules, `others` before
        this one, is tested again."""
        before = self.readable[: self.readable.index(left_out)]
        then = [self.of(rule), *self.none_of(others)]
        at_start = [at_first(each) for each in (self.of(left_out), *self.none_of(before))]
        words = {gate.key: {"decision": "rework"} for gate in demanding if can_be_told(gate)}
        given = {
            first(STATUS): _choice(RECORDED | {EXHAUSTED}),
            STATUS: _choice(FORCED_FAILURE),
            EVAL: ERROR,
        }

        def accept(box: Box) -> TestedSituation:
            seen = {**box, STATUS: box[first(STATUS)], EVAL: box.get(first(EVAL), Evals())}
            bare = {variable: domain for variable, domain in seen.items() if variable[-1] != AT_FIRST}
            return first_walk(self.line, witness(self.line, self.station, bare, words), rule, left_out)

        return solve([*at_start, *then, *counts([*at_start, *then])], given, accept)

    def _situations(self, box: Box) -> list[dict[str, Any]]:
        return witness(self.line, self.station, box)

    def _counts(self, formulas: Sequence[Formula]) -> list[Formula]:
        return counts(formulas) if self._reads_edges else []

    @cached_property
    def _reads_edges(self) -> bool:
        return any(isinstance(leaf, EdgeTaken) for rule in self.readable for leaf in leaves(rule.when))


def _given(statuses: Statuses) -> Box:
    return {STATUS: _choice(statuses)}


@lru_cache(maxsize=100)
def _choice(statuses: Statuses) -> ValueChoice:
    return ValueChoice(statuses)
