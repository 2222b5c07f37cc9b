"""A document whose places hold what their cells allow; or the proof that there is none.

Cells stand at the places of a tree: a name leads into an object, an index into a list. Types are tried one
after the other; a type is refused only where that is proved, so Impossible is a proof, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pipelines.routing.analysis.satisfiability import cells
from pipelines.routing.analysis.satisfiability.cells import Cell
from pipelines.routing.analysis.satisfiability.effort import spend_effort
from pipelines.routing.analysis.satisfiability.frozen_values import Frozen, frozen_value, thawed_value
from pipelines.routing.analysis.satisfiability.search_failures import Impossible, Unknown
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.basics.values import MAX_DEPTH, MISSING, check_storable
from pipelines.routing.basics.wording import Wording as _

Step = str | int
Place = tuple[Step, ...]

MAX_LENGTH = 40
"""Longest list that is built to satisfy conditions on its indices."""


@dataclass
class CellTree:
    cell: Cell = cells.ANY
    below: dict[Step, CellTree] = field(default_factory=dict)

    def subtree_at(self, place: Place) -> CellTree:
        tree = self
        for step in place:
            tree = tree.below.setdefault(step, CellTree())
        return tree

    def contains(self, value: Any) -> bool:
        if not self.cell.contains(value):
            return False
        return not self.below or all(t.contains(member_value(value, s)) for s, t in self.below.items())

    def intersection(self, other: CellTree) -> CellTree:
        below = dict(self.below)
        for step, tree in other.below.items():
            below[step] = below[step].intersection(tree) if step in below else tree
        return CellTree(self.cell.intersection(other.cell), below)


def member_value(value: Any, step: Step) -> Any:
    """Return what a singular JSONPath selects one step below."""
    if type(value) is dict:
        return value.get(step, MISSING)
    # Not isinstance: true is an int to Python, and no index of a path
    if type(value) is list and type(step) is int and -len(value) <= step < len(value):
        return value[step]
    return MISSING


def build_document(of: dict[Place, Cell]) -> Any:
    """A value, or MISSING: no document. Raises Impossible or Unknown."""
    tree = CellTree()
    for place, cell in of.items():
        # An outcome nests at most 100 deep (law §2).
        if len(place) > MAX_DEPTH and cell.contains(MISSING):
            continue  # nothing can be there
        if len(place) > MAX_DEPTH:
            raise Unknown(_("the output would be nested deeper than %(most)s", most=MAX_DEPTH))
        node = tree.subtree_at(place)
        node.cell = node.cell.intersection(cell)
    value = build_value(tree)
    if value is not MISSING:
        _check_storable(value)
    return value


def _check_storable(value: Any) -> None:
    """Raises Unknown for a value that no outcome may have: nested too deeply."""
    try:
        check_storable(value, "")
    except Malformed as fault:
        raise Unknown(_("the output would be %(fault)s", fault=fault.message)) from None


def build_value(tree: CellTree) -> Any:
    """Raises Impossible or Unknown."""
    spend_effort(20)
    doubt: Unknown | None = None
    # Text, number and the like have nothing below them, so everything there has to admit that.
    alone = not tree.below or all(below.contains(MISSING) for below in tree.below.values())
    for make in _MAKERS if alone else _AROUND:
        try:
            return make(tree)
        except Unknown as unknown:
            doubt = unknown
        except Impossible:
            continue
    raise doubt or Impossible


def _first_value_or_raise(values: Iterator[Any], *, complete: bool) -> Any:
    value = next(values, MISSING)
    if value is MISSING:
        raise Impossible if complete else Unknown("a number between two others could not be written")
    return value


def _build_missing(tree: CellTree) -> Any:
    if not tree.cell.missing:
        raise Impossible
    return MISSING


def _build_text(tree: CellTree) -> Any:
    return _first_value_or_raise(tree.cell.texts.samples(1), complete=True)


def _build_number(tree: CellTree) -> Any:
    return _first_value_or_raise(tree.cell.numbers.samples(), complete=tree.cell.numbers.is_empty)


def _build_boolean(tree: CellTree) -> Any:
    return _first_value_or_raise(iter(sorted(tree.cell.booleans, reverse=True)), complete=True)


def _build_null(tree: CellTree) -> Any:
    return _first_value_or_raise(iter([None] if tree.cell.null else []), complete=True)


def _admitted_literal(tree: CellTree, literals: frozenset[Frozen]) -> Any:
    for value in sorted(map(thawed_value, literals), key=repr):
        if tree.contains(value):
            return value
    raise Impossible


def _build_object(tree: CellTree) -> Any:
    allowed = tree.cell.objects
    if allowed.only is not None:
        return _admitted_literal(tree, allowed.only)
    # An object has nothing at an index.
    if not all(t.contains(MISSING) for s, t in tree.below.items() if type(s) is int):
        raise Impossible
    built = {step: build_value(below) for step, below in tree.below.items() if type(step) is str}
    value = {step: element for step, element in built.items() if element is not MISSING}
    # Further keys make the object none of the excluded ones; no condition names them.
    extra = (name for i in count() if (name := f"other{i or ''}") not in tree.below)
    while allowed.but and not allowed.contains(frozen_value(value)):
        value[next(extra)] = True
    return value


def _build_list(tree: CellTree) -> Any:
    lists = tree.cell.lists
    if lists.is_empty:
        raise Impossible
    if lists.literals.only is not None:
        return _admitted_literal(tree, lists.literals.only)
    # A list has nothing under a name.
    if not all(t.contains(MISSING) for s, t in tree.below.items() if type(s) is str):
        raise Impossible
    return _build_any_length(tree)


def _build_any_length(tree: CellTree) -> Any:
    """Lengths up to the one from which on all are alike: a place of its own for each index and each member."""
    indices = [step for step in tree.below if type(step) is int]
    required = [member for member, sign in sorted(tree.cell.lists.has, key=repr) if sign]
    enough = max([i + 1 for i in indices if i >= 0], default=0) + max(
        [-i for i in indices if i < 0], default=0
    )
    # One place for each required member, and one more that is free
    enough += len(required) + 1
    doubt = Unknown("an index is too large") if enough > MAX_LENGTH else None
    for length in range(min(enough, MAX_LENGTH) + 1):
        try:
            return _build_list_of_length(tree, length, required)
        except Unknown as unknown:
            doubt = unknown
        except Impossible:
            continue
    raise doubt or Impossible


def _build_list_of_length(tree: CellTree, length: int, required: list[Frozen]) -> Any:
    banned = [thawed_value(member) for member, sign in tree.cell.lists.has if not sign]
    usual = CellTree(cells.PRESENT.intersection(cells.membership_true_and_false_cells(banned)[1]))
    places: list[CellTree] = [usual] * length
    for step, below in tree.below.items():
        if type(step) is int and -length <= step < length:
            places[step] = places[step].intersection(below)
        elif type(step) is int and not below.contains(MISSING):
            raise Impossible
    excluded = [members for _, members in tree.cell.lists.literals.but if len(members) == length]
    return _place_members(places, required, usual, excluded)


def _place_members(
    places: list[CellTree], required: list[Frozen], usual: CellTree, excluded: list[tuple[Frozen, ...]]
) -> list[Any]:
    """The wanted members at places that admit them, free ones first; the other places filled."""
    spend_effort(30 + len(places))
    if not required:
        return _build_differing_list(places, excluded)
    first, doubt = thawed_value(required[0]), None
    # Places that no condition names come first (False sorts before True).
    for index in sorted(range(len(places)), key=lambda i: places[i] is not usual):
        if places[index].contains(first):
            pinned = CellTree(cells.membership_true_and_false_cells([first])[0])
            try:
                return _place_members(
                    places[:index] + [pinned] + places[index + 1 :], required[1:], usual, excluded
                )
            except Unknown as unknown:
                doubt = unknown
            except Impossible:
                continue
    raise doubt or Impossible


def _build_differing_list(places: list[CellTree], excluded: list[tuple[Frozen, ...]]) -> list[Any]:
    """A value for each place, so that the list is none of the excluded ones, which are as long.

    Either the first place holds what no excluded list begins with, or one of their beginnings, and the rest differs
    from the rest of those.
    """
    spend_effort(5 + len(excluded))
    if not excluded:
        return [build_value(place) for place in places]
    if not places:
        raise Impossible
    first, rest = places[0], places[1:]
    begun = sorted({members[0] for members in excluded}, key=repr)
    other = CellTree(cells.membership_true_and_false_cells(list(map(thawed_value, begun)))[1])
    doubt: Unknown | None = None
    try:
        return [build_value(first.intersection(other)), *map(build_value, rest)]
    except Unknown as unknown:
        doubt = unknown
    except Impossible:
        pass
    for begin in begun:
        try:
            still = [members[1:] for members in excluded if members[0] == begin]
            if first.contains(thawed_value(begin)):
                return [thawed_value(begin), *_build_differing_list(rest, still)]
        except Unknown as unknown:
            doubt = unknown
        except Impossible:
            continue
    raise doubt or Impossible


_AROUND: tuple[Callable[[CellTree], Any], ...] = (_build_object, _build_list)
"""What may hold something below it."""
_MAKERS: tuple[Callable[[CellTree], Any], ...] = (
    _build_missing,
    _build_text,
    _build_number,
    _build_boolean,
    _build_null,
    *_AROUND,
)
"""The simplest first: where nothing is needed, nothing is written."""
