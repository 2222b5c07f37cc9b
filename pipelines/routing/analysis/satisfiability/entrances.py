"""Entrances by which an outcome comes to the rules of its station (law §5, steps 3 to 6), as formulas.

Without a station gate, and with one that nothing but a person's approval stands before, an outcome comes as recorded,
or as blocked. Otherwise the checks of the gate decide which outcomes come to the rules, and how:

- `passed`: the gate lets the outcome through as it is, by itself or once a person approved;
- `blocked`: the fallback goes past the gate;
- `signal`: `proceed` forces success, and keeps only the human step;
- `demanded`: a check, the tool, or a person who was asked demands rework: the forced failure;
- `exhausted`: once `rework` signals are used up the verdict is fail, and the gate is asked.

Each formula is a bound: whatever comes to the rules satisfies it. Where it says too little, which it does of results
that facts decide, of a review that a fact asks for and of what makes a sample ask, the decision itself has the last
word, as always.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from pipelines.routing.analysis.satisfiability import cells, choices
from pipelines.routing.analysis.satisfiability.check_groups import below_rank_formula
from pipelines.routing.analysis.satisfiability.formulas import (
    EVAL,
    FALSE,
    STATUS,
    TRUE,
    Conjunction,
    Disjunction,
    Formula,
    Literal,
    choice_literal,
    eval_literal,
    negated_formula,
    status_literal,
)
from pipelines.routing.analysis.satisfiability.recorded_fields import (
    BLOCKERS,
    EXIT_CODE,
    PAIRS,
    RECORDED_EVAL,
    RECORDED_STATUS,
    SIGNAL,
    UNFORCED,
    WORD,
    RecordedFields,
    bounds_of_check_fields,
)
from pipelines.routing.analysis.satisfiability.situation_bounds import COUPLED
from pipelines.routing.analysis.satisfiability.solver import Box
from pipelines.routing.analysis.satisfiability.statuses import (
    BLOCKED,
    EXHAUSTED,
    FORCED_FAILURE,
    PASSED,
    RECORDED,
    Statuses,
)
from pipelines.routing.document.algebra import FailureTypeTest, condition_leaf_tests
from pipelines.routing.document.checks import RANK, Check
from pipelines.routing.document.gates import Gate
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import Rule
from pipelines.routing.document.stations import Station

REWORK, HOLD = RANK["rework"], RANK["hold"]


@dataclass(frozen=True, slots=True)
class Entrance:
    """`seen`: results and verdicts that the rules see on it; `eval`: the only eval that they see, "" for any. `reach`:
    what is true of all that comes on it. `fields`: where the checks of gates of rules read what was recorded.

    `unforced`: where a check may still demand the forced failure; `reopens`: where the gate of the station can open
    at a rule, because nobody was asked at the station."""

    name: str
    seen: Statuses
    reach: tuple[Formula, ...] = ()
    eval: str = ""
    fields: RecordedFields = UNFORCED
    unforced: Formula = TRUE
    reopens: Formula = FALSE

    def box_for_statuses(self, among: Statuses) -> Box:
        box: Box = {STATUS: _status_choice(among)}
        if self.eval:
            box[EVAL] = eval_literal(self.eval).yes
        return box


class StationGate:
    """The gate in front of the rules of a station, as far as it changes what comes to them."""

    def __init__(self, line: ParsedLine, station: Station) -> None:
        self.line = line
        self.station = station
        self.gate = line.gate(station.gate) if station.gate is not None else None

    @cached_property
    def decides_before_rules(self) -> bool:
        """Tell whether anything else than an approval stands in front of the rules."""
        gate = self.gate
        if gate is None or gate.mode == "skip":
            return False
        # A gate of people that offers no approval lets nothing through as it is.
        return gate.enforces_checks or (gate.has_people and "approve" not in gate.offers)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Checks of all gates of the station whose checks count."""
        keys = dict.fromkeys((self.station.gate, *(key for rule in self.station.rules for key in rule.gates)))
        gates = (self.line.gates_by_key.get(key or "") for key in keys)
        return tuple(
            item
            for gate in gates
            if gate and gate.checks and gate.enforces_checks
            for item in gate.checks.checks()
        )

    @cached_property
    def failure_types(self) -> frozenset[str]:
        """The failure types that rules and checks name."""
        conditions = (
            leaf for rule in self.station.rules_above_first_faulty for leaf in condition_leaf_tests(rule.when)
        )
        names = {name for leaf in conditions if isinstance(leaf, FailureTypeTest) for name in leaf.types}
        for check in self.checks:
            if check.field == "failure_type":
                names |= {
                    item
                    for item in (check.value if type(check.value) is list else [check.value])
                    if type(item) is str
                }
        return frozenset(names)

    @cached_property
    def field_bounds(self) -> tuple[Formula, ...]:
        """Bounds of the fields that checks read, whatever was reported."""
        any_pair = choice_literal(RECORDED_STATUS, choices.ValueChoice(PAIRS))
        return (any_pair, *bounds_of_check_fields(self.checks, self.failure_types))

    @cached_property
    def reads_documents_apart(self) -> bool:
        """Tell whether conditions read context and output as one, and checks read one of them."""
        families = {check.field.partition(".")[0] for check in self.checks}
        return self.line.policy.condition_scope == "merged" and not families.isdisjoint(
            ("output", "meta", "context")
        )

    def _recorded_fields(self, *, passed: bool = False, apart: bool = False) -> RecordedFields:
        """`apart`: where the rules see another outcome than the recorded one."""
        outcome = (RECORDED_STATUS, RECORDED_EVAL) if apart else (STATUS, EVAL)
        return RecordedFields(*outcome, (self.station.gate or "") if passed else "", self.failure_types)

    @cached_property
    def entrances(self) -> tuple[Entrance, ...]:
        """The likeliest first."""
        return tuple(self._entrances() if self.decides_before_rules else self._open_entrances())

    @cached_property
    def detailed_entrances(self) -> tuple[Entrance, ...]:
        """Return the entrances with what the checks of the gates of rules read, for questions about rework."""
        return tuple(self._entrances(blocked=self._blocked_formulas()))

    def _open_entrances(self) -> Iterator[Entrance]:
        failures = RECORDED if self.line.policy.failure_rules else PASSED
        yield Entrance("recorded", failures | {BLOCKED}, (COUPLED,))
        # Blocked in result, fail in verdict: a blocked outcome after the last `rework` signal.
        yield Entrance("exhausted", frozenset([EXHAUSTED]), (COUPLED,))

    def _entrances(self, blocked: tuple[Formula, ...] = ()) -> Iterator[Entrance]:
        """`blocked`: what makes an outcome blocked, where it matters what else it says."""
        gate, failure_rules = self.gate, self.line.policy.failure_rules
        people = gate is not None and gate.has_people
        at_rule, apart = self._recorded_fields(passed=True), self._recorded_fields(passed=True, apart=True)
        passing = (
            *self.field_bounds,
            *self._direct_formulas(),
            self._passing_formula(self._recorded_fields()),
        )
        yield Entrance("passed", RECORDED if failure_rules else PASSED, passing, fields=at_rule)
        past = (*self.field_bounds, *blocked)
        yield Entrance("blocked", frozenset([BLOCKED]), past, "blocked", apart, unforced=FALSE, reopens=TRUE)
        if not people or "approve" in gate.offers or gate.sample is not None:  # type: ignore[union-attr]
            # No signal passes a human gate, so it needs a way through the people (law §5, step 3).
            proceed = (*self.field_bounds, choice_literal(SIGNAL, choices.choice_among("proceed")))
            yield Entrance("signal", PASSED, proceed, "ok", apart, FALSE, FALSE if people else TRUE)
        if failure_rules and gate is not None and gate.mode != "skip":
            by_word = choice_literal(WORD, choices.choice_among("rework"))
            reach = (*self.field_bounds, self._rework_demanded_formula(gate))
            yield Entrance("demanded", FORCED_FAILURE, reach, "error", apart, unforced=by_word)
        yield self._exhausted_entrance()

    def _blocked_formulas(self) -> tuple[Formula, ...]:
        by_word = choice_literal(
            RECORDED_STATUS, choices.ValueChoice(frozenset(p for p in PAIRS if "blocked" in p))
        )
        entrances: list[Formula] = [
            by_word,
            Literal(BLOCKERS, *cells.comparison_true_and_false_cells("gte", 1)),
        ]
        # With exit code 0 a required document that is missing blocks (law §5, step 4).
        if self.station.result_document == "required":
            missing = Literal(("cell", ()), cells.MISSING_ONLY, cells.PRESENT)
            entrances.append(
                Conjunction((Literal(EXIT_CODE, *cells.membership_true_and_false_cells([0])), missing))
            )
        return Disjunction(tuple(entrances)), choice_literal(SIGNAL, choices.choice_among(None))

    def _direct_formulas(self) -> tuple[Formula, ...]:
        """Neither a signal nor anything that blocks."""
        required = self.station.result_document == "required"
        there = Literal(("cell", ()), cells.PRESENT, cells.MISSING_ONLY)
        zero = Literal(EXIT_CODE, *cells.membership_true_and_false_cells([0]))
        return (
            choice_literal(SIGNAL, choices.choice_among(None)),
            Literal(BLOCKERS, *cells.membership_true_and_false_cells([0])),
            *([Disjunction((negated_formula(zero), there))] if required else []),
        )

    def _exhausted_entrance(self) -> Entrance:
        """The rules see the verdict fail; the checks see the recorded one."""
        every = {pair[0] for pair in PAIRS} if self.line.policy.failure_rules else {"blocked"}
        same = Disjunction(tuple(self._result_formula(result) for result in sorted(every)))
        fields = RecordedFields(RECORDED_STATUS, EVAL, "", self.failure_types)
        reach = (
            *self.field_bounds,
            choice_literal(SIGNAL, choices.choice_among("rework")),
            same,
            self._passing_formula(fields),
        )
        at_rule = replace(fields, passed=self.station.gate or "")
        return Entrance("exhausted", frozenset((result, "fail") for result in every), reach, fields=at_rule)

    @staticmethod
    def _result_formula(result: str) -> Formula:
        pairs = frozenset(pair for pair in PAIRS if pair[0] == result)
        return Conjunction(
            (
                status_literal(frozenset([(result, "fail")])),
                choice_literal(RECORDED_STATUS, choices.ValueChoice(pairs)),
            )
        )

    def _passing_formula(self, fields: RecordedFields) -> Formula:
        """The gate lets it through, perhaps once a person approved."""
        gate = self.gate
        if gate is None or gate.mode == "skip":
            return TRUE
        # The hold of a check asks a person, who may approve; rework and abort decide at once.
        if "approve" in gate.offers:
            return gate_below_rank_formula(gate, REWORK, fields)
        # Somebody is always asked and cannot approve; only a task that is not drawn gets past.
        if gate.has_people and gate.sample is None:
            return FALSE
        return gate_below_rank_formula(gate, HOLD, fields)

    def _rework_demanded_formula(self, gate: Gate) -> Formula:
        """Rework that is demanded by a check or the tool of the gate, or by a person who is asked at it."""
        fields = self._recorded_fields(apart=True)
        direct = Conjunction(
            (choice_literal(RECORDED_STATUS, choices.ValueChoice(RECORDED)), *self._direct_formulas())
        )
        opening = Disjunction((direct, choice_literal(SIGNAL, choices.choice_among("rework"))))
        rework = choice_literal(WORD, choices.choice_among("rework"))
        entrances: list[Formula] = [
            Conjunction((negated_formula(rework), opening, rework_demand_formula(gate, fields)))
        ]
        if "rework" in gate.offers:
            entrances.append(Conjunction((rework, opening, review_required_formula(gate, fields))))
            if gate.has_people:
                entrances.append(
                    Conjunction((rework, choice_literal(SIGNAL, choices.choice_among("proceed"))))
                )
        return Disjunction(tuple(entrances))


