"""Two documents of one line as one picture: what is gone stays in it as a ghost, every part knows what became of it.

Both have to be whole lines (`Line.to_document()`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pipelines.formats.changes import DocumentChange

Document = Mapping[str, Any]
Mark = Literal["added", "removed", "changed", "edited", "moved"]
"""`changed`: where tasks go · `edited`: what is done there, or only words · `moved`: nothing but its place."""
GRAVITY: Final[tuple[Mark, ...]] = ("added", "removed", "changed", "edited", "moved")
BEFORE: Final = " (before)"
"""Behind the id of the ghost that shows where a rule led before."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """`stations` and `ends` by key, `rules` by id: those that are not the same."""

    document: dict[str, Any]
    stations: dict[str, Mark] = field(default_factory=dict)
    rules: dict[str, Mark] = field(default_factory=dict)
    ends: dict[str, Mark] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PicturePlace:
    """Place of a change in the picture: a station or an end, and a rule of it; "" for none."""

    node: str = ""
    rule: str = ""


def overlay_documents(old: Document, new: Document, changes: Iterable[DocumentChange]) -> Overlay:
    picture = Overlay(_union_document(old, new))
    gates: dict[str, Mark] = {}
    by_kind = {"station": picture.stations, "rule": picture.rules, "end": picture.ends, "gate": gates}
    for change in changes:
        mark = _change_mark(change)
        if change.affects == "layout":
            # Steps to a place on the canvas: extra, editor, positions, and then the key.
            _put_gravest_marks(picture.stations, [str(step) for step in change.steps[3:4]], mark)
        elif change.kind in by_kind:
            _put_gravest_marks(by_kind[change.kind], [change.key], mark)
    _mark_parts_without_own_mark(picture, gates)
    return picture


def changed_place(change: DocumentChange, document: Document) -> PicturePlace:
    """`document`: of the overlay."""
    if change.kind == "rule":
        return PicturePlace(change.station, change.key)
    if change.kind in ("station", "end"):
        return PicturePlace(change.key)
    if change.affects == "layout" and len(change.steps) > 3:
        return PicturePlace(str(change.steps[3]))
    if change.kind == "gate":
        return next(_gate_places(document, change.key), PicturePlace())
    return (
        PicturePlace("@start")
        if change.kind == "input" or change.field in ("start", "inputs")
        else PicturePlace()
    )


def _change_mark(change: DocumentChange) -> Mark:
    if change.affects == "layout":
        return "moved"
    if not change.field and change.what in ("added", "removed"):
        return "added" if change.what == "added" else "removed"
    return "changed" if change.affects_routing else "edited"


def _put_gravest_marks(marks: dict[str, Mark], keys: Iterable[str], mark: Mark) -> None:
    for key in keys:
        # Of several changes of one part the gravest is shown.
        marks[key] = min(marks.get(key, mark), mark, key=GRAVITY.index)


def _mark_parts_without_own_mark(picture: Overlay, gates: Mapping[str, Mark]) -> None:
    """Mark what has no mark elsewhere: rules of a station that is new or gone, gates on what asks them, old
    targets."""
    for station in picture.document["stations"]:
        station_mark = picture.stations.get(station["key"])
        for rule in station["rules"]:
            if station_mark in ("added", "removed"):
                picture.rules[rule["id"]] = station_mark
            elif rule["id"].endswith(BEFORE):
                picture.rules[rule["id"]] = "removed"
    for key, mark in gates.items():
        # A gate that is gone was taken from its rules, too; one that is new was given to them.
        if mark in ("changed", "edited"):
            for place in _gate_places(picture.document, key):
                marks, name = (picture.rules, place.rule) if place.rule else (picture.stations, place.node)
                _put_gravest_marks(marks, [name], mark)


def _gate_places(document: Document, gate: str) -> Iterator[PicturePlace]:
    for station in document["stations"]:
        if station.get("gate") == gate:
            yield PicturePlace(station["key"])
        for rule in station["rules"]:
            if gate in rule.get("gates", ()):
                yield PicturePlace(station["key"], rule["id"])


def _union_document(old: Document, new: Document) -> dict[str, Any]:
    before = {station["key"]: station for station in old["stations"]}
    stations = [
        _station_with_removed_rules(before.get(station["key"]), station) for station in new["stations"]
    ]
    return {
        **new,
        "stations": _members_with_removed(stations, old["stations"]),
        "gates": _members_with_removed(new["gates"], old["gates"]),
        "ends": _members_with_removed(new["ends"], old["ends"]),
        "extra": {
            "editor": {
                **_editor_extra(new),
                "positions": {**_editor_positions(old), **_editor_positions(new)},
            }
        },
    }


def _station_with_removed_rules(old: Document | None, new: Document) -> dict[str, Any]:
    """Return the station with the removed rules behind the existing ones, so that these keep their numbers."""
    now = {rule["id"]: rule for rule in new["rules"]}
    ghosts = []
    for rule in old["rules"] if old else ():
        if rule["id"] not in now:
            ghosts.append(rule)
            continue
        left = [key for key in _target_keys(rule) if key not in _target_keys(now[rule["id"]])]
        if left:
            ghosts.append({**rule, "id": f"{rule['id']}{BEFORE}", "to": left if len(left) > 1 else left[0]})
    return {**new, "rules": [*new["rules"], *ghosts]}


def _target_keys(rule: Document) -> Sequence[str]:
    to = rule.get("to")
    return [to] if isinstance(to, str) else to if isinstance(to, list) else []


def _members_with_removed(now: Sequence[Document], before: Sequence[Document]) -> list[Document]:
    """Return the members with each removed one behind what it stood behind."""
    merged = list(now)
    there = {member["key"] for member in now}
    for index, member in enumerate(before):
        if member["key"] in there:
            continue
        earlier = {one["key"] for one in before[:index]}
        at = max((n for n, one in enumerate(merged, start=1) if one["key"] in earlier), default=0)
        merged.insert(at, member)
    return merged


def _editor_positions(document: Document) -> Mapping[str, Any]:
    places = _editor_extra(document).get("positions", {})
    return places if isinstance(places, Mapping) else {}


def _editor_extra(document: Document) -> Mapping[str, Any]:
    editor = document.get("extra", {}).get("editor", {})
    return editor if isinstance(editor, Mapping) else {}
