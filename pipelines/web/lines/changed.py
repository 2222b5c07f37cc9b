"""What differs between two documents of a line, as pages show it: in words, grouped by what it is about, and as what
the canvas draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from pipelines.formats.authorship import Author
from pipelines.formats.changes import AFFECTS, DocumentChange
from pipelines.formats.overlay import PicturePlace, place_of
from pipelines.lines.comparing import Apart
from pipelines.models import User
from pipelines.routing.basics.wording import words
from pipelines.routing.document.line import read_line
from pipelines.routing.sentences.changes import condition, sentence
from pipelines.web.lines.drawing import told_of

GROUPS: dict[str, Callable[[], str]] = {
    "routing": lambda: _("Where tasks go"),
    "work": lambda: _("What is done"),
    "form": lambda: _("The start form"),
    "words": lambda: _("Names and notes"),
    "layout": lambda: _("Only the picture"),
}
LOOKS: dict[str, tuple[str, Callable[[], str]]] = {
    "added": ("plus", lambda: _("Added")),
    "removed": ("minus", lambda: _("Removed")),
    "changed": ("edit", lambda: _("Changed")),
    "order": ("chevrons-up-down", lambda: _("Order")),
}
LEGEND: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("added", "plus", lambda: _("New")),
    ("removed", "minus", lambda: _("Gone")),
    ("changed", "station-route", lambda: _("Routing changes")),
    ("edited", "edit", lambda: _("Other changes")),
    ("moved", "move", lambda: _("Only moved")),
)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change. `look`: of the change itself, not of the thing; `people`: who made it, the last one last."""

    sentence: str
    what: str
    icon: str
    word: str
    place: PicturePlace
    people: tuple[str, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """`few`: how many of a long list are seen before it is opened; None for all."""

    key: str
    title: str
    rows: tuple[ChangeRow, ...]
    few: int | None = None

    @property
    def first(self) -> tuple[ChangeRow, ...]:
        return self.rows[: self._cut]

    @property
    def rest(self) -> tuple[ChangeRow, ...]:
        return self.rows[self._cut :]

    @property
    def _cut(self) -> int:
        """A single row more is no reason to fold."""
        count = len(self.rows)
        return count if self.few is None or count <= self.few + 1 else self.few


def groups(
    apart: Apart,
    hands: Callable[[DocumentChange], Iterable[Author]] = lambda _change: (),
    few: int | None = None,
) -> list[ChangeGroup]:
    """`hands`: who made a change; `few`: of `ChangeGroup`. What decides where tasks go comes first."""
    made = {change.path: tuple(hands(change)) for change in apart.changes}
    names = people(hand for each in made.values() for hand in each)
    rows: dict[str, list[ChangeRow]] = {each: [] for each in AFFECTS}
    for change in apart.changes:
        rows[change.affects].append(_row(apart, change, made[change.path], names))
    return [ChangeGroup(key, GROUPS[key](), tuple(found), few) for key, found in rows.items() if found]


def people(hands: Iterable[Author]) -> dict[str, str]:
    """{person: name}"""
    found = {hand.person for hand in hands if hand.person.isdigit()}
    return {str(pk): str(user) for pk, user in User.objects.in_bulk(found).items()}


def _row(apart: Apart, change: DocumentChange, hands: tuple[Author, ...], names: dict[str, str]) -> ChangeRow:
    icon, word = LOOKS[change.what]
    return ChangeRow(
        words(sentence(change, apart.old, apart.new)),
        change.what,
        icon,
        word(),
        place_of(change, apart.picture.document),
        tuple(names.get(hand.person, _("somebody")) for hand in hands),
        datetime.fromisoformat(hands[-1].at) if hands and hands[-1].at else None,
    )


def picture(apart: Apart, line_id: int) -> dict[str, Any]:
    """What the canvas draws: one document with the ghosts, and the mark of every part that is not the same."""
    found = apart.picture
    marks = {"stations": found.stations, "rules": found.rules, "ends": found.ends}
    rules = [rule for station in found.document["stations"] for rule in station["rules"]]
    conditions = {
        rule["id"]: condition(rule.get("when", {"always": True}), found.document, short=True)
        for rule in rules
    }
    return {"document": found.document, "marks": marks, "conditions": conditions, **_told(apart, line_id)}


def _told(apart: Apart, line_id: int) -> dict[str, Any]:
    """Of stations and rules that are gone what was so before, of all others only what is so now."""
    old, new = (told_of(read_line(each, keep_faulty_rules=True), line_id) for each in (apart.old, apart.new))
    stations = {station["key"] for station in apart.new["stations"]}
    rules = {rule["id"] for station in apart.new["stations"] for rule in station["rules"]}
    there = {"onward": stations, "limits": rules, "taken": rules}
    gone = {part: {key: old[part][key] for key in old[part].keys() - keys} for part, keys in there.items()}
    return {part: {**gone[part], **new[part]} for part in there}


def legend() -> list[dict[str, str]]:
    return [{"mark": mark, "icon": icon, "word": word()} for mark, icon, word in LEGEND]


def totals(found: list[ChangeGroup]) -> dict[str, int]:
    """How many decide where tasks go, and how many do not."""
    routing = sum(len(each.rows) for each in found if each.key == "routing")
    return {"routing": routing, "other": sum(len(each.rows) for each in found) - routing}
