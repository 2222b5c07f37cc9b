"""Differences between two documents of one line: typed changes, each with its place, and whether it decides
where tasks go. Pure: any JSON will do, so that an unfinished draft can be compared too.

Members of lists are known by their identity, as in `line_merge`. An empty answer means that the documents are
the same, and the changes put into the first document give the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pipelines.formats.line_merge import (
    GONE,
    IDENTITY,
    ORDER,
    is_same_value,
    keys_among,
    members_by_identity_or_none,
)
from pipelines.routing.basics.problems import member_path

What = Literal["added", "removed", "changed", "order"]
Affects = Literal["routing", "work", "form", "words", "layout"]

AFFECTS: Final[tuple[Affects, ...]] = ("routing", "work", "form", "words", "layout")
"""The gravest first: where tasks go · what is done there · the start form · names and notes · the picture."""

SPLIT: Final = frozenset({"policy", "flags", "work", "limits", "approval", "extra", "editor", "positions"})
"""Objects whose members are changes of their own; every other value is one, as a whole."""

KINDS: Final = {"stations": "station", "gates": "gate", "ends": "end", "inputs": "input", "rules": "rule"}

COUNTED: Final = frozenset({"max_visits", "max_retries"})
"""Limits that routing counts; the others bound the work."""

# What else than “where tasks go” a field is about: {kind of thing: {first step below it: …}}
_WORDS: Final[Affects] = "words"
_WORK: Final[Affects] = "work"
_FIELDS: Final[Mapping[str, Mapping[str, Affects]]] = {
    "line": {"name": _WORDS, "description": _WORDS, "key": _WORDS, "extra": _WORDS, "inputs": "form"},
    "station": {
        "name": _WORDS,
        "extra": _WORDS,
        "work": _WORK,
        "output_keys": _WORK,
        "labels": _WORK,
        "artifacts": _WORK,
        "limits.idle_timeout": _WORK,
        "limits.max_timeout": _WORK,
        "limits.expected": _WORK,
    },
    "rule": {"label": _WORDS, "extra": _WORDS},
    "gate": {"name": _WORDS, "description": _WORDS, "extra": _WORDS, "notify": _WORK},
    "end": {"label": _WORDS, "extra": _WORDS},
    "input": {},
}


@dataclass(frozen=True, slots=True)
class Member:
    """A step into a list: to the member with this identity."""

    key: str


Step = str | Member


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """`kind` and `key`: the thing that it is about (line, station, rule, gate, end, input); `station`: the one in which
    a rule stands. `field`: what of the thing, "" for all of it. `old`, `new`: None where it is not there (`what` says
    so); of an order the identities. `place`: of a member of a list that was added or removed, from 1."""

    steps: tuple[Step, ...]
    what: What
    kind: str
    key: str
    station: str
    field: str
    old: Any
    new: Any
    affects: Affects
    place: int = 0

    @property
    def path(self) -> str:
        return path_of_steps(self.steps)

    @property
    def affects_routing(self) -> bool:
        return self.affects == "routing"

    def to_dict(self) -> dict[str, Any]:
        names = ("path", "what", "kind", "key", "station", "field", "old", "new", "affects")
        return {name: getattr(self, name) for name in names}


def path_of_steps(steps: tuple[Step, ...]) -> str:
    path = ""
    for step in steps:
        path = f"{path}[{step.key}]" if isinstance(step, Member) else member_path(path, step)
    return path


def document_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[DocumentChange, ...]:
    """Return the changes in the order of the new document, removals last. Raises nothing."""
    return tuple(_object_changes((), old, new))


def paths_overlap(one: str, other: str) -> bool:
    """Return whether one of two paths is the other, or leads to it."""
    short, long = sorted((one, other), key=len)
    # “work” leads to “work.kind” and “rules” to “rules[a]”, but “work” not to “works”.
    return long == short or not short or (long.startswith(short) and long[len(short)] in ".[")


def _object_changes(
    steps: tuple[Step, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[DocumentChange]:
    for key in dict.fromkeys([*new, *old]):
        before, now = old.get(key, GONE), new.get(key, GONE)
        if not is_same_value(before, now):
            yield from _value_changes((*steps, key), key, before, now)


def _value_changes(steps: tuple[Step, ...], step: str, old: Any, new: Any) -> Iterator[DocumentChange]:
    identity = IDENTITY.get(step)
    if new is not GONE and identity is not None:
        before, now = members_by_identity_or_none(old, identity), members_by_identity_or_none(new, identity)
        # An empty list where there was none is a change, too, but has no members to tell of it.
        if before is not None and now is not None and (old is not GONE or now):
            yield from _member_changes(steps, before, now)
            return
    elif step in SPLIT and isinstance(new, Mapping):
        old_object = old if isinstance(old, Mapping) else {} if old is GONE and new else None
        if old_object is not None:
            yield from _object_changes(steps, old_object, new)
            return
    yield _document_change(steps, old, new)


def _member_changes(
    steps: tuple[Step, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[DocumentChange]:
    common = set(old) & set(new)
    # Order among those that both have: what was added or removed moves nothing
    if keys_among(list(old), common) != keys_among(list(new), common):
        yield _document_change((*steps, ORDER), list(old), list(new))
    for place, (key, now) in enumerate(new.items(), start=1):
        here = (*steps, Member(key))
        if key in old:
            yield from _object_changes(here, old[key], now)
        else:
            yield _document_change(here, GONE, now, place)
    for place, (key, before) in enumerate(old.items(), start=1):
        if key not in new:
            yield _document_change((*steps, Member(key)), before, GONE, place)


def _document_change(steps: tuple[Step, ...], old: Any, new: Any, place: int = 0) -> DocumentChange:
    kind, key, station, rest = _innermost_part_and_steps(steps)
    what: What = "changed"
    if rest[-1:] == (ORDER,):
        what = "order"
    elif old is GONE:
        what = "added"
    elif new is GONE:
        what = "removed"
    return DocumentChange(
        steps,
        what,
        kind,
        key,
        station,
        ".".join(str(step.key if isinstance(step, Member) else step) for step in rest),
        None if old is GONE else old,
        None if new is GONE else new,
        _affected_aspect(kind, rest, old, new),
        place,
    )


def _innermost_part_and_steps(steps: tuple[Step, ...]) -> tuple[str, str, str, tuple[Step, ...]]:
    """Kind and key of the innermost thing, the station around it, and the steps below it."""
    kind, key, station, below = "line", "", "", 0
    for index in range(1, len(steps)):
        step, parent = steps[index], steps[index - 1]
        if isinstance(step, Member) and isinstance(parent, str):
            kind, key, below = KINDS[parent], step.key, index + 1
            station = step.key if kind == "station" else station
    return kind, key, station, steps[below:]


def _affected_aspect(kind: str, rest: tuple[Step, ...], old: Any, new: Any) -> Affects:
    if kind == "input" or (kind == "line" and rest[0] == "inputs"):
        return "form"
    if kind == "line" and rest[0] == "extra" and _is_layout(rest, old) and _is_layout(rest, new):
        return "layout"
    affects_by_field, path = _FIELDS[kind], ".".join(map(str, rest))
    if kind == "station" and path == "limits":
        return "routing" if _limit_names(old) & COUNTED or _limit_names(new) & COUNTED else "work"
    return next(
        # With the dots “work” is the field of “work.kind”, and “name” not that of “names”.
        (affects for field, affects in affects_by_field.items() if f"{path}.".startswith(f"{field}.")),
        "routing",
    )


def _limit_names(value: Any) -> set[str]:
    return set(value) if isinstance(value, Mapping) else set()


def _is_layout(rest: tuple[Step, ...], value: Any) -> bool:
    """Return whether all of the value at these steps is layout: where things stand on the canvas."""
    for step in ("extra", "editor", "positions")[len(rest) :]:
        if value is GONE or value == {}:
            return True
        if not isinstance(value, Mapping) or set(value) != {step}:
            return False
        value = value[step]
    return rest[:3] == ("extra", "editor", "positions")[: len(rest[:3])]
