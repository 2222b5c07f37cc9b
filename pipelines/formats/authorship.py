"""Authorship of a draft since its line was last published: for each place that was changed, by whom and when.

`{path: {person: [number of the draft, moment]}}`, as JSON keeps it. A value that is replaced as a whole
takes what was noted inside it along, so this never grows beyond the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.formats.changes import document_changes, paths_overlap

Noted = Mapping[str, Mapping[str, list[Any]]]
ROOT = ""
"""The path of the document itself: who made it."""


@dataclass(frozen=True, slots=True)
class Author:
    """`number`: of the draft that this person saved last at a place; `at` in ISO 8601."""

    person: str
    number: int
    at: str


def updated_authorship(
    before: Noted, old: Mapping[str, Any], new: Mapping[str, Any], hand: Author
) -> dict[str, Any]:
    """Return the authorship notes after `hand` turned the document `old` into `new`."""
    authors_by_path = {path: dict(hands) for path, hands in before.items()}
    for change in document_changes(old, new):
        path = change.path
        # What was below it is gone, or new: earlier hands are no longer its authors
        if change.what in ("added", "removed"):
            authors_by_path = {at: hands for at, hands in authors_by_path.items() if not _is_below(at, path)}
        authors_by_path.setdefault(path, {})[hand.person] = [hand.number, hand.at]
    return authors_by_path


def authors_of_path(path: str, notes: Noted) -> tuple[Author, ...]:
    """Return the authors who changed something at or around a path, the last one last. A path without a note of
    its own belongs to whoever made the document."""
    authors = list(_authors(hands for at, hands in notes.items() if at != ROOT and _concerns_path(at, path)))
    authors = authors or list(_authors([notes[ROOT]] if ROOT in notes else []))
    last: dict[str, Author] = {}
    for hand in sorted(authors, key=lambda author: author.number):
        # A dict keeps the place of a key that is set again: this one goes to the end.
        last.pop(hand.person, None)
        last[hand.person] = hand
    return tuple(last.values())


def last_authors_since(number: int, notes: Noted) -> dict[str, Author]:
    """{path: hand} of what was changed after the draft with this number, the last hand of each place."""
    newer = {
        path: [hand for hand in _authors([hands]) if hand.number > number] for path, hands in notes.items()
    }
    return {path: max(hands, key=lambda author: author.number) for path, hands in newer.items() if hands}


def _authors(notes: Iterable[Mapping[str, list[Any]]]) -> Iterable[Author]:
    return (Author(person, entry[0], entry[1]) for hands in notes for person, entry in hands.items())


def _is_below(path: str, above: str) -> bool:
    return len(path) > len(above) and paths_overlap(path, above)


def _concerns_path(noted_path: str, path: str) -> bool:
    """A preset fills every knob of the policy."""
    return paths_overlap(noted_path, path) or (noted_path == "preset" and paths_overlap("policy", path))
