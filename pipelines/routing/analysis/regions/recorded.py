"""Fields that the checks of a gate read, as variables: the outcome as it was recorded, and facts of the task (law §6).

`output` and `facts` stand at the places that conditions read, too. Result, verdict and eval are those of the rules
where nothing replaced them before the rules, else variables of their own. What is opened again by a rule reads the word
at a gate that was passed on the way, so the fields `gates.…` are told apart by the opening.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.routing.analysis.regions import cells, choices, observed, texts
from pipelines.routing.analysis.regions.cells import Cell
from pipelines.routing.analysis.regions.check_groups import eval_passes, operator_of
from pipelines.routing.analysis.regions.formulas import (
    EVAL,
    FAILURE_TYPE,
    FALSE,
    STATUS,
    TRUE,
    Both,
    Either,
    Formula,
    Literal,
    Variable,
    at_places,
    choice,
    negation,
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
_NUMBER = cells.of_type("number")[0]


@dataclass(frozen=True, slots=True)
class RecordedFields:
    """`status`, `eval`: the variables of the outcome as recorded. `passed`: the gate that was passed on the way, whose
    word is read then. `types`: failure types that rules and checks name."""

    status: Variable = STATUS
    eval: Variable = EVAL
    passed: str = ""
    types: frozenset[str] = frozenset()

    def passes(self, check: Check) -> Formula:
        """Formula of a check that passes. Whatever it reads, an absent value fails it."""
        name = ALIASES.get(check.field, check.field)
        family, _, rest = name.partition(".")
        if name in ("result", "verdict"):
            at = ("result", "verdict").index(name)
            return choice(self.status, _those(check, ((pair, pair[at]) for pair in PAIRS)))
        if name == "eval":
            return eval_passes(operator_of(check), check, self.eval)
        if name == "signal":
            # `abort` and `hold` are decided before any check is read (law §5, step 3).
            return choice(SIGNAL, _those(check, ((word, word) for word in ("rework", "proceed"))))
        if name == "failure_type":
            return self._failure_type(check)
        if name in ("exit_code", "blockers", "run.attempt"):
            return Literal(("number", name), *cells.tested(operator_of(check), check.value))
        if family == "gates" and rest:
            variable = ("word", "passed" if rest == self.passed else "", rest)
            return choice(variable, _those(check, ((word, word) for word in WORDS)))
        if name in USAGE or (rest and family in FAMILIES):
            # `meta` is the name of the output in the dialect flux.
            return _in_a_document(check, "output" if family == "meta" else family, rest)
        return FALSE

    def _failure_type(self, check: Check) -> Formula:
        """Failure types by those that are named; any other one is a text of its own."""
        operator = operator_of(check)
        if operator == "exists":
            return choice(FAILURE_TYPE, choices.ValueChoice(None, frozenset([None])))
        names = self.types
        if operator in ("equals", "not_equals", "in"):
            values = check.value if operator == "in" else [check.value]
            words = frozenset(word for word in values if type(word) is str)
            if operator == "not_equals":
                return choice(FAILURE_TYPE, choices.ValueChoice(None, words | {None}))
            return choice(FAILURE_TYPE, choices.ValueChoice(words))
        if operator not in ("contains", "matches") or type(check.value) is not str:
            return FALSE
        test = texts.tested(operator, check.value)
        among = choices.ValueChoice(frozenset(name for name in names if test.yes.holds(name)))
        other = choice(FAILURE_TYPE, choices.ValueChoice(None, names | {None}))
        return Either((choice(FAILURE_TYPE, among), Both((other, Literal(TYPE_TEXT, test.yes, test.no)))))


UNFORCED = RecordedFields()
"""Where the rules see the outcome as it was recorded."""


def _those(check: Check, values: Iterable[tuple[object, str]]) -> choices.ValueChoice:
    """The values by which the check passes, found by trying each."""
    operator = OPERATORS[check.operator]
    return choices.ValueChoice(frozenset(at for at, value in values if operator(value, check.prepared)))


def _in_a_document(check: Check, family: str, rest: str) -> Formula:
    yes, no = cells.tested(operator_of(check), check.value)
    if family == "facts":
        place = tuple(rest.split("."))
        possible = observed.cell_at(place)
        yes, no = yes.meet(possible), no.meet(possible)
        if yes.is_empty or no.is_empty:
            return FALSE if yes.is_empty else TRUE
        return Literal(("fact", place), yes, no)
    parts = tuple(rest.split("."))
    places = ((rest,),) if len(parts) == 1 or family in FLAT else ((rest,), parts)
    formula = at_places(places, yes, no)
    return formula if family == "output" else _moved(formula, family)


def _moved(formula: Formula, family: str) -> Formula:
    """The same of places in another document than the output."""
    if isinstance(formula, Literal):
        return Literal((family, formula.variable[1]), formula.yes, formula.no)
    members = tuple(_moved(member, family) for member in formula.members)
    return Both(members) if isinstance(formula, Both) else Either(members)


def limits_of(checks: Iterable[Check], types: frozenset[str]) -> Iterator[Literal]:
    """Bounds of the fields before any check, whatever was reported."""
    names = {ALIASES.get(check.field, check.field) for check in checks}
    if "exit_code" in names:
        yield _limit(EXIT_CODE, _or_missing(_NUMBER))
    for variable in (BLOCKERS, RUN):
        if variable[1] in names:
            yield _limit(variable, cells.compared("gte", 0)[0])
    if "failure_type" in names:
        yield Literal(TYPE_TEXT, *_pair(texts.listed(types)))
    for name in sorted(names & set(USAGE)):
        key = name.partition(".")[2]
        kind = cells.PRESENT if key in ("driver", "provider", "model") else _NUMBER
        yield _limit(("usage", (key,)), _or_missing(_without_null(kind)))


def _pair(words: texts.Just) -> tuple[texts.TextSet, texts.TextSet]:
    return words.no, words.yes


def _limit(variable: Variable, cell: Cell) -> Literal:
    """It is never denied, so nothing is said of the opposite."""
    return Literal(variable, cell, cells.nothing()[0])


def _or_missing(cell: Cell) -> Cell:
    return Cell(True, cell.null, cell.booleans, cell.numbers, cell.texts, cell.lists, cell.objects)


def _without_null(cell: Cell) -> Cell:
    return Cell(cell.missing, False, cell.booleans, cell.numbers, cell.texts, cell.lists, cell.objects)


# Two documents where conditions read one


def read_apart(formula: Formula) -> Formula:
    """A condition in scope `merged` as one over the output and the context: a key of the document is the output's where
    the output is an object that has it, else the context's (law §3, Missing)."""
    if isinstance(formula, Literal):
        return _apart(formula) if formula.variable[0] == "cell" else formula
    members = tuple(map(read_apart, formula.members))
    return Both(members) if isinstance(formula, Both) else Either(members)


def _apart(literal: Literal) -> Formula:
    place = literal.variable[1]
    if not place:
        return _of_object(literal)
    key = place[0]
    if type(key) is not str:
        # In scope `merged` the document is an object, which has nothing at an index.
        return TRUE if literal.yes.missing else FALSE
    there = Literal(("cell", (key,)), cells.PRESENT, cells.MISSING_ONLY)
    in_context = Literal(("context", place), literal.yes, literal.no)
    return Either((Both((there, literal)), Both((negation(there), in_context))))


def _of_object(literal: Literal) -> Formula:
    """The document is always an object; which one is left open where an operator names one."""
    yes, no = (cell.objects for cell in (literal.yes, literal.no))
    if yes.is_empty or no.is_empty:
        return FALSE if yes.is_empty else TRUE
    return Literal(("document", ()), literal.yes, literal.no)