def gate_below_rank_formula(gate: Gate, rank: int, fields: RecordedFields) -> Formula:
    """Its checks and its tool ask for less than this rank."""
    parts: list[Formula] = []
    if gate.checks is not None and gate.enforces_checks:
        parts.append(below_rank_formula(gate.checks, rank, fields.passing_formula))
    if gate.tool is not None and gate.tool_actions:
        parts.append(_tool_below_literal(gate, rank))
    return Conjunction(tuple(parts)) if parts else TRUE


def _tool_below_literal(gate: Gate, rank: int) -> Formula:
    tool = gate.tool
    assert tool is not None
    words = ["pass"]
    if RANK[tool.action] < rank:
        words.append("fail")
    # A warning asks a person at most, and nobody where warnings are approved.
    if tool.approve_warnings or rank > HOLD:
        words.append("warn")
    every = frozenset(("pass", "warn", "fail"))
    return Literal(
        ("answer", tool.question(gate.key).key),
        choices.ValueChoice(frozenset(words)),
        choices.ValueChoice(every - set(words)),
    )


def rework_demand_formula(gate: Gate, fields: RecordedFields) -> Formula:
    """A check or the tool demands rework, and nothing anything worse."""
    return Conjunction(
        (
            gate_below_rank_formula(gate, RANK["abort"], fields),
            negated_formula(gate_below_rank_formula(gate, REWORK, fields)),
        )
    )


