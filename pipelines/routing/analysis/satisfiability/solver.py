"""Is there a point that satisfies all formulas? A tableau with forward checking, bounded.

Sets are only ever met, never subtracted: a literal that is not to hold is met with its complement. So every
branch is one set for each variable, and an empty one closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from pipelines.routing.analysis.satisfiability.effort import EffortExhausted, spend_effort
from pipelines.routing.analysis.satisfiability.formulas import (
    Conjunction,
    Disjunction,
    Domain,
    Formula,
    Literal,
    Variable,
    negated_formula,
)
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown

T = TypeVar("T")
Box = dict[Variable, Domain]
"""A set for each variable that is bound at all."""

MAX_BRANCHES = 1_500
MAX_CHOICES = 200
"""Choices one inside the other; they are levels of recursion."""
MAX_REMEMBERED = 20_000
"""Pairs of sets per process, of some hundred bytes each; then it begins anew."""
COST = 5
"""Of putting one formula into a box, in the units of `effort`."""


@dataclass(slots=True)
class DomainIntersection:
    """Intersection of two sets; `is_all`: it is the whole of the first."""

    common: Domain
    is_empty: bool
    is_all: bool


class IntersectionCache:
    """Cache of set intersections, by identity: questions about one station intersect the same sets again and
    again, and so do the stations of a line, because equal operands are one literal (`formulas`)."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[DomainIntersection, Domain, Domain]] = {}

    def intersection(self, before: Domain | None, other: Domain) -> DomainIntersection:
        """Return the cached intersection of both domains. `before`: None where the variable is not bound yet."""
        key = (id(before), id(other))
        cached = self._known.get(key)
        if cached is None:
            if len(self._known) >= MAX_REMEMBERED:
                self._known = {}
            cached = self._known[key] = (
                _domain_intersection(before, other),
                before,
                other,
            )  # which keeps their ids theirs
        return cached[0]


def _domain_intersection(before: Domain | None, other: Domain) -> DomainIntersection:
    if before is None:
        return DomainIntersection(other, other.is_empty, False)
    common = before.intersection(other)
    return DomainIntersection(common, common.is_empty, common is before or common == before)


MEETS = IntersectionCache()


@dataclass
class SearchState:
    """`accept` makes something of a box, or raises Impossible (go on) or Unknown (go on, but nothing is proved)."""

    branches: int = MAX_BRANCHES
    doubts: list[str] = field(default_factory=list)


def first_accepted_result(formulas: Iterable[Formula], box: Box, accept: Callable[[Box], T]) -> T:
    """Return the result of `accept` for the first box that it accepts. Raises Impossible (proved) or Unknown."""
    search = SearchState()
    try:
        return _solve(list(formulas), dict(box), accept, search, 0)
    except Impossible:
        if search.doubts:
            raise Unknown(search.doubts[0]) from None
        raise


def first_answer_or_raise(asks: Iterable[Callable[[], T]]) -> T:
    """Return the first answer to several questions. Raises Unknown where none has an answer and one of them
    is not proved to have none, else Impossible; EffortExhausted at once."""
    doubt: Unknown | None = None
    for ask in asks:
        try:
            return ask()
        except Impossible:
            continue
        except EffortExhausted:
            raise
        except Unknown as unknown:
            doubt = doubt or unknown
    raise doubt or Impossible


def is_proved_impossible(ask: Callable[[], object]) -> bool:
    """Proved; False also where nobody knows. Raises EffortExhausted."""
    try:
        ask()
    except Impossible:
        return True
    except EffortExhausted:
        raise
    except Unknown:
        return False
    return False


def is_impossible(formulas: Iterable[Formula], box: Box, accept: Callable[[Box], object]) -> bool:
    """Proved; False also where nobody knows. Raises EffortExhausted."""
    return is_proved_impossible(lambda: first_accepted_result(formulas, box, accept))


def _solve(todo: list[Formula], box: Box, accept: Callable[[Box], T], search: SearchState, depth: int) -> T:
    choices = _propagate_literals(todo, box)
    search.branches -= 1
    if search.branches < 0 or depth > MAX_CHOICES:
        raise Unknown("more cases than the bound allows")
    if not choices:
        return _accept_box(box, accept, search)
    # The fewest members first: fewer branches, and each may settle other choices.
    choices.sort(key=lambda choice: len(choice.members))
    first, rest = choices[0], choices[1:]
    before: list[Formula] = []
    for member in first.members:
        try:
            return _solve([member, *before, *rest], dict(box), accept, search, depth + 1)
        except Impossible:
            # Refuted, so it is false in all branches that follow: none is searched twice.
            before.append(negated_formula(member))
    raise Impossible


def _accept_box(box: Box, accept: Callable[[Box], T], search: SearchState) -> T:
    try:
        return accept(box)
    except Unknown as unknown:
        search.doubts.append(str(unknown))
        raise Impossible from None


def _propagate_literals(todo: list[Formula], box: Box) -> list[Disjunction]:
    """Everything without a choice put into the box; the choices that are left. Raises Impossible."""
    while True:
        choices: list[Disjunction] = []
        visited_count = 0
        while todo:
            formula = todo.pop()
            visited_count += 1
            if isinstance(formula, Literal):
                _bind_literal(formula, box)
            elif isinstance(formula, Conjunction):
                todo.extend(formula.members)
            else:
                choices.append(formula)
                visited_count += len(formula.members)
        spend_effort(COST * visited_count)
        left = []
        for choice in choices:
            open_members = _members_still_open_or_none_if_one_holds(choice, box)
            if open_members is None:
                continue
            if not open_members:
                raise Impossible
            if len(open_members) == 1:
                todo.append(open_members[0])
            else:
                left.append(Disjunction(open_members))
        if not todo:
            return left
        todo.extend(left)


def _bind_literal(literal: Literal, box: Box) -> None:
    """Raises Impossible where the box has become empty."""
    intersection = MEETS.intersection(box.get(literal.variable), literal.yes)
    if intersection.is_empty:
        raise Impossible
    box[literal.variable] = intersection.common


def _members_still_open_or_none_if_one_holds(choice: Disjunction, box: Box) -> tuple[Formula, ...] | None:
    """The members that may still hold; None if one holds anyhow."""
    open_members = []
    for member in choice.members:
        holds = _holds_in_box_or_none(member, box)
        if holds is True:
            return None
        if holds is None:
            open_members.append(member)
    return tuple(open_members)


def _holds_in_box_or_none(formula: Formula, box: Box) -> bool | None:
    """True: of the whole box. False: nowhere in it. None: not told."""
    if isinstance(formula, Literal):
        intersection = MEETS.intersection(box.get(formula.variable), formula.yes)
        return True if intersection.is_all else False if intersection.is_empty else None
    settles = isinstance(formula, Disjunction)
    spend_effort(COST * len(formula.members))
    verdict: bool | None = not settles
    for member in formula.members:
        holds = _holds_in_box_or_none(member, box)
        if holds is settles:
            return holds
        if holds is None:
            verdict = None
    return verdict
