"""Possible values at a path of `facts`: its groups and keys are fixed (law §13), so every other path holds
nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.satisfiability import cells, numbers
from pipelines.routing.analysis.satisfiability.cells import Cell
from pipelines.routing.analysis.satisfiability.documents import Place
from pipelines.routing.basics.facts import COST_LIMITS, GROUPS, OF_SOURCE, PRICES, PROVIDER, SOURCE
from pipelines.routing.basics.values import exact_number

_COUNTED = numbers.comparison_set("gte", exact_number(0))
_OBJECT = cells.OBJECTS
_LIST = cells.LISTS


def _number_cell(number_set: numbers.NumberSet) -> Cell:
    return replace(cells.type_true_and_false_cells("number")[0], numbers=number_set)


_CELLS = {
    "count": _number_cell(_COUNTED),
    "whole": _number_cell(numbers.ANY),
    "amount": _number_cell(_COUNTED),
    "share": _number_cell(numbers.interval_set(exact_number(0), exact_number(100))),
    "text": cells.type_true_and_false_cells("string")[0],
    "texts": _LIST,
    "list": _LIST,
    "flag": cells.type_true_and_false_cells("boolean")[0],
    "price": cells.membership_true_and_false_cells(list(PRICES))[0],
    "cost limit": cells.membership_true_and_false_cells(list(COST_LIMITS))[0],
    "provider": cells.membership_true_and_false_cells(list(PROVIDER))[0],
}


def possible_values_cell(place: Place) -> Cell:
    """Return the cell of possible values at this place, or only `missing`."""
    if not place:
        return _OBJECT
    if place[0] == "stations":
        # `stations.<key>.<group>…`: below the key stand the groups that an outcome has (law §13).
        return _cell_that_may_be_missing(_OBJECT if len(place) < 3 else possible_values_cell(place[2:]))
    keys = GROUPS.get(place[0]) if type(place[0]) is str else None
    if keys is None:
        return cells.MISSING_ONLY
    if len(place) > 1 and place[1] == SOURCE:
        return _group_cell(place[1:], OF_SOURCE)
    return _group_cell(place, keys)


def _group_cell(place: Place, keys: Mapping[Any, str]) -> Cell:
    if len(place) == 1:
        return _cell_that_may_be_missing(_OBJECT)
    kind = keys.get(place[1])
    if kind is None:
        return cells.MISSING_ONLY
    if len(place) == 2:
        return _cell_that_may_be_missing(_CELLS[kind])
    if len(place) == 3 and type(place[2]) is int and kind == "texts":
        return _cell_that_may_be_missing(_CELLS["text"])
    return cells.ANY if kind == "list" else cells.MISSING_ONLY


def _cell_that_may_be_missing(cell: Cell) -> Cell:
    return replace(cell, missing=True)
