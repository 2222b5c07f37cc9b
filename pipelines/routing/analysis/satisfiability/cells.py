"""Cells: what may stand at one place of a document, a set for each type, and whether there may be nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.satisfiability import choices, numbers, texts
from pipelines.routing.analysis.satisfiability.choices import ValueChoice
from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.analysis.satisfiability.frozen_values import Frozen, frozen_value
from pipelines.routing.analysis.satisfiability.numbers import NumberSet
from pipelines.routing.analysis.satisfiability.texts import TextSet
from pipelines.routing.basics.values import MISSING, exact_number, json_type
from pipelines.routing.document.operators import ALONE, ORDERED, OUTPUT


@dataclass(slots=True, unsafe_hash=True)
class ListSet:
    """`literals`, frozen, of which each `has` (sign true) or has not (false) the frozen members named."""

    literals: ValueChoice = choices.ANY
    has: frozenset[tuple[Frozen, bool]] = frozenset()

    @property
    def is_empty(self) -> bool:
        return self.literals.is_empty or any((member, not sign) in self.has for member, sign in self.has)

    def contains(self, frozen: Frozen) -> bool:
        return self.literals.contains(frozen) and _has_members(frozen, self.has)

    def intersection(self, other: ListSet) -> ListSet:
        if self is other or other is ANY_LIST or self is NO_LIST:
            return self
        if self is ANY_LIST or other is NO_LIST:
            return other
        literals, has = self.literals.intersection(other.literals), self.has | other.has
        # Finitely many lists are tested at once, which keeps `is_empty` exact.
        if literals.only is not None:
            return ListSet(
                ValueChoice(frozenset(literal for literal in literals.only if _has_members(literal, has)))
            )
        return ListSet(literals, has)


def _has_members(frozen: Frozen, has: frozenset[tuple[Frozen, bool]]) -> bool:
    return all((member in frozen[1]) == sign for member, sign in has)


NO_LIST = ListSet(choices.NONE)
ANY_LIST = ListSet()


@dataclass(slots=True, unsafe_hash=True)
class Cell:
    """`missing`, `null`: whether they are allowed; `objects` and the literals of `lists` are frozen."""

    missing: bool = True
    null: bool = True
    booleans: frozenset[bool] = frozenset([True, False])
    numbers: NumberSet = numbers.ANY
    texts: TextSet = texts.ANY
    lists: ListSet = ANY_LIST
    objects: ValueChoice = choices.ANY

    @property
    def is_empty(self) -> bool:
        return (
            not (self.missing or self.null or self.booleans)
            and self.numbers.is_empty
            and self.lists.is_empty
            and self.objects.is_empty
            # Last, as it may need a product of automata
            and self.texts.is_empty
        )

    def contains(self, json_value: Any) -> bool:
        if json_value is MISSING:
            return self.missing
        if json_value is None:
            return self.null
        is_a = json_type(json_value)
        if is_a == "boolean":
            return json_value in self.booleans
        if is_a == "number":
            return self.numbers.contains(exact_number(json_value))
        if is_a == "string":
            return self.texts.contains(json_value)
        return (self.lists if is_a == "array" else self.objects).contains(frozen_value(json_value))

    def intersection(self, other: Cell) -> Cell:
        if self is other or other is ANY:
            return self
        if self is ANY:
            return other
        return Cell(
            self.missing and other.missing,
            self.null and other.null,
            self.booleans & other.booleans,
            self.numbers.intersection(other.numbers),
            self.texts.intersection(other.texts),
            self.lists.intersection(other.lists),
            self.objects.intersection(other.objects),
        )


ANY = Cell()
_NOTHING = Cell(False, False, frozenset(), numbers.NONE, texts.NONE, NO_LIST, choices.NONE)


def _cell_of_given_parts(**parts: Any) -> Cell:
    """Nothing but the parts given."""
    every = {name: getattr(_NOTHING, name) for name in Cell.__slots__}
    return Cell(**{**every, **parts})


MISSING_ONLY = _cell_of_given_parts(missing=True)
PRESENT = Cell(missing=False)
OBJECTS = _cell_of_given_parts(objects=choices.ANY)
LISTS = _cell_of_given_parts(lists=ANY_LIST)

Pair = tuple[Cell, Cell]
"""A set and its complement."""


def swapped_pair(pair: Pair) -> Pair:
    return pair[1], pair[0]


def negated_operator_pair(pair: Pair) -> Pair:
    """A `not_…` operator: what is there and not in the set."""
    yes, no = pair
    # `not_…` of a missing value is false, too (law §3, Missing).
    return no.intersection(PRESENT), _cell_that_may_be_missing(yes)


def _cell_that_may_be_missing(cell: Cell) -> Cell:
    return Cell(True, cell.null, cell.booleans, cell.numbers, cell.texts, cell.lists, cell.objects)


def existence_true_and_false_cells() -> Pair:
    return PRESENT, MISSING_ONLY


def never_true_and_always_false_cells() -> Pair:
    return _NOTHING, ANY


def membership_true_and_false_cells(values: list[Any]) -> Pair:
    """Equal to one of them."""
    spend_effort(2 * len(values))
    by_kind: dict[str, list[Any]] = {}
    for value in values:
        by_kind.setdefault(json_type(value), []).append(value)
    number_set = numbers.finite_set(map(exact_number, by_kind.get("number", ())))
    text_sets = texts.text_sets_of_list(frozenset(by_kind.get("string", ())))
    arrays = ValueChoice(frozenset(map(frozen_value, by_kind.get("array", ()))))
    objects = ValueChoice(frozenset(map(frozen_value, by_kind.get("object", ()))))
    booleans = frozenset(by_kind.get("boolean", ()))
    yes = Cell(False, "null" in by_kind, booleans, number_set, text_sets.yes, ListSet(arrays), objects)
    no = Cell(
        True,
        "null" not in by_kind,
        frozenset([True, False]) - booleans,
        number_set.complement(),
        text_sets.no,
        ListSet(arrays.complement()),
        objects.complement(),
    )
    return yes, no


def comparison_true_and_false_cells(op: str, value: Any) -> Pair:
    # Order is for numbers; for anything else it is false (law §3).
    if json_type(value) != "number":
        return never_true_and_always_false_cells()
    number_set = numbers.comparison_set(op, exact_number(value))
    return _cell_of_given_parts(numbers=number_set), Cell(numbers=number_set.complement())


def containing_true_and_false_cells(part: Any) -> Pair:
    member = frozen_value(part)
    text_sets = (
        texts.true_and_false_text_sets("contains", part)
        if type(part) is str
        else texts.TextSetPair(texts.NONE, texts.ANY)
    )
    yes = _cell_of_given_parts(texts=text_sets.yes, lists=ListSet(has=frozenset([(member, True)])))
    return yes, Cell(texts=text_sets.no, lists=ListSet(has=frozenset([(member, False)])))


def text_test_true_and_false_cells(op: str, value: Any) -> Pair:
    """`starts_with`, `ends_with`, `matches`."""
    # These operators are for strings; of anything else they are false (law §3).
    if type(value) is not str:
        return never_true_and_always_false_cells()
    text_sets = texts.true_and_false_text_sets(op, value)
    return _cell_of_given_parts(texts=text_sets.yes), Cell(texts=text_sets.no)


def type_true_and_false_cells(name: str) -> Pair:
    part = {"null": "null", "boolean": "booleans", "number": "numbers", "string": "texts"}
    part |= {"array": "lists", "object": "objects"}
    full = {slot: getattr(ANY, slot) for slot in Cell.__slots__}
    none = {slot: getattr(_NOTHING, slot) for slot in Cell.__slots__}
    field = part[name]
    return Cell(**{**none, field: full[field]}), Cell(**{**full, field: none[field]})


_KNOWN = frozenset(
    ("equals", "in", "contains", "type", "starts_with", "ends_with", "matches", *ORDERED, *ALONE)
)


def can_express_operator(op: str) -> bool:
    """Tell whether `true_and_false_cells` can express an operator: those here, with a pattern, and what denies one
    of them."""
    base = op.removeprefix("not_")
    return base in _KNOWN or (base in OUTPUT and OUTPUT[base].pattern is not None)


def true_and_false_cells(op: str, value: Any) -> Pair:
    """Return where the operator is true of one node, and everywhere else, no node included."""
    if op.startswith("not_"):
        return negated_operator_pair(true_and_false_cells(op.removeprefix("not_"), value))
    if op in ALONE:
        return (
            existence_true_and_false_cells()
            if op == "exists"
            else swapped_pair(existence_true_and_false_cells())
        )
    if op in ("equals", "in"):
        return membership_true_and_false_cells(value if op == "in" else [value])
    if op == "contains":
        return containing_true_and_false_cells(value)
    if op == "type":
        return type_true_and_false_cells(value)
    return (
        comparison_true_and_false_cells(op, value)
        if op in ORDERED
        else text_test_true_and_false_cells(op, value)
    )
