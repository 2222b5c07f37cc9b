"""Possible values at a path of `facts`: its groups and keys are fixed (law §13), so every other path holds
nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.routing.analysis.regions import cells, numbers
from pipelines.routing.analysis.regions.cells import Cell
from pipelines.routing.analysis.regions.documents import Place
from pipelines.routing.basics.facts import COST_LIMITS, GROUPS, OF_SOURCE, PRICES, PROVIDER, SOURCE
from pipelines.routing.basics.values import exact

_COUNTED = numbers.compared("gte", exact(0))
_OBJECT = cells.OBJECTS
_LIST = cells.LISTS


def _number(number_set: numbers.NumberSet) -> Cell:
    return replace(cells.of_type("number")[0], numbers=number_set)


_CELLS = {
    "count": _number(_COUNTED),
    "whole": _number(numbers.ANY),
    "amount": _number(_COUNTED),
    "share": _number(numbers.between(exact(0), exact(100))),
    "text": cells.of_type("string")[0],
    "texts": _LIST,
    "list": _LIST,
    "flag": cells.of_type("boolean")[0],
    "price": cells.one_of(list(PRICES))[0],
    "cost limit": cells.one_of(list(COST_LIMITS))[0],
    "provider": cells.one_of(list(PROVIDER))[0],
}


def cell_at(place: Place) -> Cell:
    """Return the cell of possible values at this place, or only `missing`."""
    if not place:
        return _OBJECT
    if place[0] == "stations":
        # `stations.<key>.<group>…`: below the key stand the groups that an outcome has (law §13).
        return _or_missing(_OBJECT if len(place) < 3 else cell_at(place[2:]))
    keys = GROUPS.get(place[0]) if type(place[0]) is str else None
    if keys is None:
        return cells.MISSING_ONLY
    if len(place) > 1 and place[1] == SOURCE:
        return _in_group(place[1:], OF_SOURCE)
    return _in_group(place, keys)


def _in_group(place: Place, keys: Mapping[Any, str]) -> Cell:
    if len(place) == 1:
        return _or_missing(_OBJECT)
    kind = keys.get(place[1])
    if kind is None:
        return cells.MISSING_ONLY
    if len(place) == 2:
        return _or_missing(_CELLS[kind])
    if len(place) == 3 and type(place[2]) is int and kind == "texts":
        return _or_missing(_CELLS["text"])
    return cells.ANY if kind == "list" else cells.MISSING_ONLY


def _or_missing(cell: Cell) -> Cell:
    return replace(cell, missing=True)
