"""Conditions as formulas over variables: each literal says that a variable lies in a set, and knows the opposite.

Variables: `status` (result and verdict), `eval`, `failure_type`, `cell` (a place of the document), `fact`, `edge`,
`answer` (of an evaluation), `opaque` (a condition on a path with wildcards or filters: true or false, free).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jsonpath_rfc9535.selectors import NameSelector

from pipelines.routing.analysis.satisfiability import cells, choices, fact_cells, numbers, texts
from pipelines.routing.analysis.satisfiability.documents import Place
from pipelines.routing.analysis.satisfiability.evals import EvalSet
from pipelines.routing.analysis.satisfiability.frozen_values import frozen_value
from pipelines.routing.basics import jsonpath
from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.values import exact_number, json_type
from pipelines.routing.document import operators
from pipelines.routing.document.algebra import (
    All,
    Always,
    AnswerTest,
    AnyOf,
    Condition,
    EdgeCountTest,
    EvalTest,
    FactTest,
    FailureTypeTest,
    Not,
    OutputTest,
    PathTest,
    ResultTest,
    VerdictTest,
)
from pipelines.routing.document.evaluations import WORDS
from pipelines.routing.document.paths import OutputPath

Variable = tuple[Any, ...]
Domain = Any
"""A set with `intersection`, `is_empty` and `contains`: Choice, Numbers, Evals or Cell."""

STATUS: Variable = ("status",)
EVAL: Variable = ("eval",)
FAILURE_TYPE: Variable = ("failure_type",)


SHARED, MAX_SHARED = 5_000, 300
"""Operands per process, and how long one may be, in characters."""


@dataclass(slots=True, unsafe_hash=True)
class OpaqueTest:
    """A condition that stays a free variable; the same condition is the same variable."""

    key: Variable
    test: PathTest = field(compare=False)

    @classmethod
    def from_test(cls, test: PathTest) -> OpaqueTest:
        root = "fact" if isinstance(test, FactTest) else "output"
        return cls((root, test.path.text, test.op, test.of, frozen_value(test.value)), test)


@dataclass(slots=True, unsafe_hash=True)
class Literal:
    """`variable` lies in `yes`; `no` is the complement."""

    variable: Variable
    yes: Domain
    no: Domain


@dataclass(slots=True, unsafe_hash=True)
class Conjunction:
    members: tuple[Formula, ...]


@dataclass(slots=True, unsafe_hash=True)
class Disjunction:
    members: tuple[Formula, ...]


Formula = Literal | Conjunction | Disjunction
# As in the algebra: an empty `all` is true, an empty `any` is false (law §12).
TRUE, FALSE = Conjunction(()), Disjunction(())


def negated_formula(formula: Formula) -> Formula:
    if isinstance(formula, Literal):
        return Literal(formula.variable, formula.no, formula.yes)
    members = tuple(map(negated_formula, formula.members))
    return Disjunction(members) if isinstance(formula, Conjunction) else Conjunction(members)


def condition_formula(condition: Condition) -> Formula:
    """True of exactly the situations of which the condition holds, evaluations answered and output readable."""
    if isinstance(condition, All):
        return Conjunction(tuple(map(condition_formula, condition.members)))
    if isinstance(condition, AnyOf):
        return Disjunction(tuple(map(condition_formula, condition.members)))
    if isinstance(condition, Not):
        return negated_formula(condition_formula(condition.inner))
    operand = _Operand(_operand_key(condition), condition)
    return (
        _formula_of_single_test(condition)
        if len(operand.words[-1]) > MAX_SHARED
        else _shared_literal(operand)
    )


@dataclass(slots=True, unsafe_hash=True)
class _Operand:
    """A condition by its words."""

    words: tuple[Any, ...]
    condition: Condition = field(compare=False)


def _operand_key(condition: Condition) -> tuple[Any, ...]:
    """The value is the last, as it is written: 1, 1.0 and true are three, although they are equal."""
    if isinstance(condition, PathTest):
        return type(condition), condition.path.text, condition.op, condition.of, repr(condition.value)
    if isinstance(condition, EvalTest):
        return EvalTest, condition.op, repr(condition.value)
    if isinstance(condition, AnswerTest):
        return AnswerTest, condition.evaluation.key, condition.answer
    return condition, ""


@lru_cache(maxsize=SHARED)
def _shared_literal(operand: _Operand) -> Formula:
    """Equal operands of all stations are one literal, so that what is known of its sets is known of each."""
    return _formula_of_single_test(operand.condition)


def _formula_of_single_test(condition: Condition) -> Formula:
    formula: Formula = _LITERALS[type(condition)](condition)
    return formula


def choice_literal(variable: Variable, allowed: choices.ValueChoice) -> Literal:
    return Literal(variable, allowed, allowed.complement())


def status_literal(pairs: frozenset[tuple[str, str]]) -> Literal:
    return choice_literal(STATUS, choices.ValueChoice(pairs))


def eval_literal(text: str) -> Literal:
    text_sets = texts.text_sets_of_list(frozenset([text]))
    return Literal(EVAL, EvalSet(text_sets.yes), EvalSet(text_sets.no))


def _formula_of_result_test(condition: ResultTest) -> Formula:
    return status_literal(frozenset((r, v) for r in condition.results for v in VERDICTS))


def _formula_of_verdict_test(condition: VerdictTest) -> Formula:
    return status_literal(frozenset((r, v) for r in RESULTS for v in condition.verdicts))


def _failure_type_literal(condition: FailureTypeTest) -> Formula:
    return choice_literal(FAILURE_TYPE, choices.choice_among(*condition.types))


def _formula_of_edge_count_test(condition: EdgeCountTest) -> Formula:
    enough = numbers.comparison_set("gte", condition.at_least)
    return Literal(("edge", f"{condition.source}->{condition.target}"), enough, enough.complement())


def _formula_of_answer_test(condition: AnswerTest) -> Formula:
    evaluation = condition.evaluation
    # Any other word is no answer, so these are all that there can be (law §3, Asking).
    no = frozenset(WORDS[evaluation.kind]) - {condition.answer}
    variable = ("answer", evaluation.key)
    return Literal(variable, choices.choice_among(condition.answer), choices.ValueChoice(no))


# eval


def _eval_formula(condition: EvalTest) -> Formula:
    if condition.bounds is not None:
        return _eval_number_literal(numbers.interval_set(*map(exact_number, condition.bounds)))
    if condition.op.startswith("not_"):
        return negated_formula(_eval_text_literal(condition.op.removeprefix("not_"), condition.value))
    if condition.op in operators.ORDERED:
        if json_type(condition.value) != "number":
            return FALSE
        return _eval_number_literal(numbers.comparison_set(condition.op, exact_number(condition.value)))
    return _eval_text_literal(condition.op, condition.value)


def _eval_number_literal(allowed: numbers.NumberSet) -> Formula:
    return Literal(EVAL, EvalSet(within=allowed), EvalSet(outside=allowed))


def _eval_text_literal(op: str, value: Any) -> Formula:
    if type(value) is not str:
        return FALSE
    text_sets = (
        texts.text_sets_of_list(frozenset([value]))
        if op == "equals"
        else texts.true_and_false_text_sets(op, value)
    )
    return Literal(EVAL, EvalSet(text_sets.yes), EvalSet(text_sets.no))


# output


def _output_formula(test: OutputTest) -> Formula:
    places = alternative_places_or_none(test.path)
    if places is None or not cells.can_express_operator(test.op):
        return Literal(
            ("opaque", OpaqueTest.from_test(test)), choices.choice_among(True), choices.choice_among(False)
        )
    if test.of == "count":
        return _count_formula(test, places)
    return formula_at_places(places, *cells.true_and_false_cells(test.op, test.value))


def _count_formula(test: PathTest, places: tuple[Place, ...]) -> Formula:
    """A singular path finds one node or none: the operator is asked about 1 and about 0."""
    translated = _count_true_and_false_cells(test)
    return (
        translated
        if isinstance(translated, Conjunction | Disjunction)
        else formula_at_places(places, *translated)
    )


def _count_true_and_false_cells(test: PathTest) -> cells.Pair | Conjunction | Disjunction:
    if test.op in operators.ALONE:
        return TRUE if test.op == "exists" else FALSE
    operator = operators.OUTPUT[test.op].holds
    there, not_there = operator(1, test.prepared), operator(0, test.prepared)
    # Neither 0 nor 1 node makes a difference, so nothing is left to ask.
    if there == not_there:
        return TRUE if there else FALSE
    return (
        cells.existence_true_and_false_cells()
        if there
        else cells.swapped_pair(cells.existence_true_and_false_cells())
    )


# facts


def _fact_formula(test: FactTest) -> Formula:
    """Return the formula of a fact test, as of the output; but what can be at each place is known, and a
    dotted key is never flat."""
    places = alternative_places_or_none(test.path)
    if places is None or not cells.can_express_operator(test.op):
        return Literal(
            ("opaque", OpaqueTest.from_test(test)), choices.choice_among(True), choices.choice_among(False)
        )
    place = places[-1]
    translated = (
        _count_true_and_false_cells(test)
        if test.of == "count"
        else cells.true_and_false_cells(test.op, test.value)
    )
    if isinstance(translated, Conjunction | Disjunction):
        return translated
    possible = fact_cells.possible_values_cell(place)
    yes, no = (cell.intersection(possible) for cell in translated)
    if yes.is_empty or no.is_empty:
        return FALSE if yes.is_empty else TRUE
    return Literal(("fact", place), yes, no)


def formula_at_places(places: tuple[Place, ...], yes: cells.Cell, no: cells.Cell) -> Formula:
    """The first of the places where there is anything decides; the last one decides also where there is nothing."""
    formula: Formula = Literal(("cell", places[-1]), yes, no)
    for place in reversed(places[:-1]):
        here = Literal(("cell", place), yes.intersection(cells.PRESENT), _cell_that_may_be_missing(no))
        formula = Disjunction(
            (here, Conjunction((Literal(("cell", place), cells.MISSING_ONLY, cells.PRESENT), formula)))
        )
    return formula


def _cell_that_may_be_missing(cell: cells.Cell) -> cells.Cell:
    return cells.swapped_pair(cells.negated_operator_pair((cell, cell)))[0]


@lru_cache(maxsize=20_000)
def alternative_places_or_none(path: OutputPath) -> tuple[Place, ...] | None:
    """The places of a singular path: of a dotted key the flat one, then the dotted one; None if not singular."""
    if path.is_key:
        parts = tuple(path.text.split("."))
        return ((path.text,),) if len(parts) == 1 else ((path.text,), parts)
    query = jsonpath.parse_query(path.text)
    if not query.singular_query():
        return None
    steps = [segment.selectors[0] for segment in query.segments]
    return (tuple(s.name if isinstance(s, NameSelector) else s.index for s in steps),)  # type: ignore[attr-defined]


_LITERALS: dict[type, Any] = {
    Always: lambda condition: TRUE,
    ResultTest: _formula_of_result_test,
    VerdictTest: _formula_of_verdict_test,
    FailureTypeTest: _failure_type_literal,
    EvalTest: _eval_formula,
    OutputTest: _output_formula,
    FactTest: _fact_formula,
    EdgeCountTest: _formula_of_edge_count_test,
    AnswerTest: _formula_of_answer_test,
}
