"""Two edits of one line document put together: what is disjoint is merged, what is not is shown side by side.

Members of lists are known by their identity (stations, gates, ends, inputs by `key`, rules by `id`), never by their
place. The order of rules decides which wins, so two people who order or add rules at the same place do conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.values import are_equal

IDENTITY: Final = {"stations": "key", "gates": "key", "ends": "key", "inputs": "key", "rules": "id"}
ORDER = "(order)"
"""The last step of a conflict's path when both changed the order of a list in different ways."""


class MissingValue:
    """Sentinel for a missing value: never part of a document."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Final = MissingValue()


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """Conflict between two changes of the same path: `base` before, `mine` and `theirs` after; None where the
    value does not exist."""

    path: str
    base: Any
    mine: Any
    theirs: Any


@dataclass(frozen=True, slots=True)
class Merged:
    """`document`: with everything that is disjoint; where there are clashes it holds theirs."""

    document: dict[str, Any]
    clashes: tuple[MergeConflict, ...] = field(default=())


def merge_documents(base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Merged:
    """Merge three documents: `base` is what both started from. Raises nothing: any JSON will do."""
    clashes: list[MergeConflict] = []
    document = _merge_value("", "", base, mine, theirs, clashes)
    return Merged(dict(document), tuple(clashes))


def _merge_value(
    path: str, step: str, base: Any, mine: Any, theirs: Any, clashes: list[MergeConflict]
) -> Any:
    if is_same_value(mine, theirs) or is_same_value(base, mine):
        return theirs
    if is_same_value(base, theirs):
        return mine
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping) and isinstance(base, Mapping):
        return _merge_objects(path, base, mine, theirs, clashes)
    identity = IDENTITY.get(step)
    before, here, there = (members_by_identity_or_none(side, identity) for side in (base, mine, theirs))
    if before is not None and here is not None and there is not None:
        return _merge_lists(path, step, before, here, there, clashes)
    clashes.append(
        MergeConflict(path, _none_if_missing(base), _none_if_missing(mine), _none_if_missing(theirs))
    )
    return theirs


def _none_if_missing(value: Any) -> Any:
    return None if value is GONE else value


def is_same_value(one: Any, other: Any) -> bool:
    """Strict by type, as conditions are: true is not 1. A browser sends 1.0 as 1, which is the same number."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same_value(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_value, one, other))
    return one == other if isinstance(one, str) and isinstance(other, str) else are_equal(one, other)


def _merge_objects(
    path: str,
    base: Mapping[str, Any],
    mine: Mapping[str, Any],
    theirs: Mapping[str, Any],
    clashes: list[MergeConflict],
) -> dict[str, Any]:
    merged = {}
    for key in dict.fromkeys([*theirs, *mine]):
        before, here, there = (side.get(key, GONE) for side in (base, mine, theirs))
        value = _merge_value(member_path(path, key), key, before, here, there, clashes)
        if value is not GONE:
            merged[key] = value
    return merged


def members_by_identity_or_none(members: Any, identity: str | None) -> dict[str, Any] | None:
    """None: no list of objects with different identities, which can only be taken as a whole."""
    if identity is None:
        return None
    # A list that one side does not have is merged like an empty one.
    if members is GONE:
        return {}
    if not isinstance(members, list) or not all(isinstance(member, Mapping) for member in members):
        return None
    keys = [member.get(identity) for member in members]
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        return None
    return dict(zip(keys, members, strict=True))


def _merge_lists(
    path: str,
    step: str,
    base: dict[str, Any],
    mine: dict[str, Any],
    theirs: dict[str, Any],
    clashes: list[MergeConflict],
) -> list[Any]:
    order = _merged_order_or_none(list(base), list(mine), list(theirs), strict=step == "rules")
    if order is None:
        clashes.append(MergeConflict(member_path(path, ORDER), list(base), list(mine), list(theirs)))
        # Where there are clashes the document holds theirs.
        order = [*theirs, *(key for key in mine if key not in theirs)]
    merged = []
    for key in order:
        before, here, there = (side.get(key, GONE) for side in (base, mine, theirs))
        value = _merge_value(f"{path}[{key}]", "", before, here, there, clashes)
        if value is not GONE:
            merged.append(value)
    return merged


def _merged_order_or_none(
    base: list[str], mine: list[str], theirs: list[str], *, strict: bool
) -> list[str] | None:
    """Return all keys of both, in an order that keeps both; None where there is none."""
    common = set(mine) & set(theirs)
    if keys_among(mine, common) != keys_among(theirs, common):
        moved_by_me = keys_among(mine, common) != keys_among(base, common)
        moved_by_them = keys_among(theirs, common) != keys_among(base, common)
        if moved_by_me and moved_by_them:
            return None
        # Whoever moved members gives the order; the other side's new ones are put into it.
        first, second = (mine, theirs) if moved_by_me else (theirs, mine)
    else:
        first, second = theirs, mine
    # Both added rules at one place: which comes first would decide which wins.
    if strict and set(_insertion_points(first, base, common)) & set(_insertion_points(second, base, common)):
        return None
    return _keys_with_inserted(first, second)


def keys_among(keys: Sequence[str], among: set[str]) -> list[str]:
    return [key for key in keys if key in among]


def _insertion_points(keys: Sequence[str], base: Sequence[str], common: set[str]) -> Iterator[str | None]:
    """Yield the common keys behind which this side alone added something."""
    before = None
    for key in keys:
        if key in common:
            before = key
        elif key not in base:
            yield before


def _keys_with_inserted(first: list[str], second: list[str]) -> list[str]:
    """`first`, with what only `second` has behind what it stands behind there."""
    keys = list(first)
    for index, key in enumerate(second):
        if key in keys:
            continue
        before = next((earlier for earlier in reversed(second[:index]) if earlier in keys), None)
        keys.insert(keys.index(before) + 1 if before is not None else 0, key)
    return keys