def review_required_formula(gate: Gate, fields: RecordedFields) -> Formula:
    """A person is asked."""
    person = TRUE if gate.has_people else negated_formula(gate_below_rank_formula(gate, HOLD, fields))
    return Conjunction((gate_below_rank_formula(gate, REWORK, fields), person))


# What the gates of a rule demand


def rule_rework_formula(
    line: ParsedLine, rule: Rule, entrance: Entrance, station_gate: str | None
) -> Formula:
    """Conditions under which a gate of the rule demands rework once the rule was taken: by a check or a tool, which no
    forced route may have gone before, or by a person who is asked. Checks of all gates come before all people."""
    gates = [line.gate(key) for key in rule.gates]
    calm = Conjunction(tuple(gate_below_rank_formula(gate, REWORK, entrance.fields) for gate in gates))
    by_check = Conjunction(
        (
            entrance.unforced,
            negated_formula(calm),
            *(gate_below_rank_formula(gate, RANK["abort"], entrance.fields) for gate in gates),
        )
    )
    # At the gate of the station a person was asked before; it opens at a rule only if not.
    by_word = [
        Conjunction((review_required_formula(gate, entrance.fields), entrance.reopens))
        if gate.key == station_gate
        else review_required_formula(gate, entrance.fields)
        for gate in gates
        if "rework" in gate.offers and gate.mode != "skip"
    ]
    return Disjunction((Conjunction((calm, Disjunction(tuple(by_word)))), by_check))


@lru_cache(maxsize=100)
def _status_choice(statuses: Statuses) -> choices.ValueChoice:
    return choices.ValueChoice(statuses)
