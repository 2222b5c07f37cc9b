"""Authorship of a draft since its line was last published: for each place that was changed, by whom and when.

`{path: {person: [number of the draft, moment]}}`, as JSON keeps it. A value that is replaced as a whole
takes what was noted inside it along, so this never grows beyond the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.formats.changes import changes, touches

Noted = Mapping[str, Mapping[str, list[Any]]]
ROOT = ""
"""The path of the document itself: who made it."""


@dataclass(frozen=True, slots=True)
class Author:
    """`number`: of the draft that this person saved last at a place; `at` in ISO 8601."""

    person: str
    number: int
    at: str


def noted(before: Noted, old: Mapping[str, Any], new: Mapping[str, Any], hand: Author) -> dict[str, Any]:
    """Return what was noted before, and that this hand made `new` of `old`."""
    authors_by_path = {path: dict(hands) for path, hands in before.items()}
    for change in changes(old, new):
        path = change.path
        if change.what in ("added", "removed"):
            authors_by_path = {at: hands for at, hands in authors_by_path.items() if not _below(at, path)}
        authors_by_path.setdefault(path, {})[hand.person] = [hand.number, hand.at]
    return authors_by_path


def hands_at(path: str, notes: Noted) -> tuple[Author, ...]:
    """Everybody who changed something there, the last one last. A place of which nothing else is known is that of who
    made the document."""
    authors = list(_hands(hands for at, hands in notes.items() if at != ROOT and _together(at, path)))
    authors = authors or list(_hands([notes[ROOT]] if ROOT in notes else []))
    last: dict[str, Author] = {}
    for hand in sorted(authors, key=lambda author: author.number):
        # A dict keeps the place of a key that is set again: this one goes to the end.
        last.pop(hand.person, None)
        last[hand.person] = hand
    return tuple(last.values())


def since(number: int, notes: Noted) -> dict[str, Author]:
    """{path: hand} of what was changed after the draft with this number, the last hand of each place."""
    newer = {
        path: [hand for hand in _hands([hands]) if hand.number > number] for path, hands in notes.items()
    }
    return {path: max(hands, key=lambda author: author.number) for path, hands in newer.items() if hands}


def _hands(noted: Iterable[Mapping[str, list[Any]]]) -> Iterable[Author]:
    return (Author(person, entry[0], entry[1]) for hands in noted for person, entry in hands.items())


def _below(path: str, above: str) -> bool:
    return len(path) > len(above) and touches(path, above)


def _together(noted: str, path: str) -> bool:
    """A preset fills every knob of the policy."""
    return touches(noted, path) or (noted == "preset" and touches("policy", path))
