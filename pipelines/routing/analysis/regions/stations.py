"""The first-match analysis of one station (law §10): exact, from the conditions that `decide` evaluates.

Which situations reach the rules (law §5, steps 3 to 6): result success, failure or cancelled with verdict
pass or fail and any eval; blocked, blocked, "blocked" of the fallback; blocked with verdict fail and any eval,
after exhausted `rework` signals. The forced success and failure routes lie within the first. Under
`failure_rules: no` failed ones do not reach them. Output that is not JSON needs no case of its own: a rule that
takes it has reached no `output` operand, so it takes the same situation without output, too.

After a gate of a rule has demanded rework, the rules are tested again as failure/fail/error without that rule.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.routing.analysis.regions.choices import ValueChoice
from pipelines.routing.analysis.regions.effort import EffortExhausted, spend
from pipelines.routing.analysis.regions.evals import Evals
from pipelines.routing.analysis.regions.formulas import EVAL, STATUS, Formula, eval_is, formula_of, negation
from pipelines.routing.analysis.regions.outcomes import Impossible, Unknown
from pipelines.routing.analysis.regions.possible import AT_FIRST, COUPLED, at_first, counts, first
from pipelines.routing.analysis.regions.situations import (
    BLOCKED,
    EXHAUSTED,
    TestedSituation,
    Witness,
    first_walk,
    position,
    true_of,
    witness,
)
from pipelines.routing.analysis.regions.solver import Box, Meets, is_impossible, solve
from pipelines.routing.basics.wording import Wording
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.algebra import EdgeTaken, leaves
from pipelines.routing.document.checks import RANK
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import Line
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station
from pipelines.routing.sentences import references as named

RECORDED = frozenset((r, v) for r in ("success", "failure", "cancelled") for v in ("pass", "fail"))
PASSED = frozenset([("success", "pass")])
FAILED = RECORDED - PASSED
STANDINGS = {"passed": PASSED, "failed": FAILED, "blocked": frozenset([BLOCKED, EXHAUSTED])}
FORCED_FAILURE = frozenset([("failure", "fail")])

LIVE, SHADOWED, DEAD, UNKNOWN = "live", "partly shadowed", "dead", "unknown"


@dataclass(frozen=True, slots=True)
class Shadow:
    """What an earlier rule takes of a later one. `witness`: one situation that is true of both, where it is kept."""

    by: str
    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class Liveness:
    """Of one rule. `witness`: a situation that it takes; `killers`: earlier rules that together leave it nothing, and
    `instead` a situation that it would take, were they not there.

    `why`: of an unknown one, what stood in the way; of a live one, of which earlier rule it is not known whether it
    takes a part of it, and what stood in the way.
    """

    rule: Rule
    status: str
    witness: Witness | None = None
    killers: tuple[str, ...] = ()
    why: str = ""
    never: bool = False
    after_rework: str | None = None
    instead: Witness | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """Situations that no rule takes. `standing`: passed, failed, blocked; `why`: where it is not known."""

    standing: str
    witness: Witness | None = None
    why: str = ""


class Analysis:
    """Of one station; everything is computed when it is first asked."""

    def __init__(self, line: Line, station: Station) -> None:
        self.line = line
        self.station = station
        self._meets = Meets()
        self._choices: dict[frozenset[tuple[str, str]], ValueChoice] = {}
        self._walks: dict[str, TestedSituation] = {}
        self._came_out: set[tuple[str, bool | str]] = set()
        self._formulas: dict[str, Formula] = {}
        self._negations: dict[str, Formula] = {}

    @cached_property
    def statuses(self) -> frozenset[tuple[str, str]]:
        """Results and verdicts that reach the rules."""
        rest = frozenset([BLOCKED, EXHAUSTED])
        return (RECORDED if self.line.policy.failure_rules else PASSED) | rest

    @cached_property
    def readable(self) -> tuple[Rule, ...]:
        """The rules above the first faulty one: there a decision stops."""
        rules = self.station.rules
        return rules[: next((i for i, rule in enumerate(rules) if rule.fault), len(rules))]

    @cached_property
    def standings(self) -> tuple[Liveness, ...]:
        """One for each rule, in order."""
        found = [self._standing(index) for index in range(len(self.readable))]
        faulty = self.station.rules[len(self.readable) :]
        return (*found, *(Liveness(rule, UNKNOWN, why=self._behind(rule)) for rule in faulty))

    def _behind(self, rule: Rule) -> str:
        return _("the rule cannot be read") if rule.fault else _("a rule above it cannot be read")

    def _standing(self, index: int) -> Liveness:
        rule, earlier = self.readable[index], self.readable[:index]
        try:
            spend(1 + index)
            walk = self._walks[rule.id] = self._search([self._of(rule), *map(self._not, earlier)], rule)
        except Unknown as unknown:
            return Liveness(rule, UNKNOWN, why=str(unknown))
        except Impossible:
            return self._not_at_first(rule, earlier)
        return self._beside(rule, earlier, walk.to_witness())

    def _beside(self, rule: Rule, earlier: tuple[Rule, ...], shown: Witness) -> Liveness:
        """Of a rule that can be taken: whether earlier ones take a part of it."""
        doubt = ""
        if any(self._walks[other.id].is_true_of(rule) for other in earlier if other.id in self._walks):
            return Liveness(rule, SHADOWED, shown)
        for other in earlier:
            try:
                self._overlap(rule, other)
                return Liveness(rule, SHADOWED, shown)
            except Impossible:
                continue
            except EffortExhausted as exhausted:
                return Liveness(rule, UNKNOWN, why=str(exhausted))
            except Unknown as unknown:
                words = _("rule %(rule)s: %(why)s", rule=named.rule(self.line, other.id), why=unknown.args[0])
                doubt = doubt or Wording.of(f"{other.id}: {unknown}", words)
        return Liveness(rule, LIVE, shown, why=doubt)

    def _overlap(self, rule: Rule, other: Rule) -> dict[str, Any]:
        """A situation that is true of both. Raises Impossible (proved) or Unknown."""
        return solve(
            [self._of(rule), self._of(other), COUPLED, *self._counts([self._of(rule), self._of(other)])],
            self._given(self.statuses),
            lambda box: true_of(self.line, witness(self.line, self.station, box), (rule, other))[0],
            self._meets,
        )

    def shadows(self, rule: Rule, in_short: Container[str] = ()) -> tuple[Shadow, ...]:
        """Earlier rules that take something of it, each with one situation, the rules between them left out. Of
        those `in_short` only the first has one."""
        found: list[Shadow] = []
        earlier = self.readable[: position(self.station.rules, rule)]
        for index, other in enumerate(earlier):
            try:
                spend(1 + index)
                short = bool(found) and other.id in in_short
                if short and other.id in self._walks and self._walks[other.id].is_true_of(rule):
                    found.append(Shadow(other.id))
                    continue
                formulas = [self._of(rule), self._of(other), *map(self._not, earlier[:index])]
                walk = self._search(formulas, other, also=(rule,))
                found.append(Shadow(other.id, None if short else walk.to_witness()))
            except EffortExhausted:
                break
            except (Impossible, Unknown):
                continue
        return tuple(found)

    def rest(self, standing: str) -> Rest | None:
        """What no rule takes of outcomes that passed, failed or blocked; None: proved to be nothing."""
        statuses = STANDINGS[standing] & self.statuses
        if not statuses or len(self.readable) < len(self.station.rules):
            return None
        try:
            walk = self._search(list(map(self._not, self.readable)), None, statuses)
        except Impossible:
            return None
        except Unknown as unknown:
            return Rest(standing, why=str(unknown))
        return Rest(standing, walk.to_witness())

    def constant(self, rule: Rule) -> bool | None:
        """Whether the condition is true, or false, of everything that reaches the rules; None: it depends."""
        if {(rule.id, True), (rule.id, False)} <= self._came_out:
            return None
        try:
            if self._is_impossible([self._of(rule)]):
                return False
            return True if self._is_impossible([self._not(rule)]) else None
        except EffortExhausted:
            return None

    # What is searched

    def _of(self, rule: Rule) -> Formula:
        if rule.id not in self._formulas:
            spend(10)
            self._formulas[rule.id] = formula_of(rule.when)
        return self._formulas[rule.id]

    def _not(self, rule: Rule) -> Formula:
        if rule.id not in self._negations:
            self._negations[rule.id] = negation(self._of(rule))
        return self._negations[rule.id]

    def _given(self, statuses: frozenset[tuple[str, str]]) -> Box:
        return {STATUS: self._choices.setdefault(statuses, ValueChoice(statuses))}

    def _search(
        self,
        formulas: Sequence[Formula],
        wanted: Rule | None,
        statuses: frozenset[tuple[str, str]] | None = None,
        also: tuple[Rule, ...] = (),
    ) -> TestedSituation:
        """A walk of `decide` in which `wanted` is the match, true of `also`, too. Raises Impossible or Unknown."""
        among = self.statuses if statuses is None else statuses
        try:
            walk = self._walk(formulas, wanted, among - {EXHAUSTED}, also)
        except Impossible:
            walk = self._walk(formulas, wanted, among & {EXHAUSTED}, also)
        self._came_out.update(walk.at_first)
        return walk

    def _walk(
        self,
        formulas: Sequence[Formula],
        wanted: Rule | None,
        among: frozenset[tuple[str, str]],
        also: tuple[Rule, ...],
    ) -> TestedSituation:
        if not among:
            raise Impossible
        return solve(
            [*formulas, COUPLED, *self._counts(formulas)],
            self._given(among),
            lambda box: first_walk(
                self.line, true_of(self.line, witness(self.line, self.station, box), also), wanted
            ),
            self._meets,
        )

    def _counts(self, formulas: Sequence[Formula]) -> list[Formula]:
        return counts(formulas) if self._reads_edges else []

    @cached_property
    def _reads_edges(self) -> bool:
        return any(isinstance(leaf, EdgeTaken) for rule in self.readable for leaf in leaves(rule.when))

    def _is_impossible(self, formulas: Sequence[Formula]) -> bool:
        """Proved: nothing that reaches the rules satisfies them all. Raises Exhausted."""
        return is_impossible(
            [*formulas, COUPLED, *self._counts(formulas)],
            self._given(self.statuses),
            lambda box: witness(self.line, self.station, box),
            self._meets,
        )

    # Rules that fire only after a gate has demanded rework

    def _not_at_first(self, rule: Rule, earlier: tuple[Rule, ...]) -> Liveness:
        doubt = ""
        if self.line.policy.failure_rules:
            for left_out in earlier:
                try:
                    walk = self._after_rework(rule, earlier, left_out)
                    return Liveness(rule, SHADOWED, walk.to_witness(), after_rework=left_out.id)
                except Impossible:
                    continue
                except Unknown as unknown:
                    doubt = str(unknown)
            try:
                if not doubt and self._after_several(rule, earlier):
                    doubt = _(
                        "the rules may be tested again after the gates of several rules demanded rework"
                    )
            except Unknown as unknown:
                doubt = str(unknown)
        if doubt:
            return Liveness(rule, UNKNOWN, why=doubt)
        if self.constant(rule) is False:
            return Liveness(rule, DEAD, never=True)
        killers = self._killers(rule, earlier)
        return Liveness(rule, DEAD, killers=killers, instead=self._instead(rule, earlier, killers))

    def _after_several(self, rule: Rule, earlier: tuple[Rule, ...]) -> bool:
        """Whether the rule may be taken once more than one earlier rule is left out: after a person's word the rules
        are tested anew (law §12), so the gate of another one may demand rework, too. Which ones is not looked for."""
        demanding = {
            other.id: [gate for key in other.gates if demands_rework(gate := self.line.gate(key))]
            for other in earlier
        }
        left_out = {key for key, gates in demanding.items() if gates}
        if len(left_out) < 2 or not any(_can_be_told(gate) for gates in demanding.values() for gate in gates):
            return False
        then = [self._of(rule), *(self._not(other) for other in earlier if other.id not in left_out)]
        given = {STATUS: ValueChoice(FORCED_FAILURE), EVAL: eval_is("error").yes}
        return not is_impossible(
            [*then, *counts(then)],
            given,
            lambda box: witness(self.line, self.station, box),
            self._meets,
        )

    def _after_rework(self, rule: Rule, earlier: tuple[Rule, ...], left_out: Rule) -> TestedSituation:
        """`left_out` is taken first, its gate demands rework, and the rest of the rules is tested again."""
        demanding = [gate for key in left_out.gates if demands_rework(gate := self.line.gate(key))]
        if not demanding:
            raise Impossible
        before = self.readable[: self.readable.index(left_out)]
        then = [self._of(rule), *(self._not(other) for other in earlier if other is not left_out)]
        at_start = [at_first(each) for each in (self._of(left_out), *map(self._not, before))]
        words = {gate.key: {"decision": "rework"} for gate in demanding if _can_be_told(gate)}
        given = {
            first(STATUS): ValueChoice(RECORDED | {EXHAUSTED}),
            STATUS: ValueChoice(FORCED_FAILURE),
            EVAL: eval_is("error").yes,
        }

        def accept(box: Box) -> TestedSituation:
            seen = {**box, STATUS: box[first(STATUS)], EVAL: box.get(first(EVAL), Evals())}
            bare = {variable: domain for variable, domain in seen.items() if variable[-1] != AT_FIRST}
            return first_walk(self.line, witness(self.line, self.station, bare, words), rule, left_out)

        return solve([*at_start, *then, *counts([*at_start, *then])], given, accept, self._meets)

    # Killers

    def _killers(self, rule: Rule, earlier: tuple[Rule, ...]) -> tuple[str, ...]:
        """A smallest set in the sense that each of them is needed, as far as the work that is allowed goes."""
        kept = list(earlier)
        for each in earlier:
            without = tuple(other for other in kept if other is not each)
            try:
                if self._is_impossible([self._of(rule), *map(self._not, without)]):
                    kept = list(without)
            except EffortExhausted:
                break
        return tuple(each.id for each in kept)

    def _instead(self, rule: Rule, earlier: tuple[Rule, ...], killers: tuple[str, ...]) -> Witness | None:
        """A situation that is true of the rule and that one of its killers takes."""
        for index, other in enumerate(earlier):
            if other.id in killers:
                formulas = [self._of(rule), self._of(other), *map(self._not, earlier[:index])]
                try:
                    spend(1 + index)
                    return self._search(formulas, other, also=(rule,)).to_witness()
                except (Impossible, Unknown):
                    continue
        return None


def demands_rework(gate: Gate) -> bool:
    """Whether a check or a person of the gate can demand rework."""
    by_check = gate.checks is not None and gate.enforces_checks
    return (
        "rework" in gate.tool_asks_for
        or _can_be_told(gate)
        or (
            by_check and any(c.action == "rework" for c in gate.checks.checks() if c.severity != "warn")  # type: ignore[union-attr]
        )
    )


def _can_be_told(gate: Gate) -> bool:
    held = (
        gate.checks is not None
        and gate.enforces_checks
        and any(RANK.get(c.action) for c in gate.checks.checks())
    )
    return (
        "rework" in gate.offers
        and gate.mode != "skip"
        and (gate.has_people or held or "hold" in gate.tool_asks_for)
    )


__all__ = [
    "DEAD",
    "LIVE",
    "SHADOWED",
    "STANDINGS",
    "UNKNOWN",
    "Analysis",
    "Liveness",
    "Rest",
    "Shadow",
    "demands_rework",
]
