"""Fields that the checks of a gate read, as variables: the outcome as it was recorded, and facts of the task (law §6).

`output` and `facts` stand at the places that conditions read, too. Result, verdict and eval are those of the rules
where nothing replaced them before the rules, else variables of their own. What is opened again by a rule reads the word
at a gate that was passed on the way, so the fields `gates.…` are told apart by the opening.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.satisfiability import cells, choices, fact_cells, texts
from pipelines.routing.analysis.satisfiability.cells import Cell
from pipelines.routing.analysis.satisfiability.check_groups import (
    eval_check_passes_formula,
    operator_as_in_conditions,
)
from pipelines.routing.analysis.satisfiability.formulas import (
    EVAL,
    FAILURE_TYPE,
    FALSE,
    STATUS,
    TRUE,
    Conjunction,
    Disjunction,
    Formula,
    Literal,
    Variable,
    choice_literal,
    formula_at_places,
    negated_formula,
)
from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.decide.check_fields import ALIASES, FAMILIES, USAGE
from pipelines.routing.document.checks import OPERATORS, Check
from pipelines.routing.document.gates import WORDS

RECORDED_STATUS: Variable = ("recorded status",)
RECORDED_EVAL: Variable = ("recorded eval",)
SIGNAL: Variable = ("signal",)
"""The verdict of the signal that counts; None where there is none."""
WORD: Variable = ("word at the station gate",)
"""What a person says where the gate of the station asks: rework, or else to approve."""
BLOCKERS: Variable = ("number", "blockers")
RUN: Variable = ("number", "run.attempt")
EXIT_CODE: Variable = ("number", "exit_code")
TYPE_TEXT: Variable = ("failure type as text",)
"""What a failure type says that no rule and no check names."""
PAIRS = frozenset((result, verdict) for result in RESULTS for verdict in VERDICTS)
FLAT = ("usage", "input", "variables")
_NUMBER = cells.type_true_and_false_cells("number")[0]


@dataclass(frozen=True, slots=True)
class RecordedFields:
    """`status`, `eval`: the variables of the outcome as recorded. `passed`: the gate that was passed on the way, whose
    word is read then. `types`: failure types that rules and checks name."""

    status: Variable = STATUS
    eval: Variable = EVAL
    passed: str = ""
    types: frozenset[str] = frozenset()

    def passing_formula(self, check: Check) -> Formula:
        """Return the formula of the outcomes that pass the check. An absent value fails it."""
        name = ALIASES.get(check.field, check.field)
        family, _, rest = name.partition(".")
        if name in ("result", "verdict"):
            at = ("result", "verdict").index(name)
            return choice_literal(self.status, _passing_values(check, ((pair, pair[at]) for pair in PAIRS)))
        if name == "eval":
            return eval_check_passes_formula(operator_as_in_conditions(check), check, self.eval)
        if name == "signal":
            # `abort` and `hold` are decided before any check is read (law §5, step 3).
            return choice_literal(
                SIGNAL, _passing_values(check, ((word, word) for word in ("rework", "proceed")))
            )
        if name == "failure_type":
            return self._failure_type_formula(check)
        if name in ("exit_code", "blockers", "run.attempt"):
            return Literal(
                ("number", name), *cells.true_and_false_cells(operator_as_in_conditions(check), check.value)
            )
        if family == "gates" and rest:
            variable = ("word", "passed" if rest == self.passed else "", rest)
            return choice_literal(variable, _passing_values(check, ((word, word) for word in WORDS)))
        if name in USAGE or (rest and family in FAMILIES):
            # `meta` is the name of the output in the dialect flux.
            return _document_formula(check, "output" if family == "meta" else family, rest)
        return FALSE

    def _failure_type_formula(self, check: Check) -> Formula:
        """Failure types by those that are named; any other one is a text of its own."""
        operator = operator_as_in_conditions(check)
        if operator == "exists":
            return choice_literal(FAILURE_TYPE, choices.ValueChoice(None, frozenset([None])))
        names = self.types
        if operator in ("equals", "not_equals", "in"):
            values = check.value if operator == "in" else [check.value]
            words = frozenset(word for word in values if type(word) is str)
            if operator == "not_equals":
                return choice_literal(FAILURE_TYPE, choices.ValueChoice(None, words | {None}))
            return choice_literal(FAILURE_TYPE, choices.ValueChoice(words))
        if operator not in ("contains", "matches") or type(check.value) is not str:
            return FALSE
        test = texts.true_and_false_text_sets(operator, check.value)
        among = choices.ValueChoice(frozenset(name for name in names if test.yes.contains(name)))
        other = choice_literal(FAILURE_TYPE, choices.ValueChoice(None, names | {None}))
        return Disjunction(
            (choice_literal(FAILURE_TYPE, among), Conjunction((other, Literal(TYPE_TEXT, test.yes, test.no))))
        )


UNFORCED = RecordedFields()
"""Where the rules see the outcome as it was recorded."""


def _passing_values(check: Check, values: Iterable[tuple[object, str]]) -> choices.ValueChoice:
    """The values by which the check passes, found by trying each."""
    operator = OPERATORS[check.operator]
    return choices.ValueChoice(frozenset(at for at, value in values if operator(value, check.prepared)))


def _document_formula(check: Check, family: str, rest: str) -> Formula:
    yes, no = cells.true_and_false_cells(operator_as_in_conditions(check), check.value)
    if family == "facts":
        place = tuple(rest.split("."))
        possible = fact_cells.possible_values_cell(place)
        yes, no = yes.intersection(possible), no.intersection(possible)
        if yes.is_empty or no.is_empty:
            return FALSE if yes.is_empty else TRUE
        return Literal(("fact", place), yes, no)
    parts = tuple(rest.split("."))
    places = ((rest,),) if len(parts) == 1 or family in FLAT else ((rest,), parts)
    formula = formula_at_places(places, yes, no)
    return formula if family == "output" else _relocated_formula(formula, family)


def _relocated_formula(formula: Formula, family: str) -> Formula:
    """The same of places in another document than the output."""
    if isinstance(formula, Literal):
        return Literal((family, formula.variable[1]), formula.yes, formula.no)
    members = tuple(_relocated_formula(member, family) for member in formula.members)
    return Conjunction(members) if isinstance(formula, Conjunction) else Disjunction(members)


def bounds_of_check_fields(checks: Iterable[Check], types: frozenset[str]) -> Iterator[Literal]:
    """Bounds of the fields before any check, whatever was reported."""
    names = {ALIASES.get(check.field, check.field) for check in checks}
    if "exit_code" in names:
        yield _literal_without_opposite(EXIT_CODE, _cell_that_may_be_missing(_NUMBER))
    for variable in (BLOCKERS, RUN):
        if variable[1] in names:
            yield _literal_without_opposite(variable, cells.comparison_true_and_false_cells("gte", 0)[0])
    if "failure_type" in names:
        yield Literal(TYPE_TEXT, *_false_and_true_texts(texts.text_sets_of_list(types)))
    for name in sorted(names & set(USAGE)):
        key = name.partition(".")[2]
        kind = cells.PRESENT if key in ("driver", "provider", "model") else _NUMBER
        yield _literal_without_opposite(
            ("usage", (key,)), _cell_that_may_be_missing(_cell_without_null(kind))
        )


def _false_and_true_texts(words: texts.TextSetPair) -> tuple[texts.TextSet, texts.TextSet]:
    return words.no, words.yes


def _literal_without_opposite(variable: Variable, cell: Cell) -> Literal:
    """It is never denied, so nothing is said of the opposite."""
    return Literal(variable, cell, cells.never_true_and_always_false_cells()[0])


def _cell_that_may_be_missing(cell: Cell) -> Cell:
    return Cell(True, cell.null, cell.booleans, cell.numbers, cell.texts, cell.lists, cell.objects)


def _cell_without_null(cell: Cell) -> Cell:
    return Cell(cell.missing, False, cell.booleans, cell.numbers, cell.texts, cell.lists, cell.objects)


# Two documents where conditions read one


def split_documents(formula: Formula) -> Formula:
    """A condition in scope `merged` as one over the output and the context: a key of the document is the output's where
    the output is an object that has it, else the context's (law §3, Missing)."""
    if isinstance(formula, Literal):
        return _split_literal(formula) if formula.variable[0] == "cell" else formula
    members = tuple(map(split_documents, formula.members))
    return Conjunction(members) if isinstance(formula, Conjunction) else Disjunction(members)


def _split_literal(literal: Literal) -> Formula:
    place = literal.variable[1]
    if not place:
        return _object_formula(literal)
    key = place[0]
    if type(key) is not str:
        # In scope `merged` the document is an object, which has nothing at an index.
        return TRUE if literal.yes.missing else FALSE
    there = Literal(("cell", (key,)), cells.PRESENT, cells.MISSING_ONLY)
    in_context = Literal(("context", place), literal.yes, literal.no)
    return Disjunction((Conjunction((there, literal)), Conjunction((negated_formula(there), in_context))))


def _object_formula(literal: Literal) -> Formula:
    """The document is always an object; which one is left open where an operator names one."""
    yes, no = (cell.objects for cell in (literal.yes, literal.no))
    if yes.is_empty or no.is_empty:
        return FALSE if yes.is_empty else TRUE
    return Literal(("document", ()), literal.yes, literal.no)
