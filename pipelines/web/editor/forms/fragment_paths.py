"""Places inside a fragment of a line document: read there, and written there in a copy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from pipelines.routing.basics.problems import member_path

Place = tuple[str | int, ...]
# None is a value that a document can hold.
MISSING: Final = object()


@lru_cache(maxsize=4_096)
def path_name(place: Place) -> str:
    """Return the path as the problems of the readers write it: `limits.expected`, `inputs[2].key`."""
    path = ""
    for step in place:
        path = member_path(path, step)
    return path


def value_at(value: Any, place: Place) -> Any:
    """MISSING where there is nothing, whatever stands on the way."""
    for step in place:
        inside = step in value if type(value) is dict else type(value) is list and type(step) is int
        if not inside or (type(value) is list and not 0 <= int(step) < len(value)):
            return MISSING
        value = value[step]
    return value


def fragment_with_value_at(value: Any, place: Place, new: Any) -> Any:
    """A copy with `new` there; MISSING takes it away, with the objects that this leaves empty. Objects on the way are
    made, members of lists are not: without them the copy is as it was."""
    if not place:
        return new
    step, rest = place[0], place[1:]
    if type(step) is int:
        return _list_with_member(value, step, rest, new)
    inside = value if type(value) is dict else {}
    below = fragment_with_value_at(inside.get(step), rest, new) if rest else new
    # None: there was nothing on the way, so nothing is made to remove something from it.
    if below is MISSING or (new is MISSING and rest and below in ({}, None)):
        return {key: member for key, member in inside.items() if key != step}
    return {**inside, str(step): below}


def innermost_place_and_value_of_change(before: Any, after: Any) -> tuple[Place, Any]:
    """The innermost place that holds all that differs, and what stands there after; MISSING where that is gone."""
    if type(before) is dict and type(after) is dict:
        steps: list[str | int] = [
            key
            for key in {**before, **after}
            if key not in before or key not in after or before[key] != after[key]
        ]
    elif type(before) is list and type(after) is list and len(before) == len(after):
        steps = [index for index, member in enumerate(before) if member != after[index]]
    else:
        return (), after
    # Several places changed: what holds them all is replaced
    if len(steps) != 1:
        return (), after
    step = steps[0]
    was, now = value_at(before, (step,)), value_at(after, (step,))
    if was is MISSING or now is MISSING:
        return (step,), now
    at, new = innermost_place_and_value_of_change(was, now)
    return (step, *at), new


def _list_with_member(value: Any, index: int, rest: Place, new: Any) -> Any:
    if type(value) is not list or not 0 <= index < len(value):
        return value
    if not rest and new is MISSING:
        return [*value[:index], *value[index + 1 :]]
    below = fragment_with_value_at(value[index], rest, new) if rest else new
    return [*value[:index], below, *value[index + 1 :]]


def fragment_without_covered_places(value: Any, covered: Iterable[Place]) -> Any:
    """Return the part of a fragment that lies at none of the `covered` places; MISSING if nothing does. A
    list that a place leads into counts as covered."""
    steps: dict[str | int, list[Place]] = {}
    for place in covered:
        if not place:
            return MISSING
        steps.setdefault(place[0], []).append(place[1:])
    if not steps:
        return value
    if type(value) is not dict:
        return MISSING if type(value) is list and any(type(step) is int for step in steps) else value
    left = {}
    for key, member in value.items():
        remaining = fragment_without_covered_places(member, steps[key]) if key in steps else member
        if remaining is not MISSING and not (remaining == {} and key in steps):
            left[key] = remaining
    return left or MISSING


def deep_merged_values(value: Any, added: Any) -> Any:
    """`added` over `value`: objects member by member, anything else as it is in `added`."""
    if type(value) is dict and type(added) is dict:
        return {**value, **{key: deep_merged_values(value.get(key), member) for key, member in added.items()}}
    return added
