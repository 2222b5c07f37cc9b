"""Differences between two documents of a line for pages: in words, grouped by subject, and as data for the
canvas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from string import ascii_uppercase
from typing import Any

from django.utils.safestring import SafeString

from pipelines.errors import Invalid
from pipelines.formats.authorship import Author
from pipelines.formats.changes import AFFECTS, DocumentChange
from pipelines.formats.overlay import PicturePlace, changed_place
from pipelines.lines import drawings, version_comparison
from pipelines.lines.version_comparison import DocumentComparison
from pipelines.models import Line, User
from pipelines.routing.basics.wording import as_heading, people_text
from pipelines.routing.document.line import read_line
from pipelines.routing.sentences.changes import change_sentence, condition_text, field_change, is_field_change
from pipelines.templatetags.gateline import built_file_url_or_empty
from pipelines.web.lines.drawing import canvas_details, safe_svg_of_stored_drawing
from pipelines.web.lines.kinds import work_kind_fields

MAX_WHOLE = 20_000
"""Characters of a long value that a page shows when it is asked for the whole."""
GROUPS: dict[str, str] = {
    "routing": "Where tasks go",
    "work": "What is done",
    "form": "The start form",
    "words": "Names and notes",
    "layout": "Only the picture",
}
LOOKS: dict[str, tuple[str, str]] = {
    "added": ("plus", "Added"),
    "removed": ("minus", "Removed"),
    "changed": ("edit", "Changed"),
    "order": ("chevrons-up-down", "Order"),
}
LEGEND: tuple[tuple[str, str, str], ...] = (
    ("added", "plus", "New"),
    ("removed", "minus", "Gone"),
    ("changed", "station-route", "Routing changes"),
    ("edited", "edit", "Other changes"),
    ("moved", "move", "Only moved"),
)


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """Row of one change. `field`: the subject of a changed value, `before` and `now`, cut where they are
    long, and then `whole`. `letter`: that of its place on the drawing, "" without one, and `mark`, how it
    is drawn; `people`: who made the change, the latest last."""

    sentence: str
    what: str
    icon: str
    word: str
    place: PicturePlace
    letter: str = ""
    mark: str = ""
    field: str = ""
    before: str = ""
    now: str = ""
    whole: tuple[str, str] | None = None
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
        return self.rows[: self._visible_count]

    @property
    def rest(self) -> tuple[ChangeRow, ...]:
        return self.rows[self._visible_count :]

    @property
    def _visible_count(self) -> int:
        """A single row more is no reason to fold."""
        count = len(self.rows)
        return count if self.few is None or count <= self.few + 1 else self.few


def group_changes(
    comparison: DocumentComparison,
    hands: Callable[[DocumentChange], Iterable[Author]] = lambda _change: (),
    few: int | None = None,
) -> list[ChangeGroup]:
    """`hands`: who made a change; `few`: of `ChangeGroup`. What decides where tasks go comes first."""
    made = {change.path: tuple(hands(change)) for change in comparison.changes}
    # One query for the names of all rows
    names = author_name_by_person(hand for authors in made.values() for hand in authors)
    rows: dict[str, list[ChangeRow]] = {effect: [] for effect in AFFECTS}
    known = letter_by_place(comparison)
    for change in comparison.changes:
        rows[change.affects].append(_change_row(comparison, change, known, made[change.path], names))
    return [
        ChangeGroup(key, GROUPS[key], tuple(group_rows), few)
        for key, group_rows in rows.items()
        if group_rows
    ]


def author_name_by_person(hands: Iterable[Author]) -> dict[str, str]:
    """{person: name}"""
    person_ids = {hand.person for hand in hands if hand.person.isdigit()}
    return {str(pk): str(user) for pk, user in User.objects.in_bulk(person_ids).items()}


def letter_by_place(comparison: DocumentComparison) -> dict[PicturePlace, str]:
    """A, B, … of the places on the drawing at which something else than the picture changed, the gravest first."""
    ordered = sorted(comparison.changes, key=lambda change: AFFECTS.index(change.affects))
    places = (
        changed_place(change, comparison.picture.document) for change in ordered if change.affects != "layout"
    )
    return {
        place: _letters_of_place_number(at)
        for at, place in enumerate(dict.fromkeys(p for p in places if p.node))
    }


def _letters_of_place_number(index: int) -> str:
    """Return the letter of a place: after Z comes AA."""
    more, at = divmod(index, len(ascii_uppercase))
    return (_letters_of_place_number(more - 1) if more else "") + ascii_uppercase[at]


def _place_mark(comparison: DocumentComparison, place: PicturePlace) -> str:
    merged_picture = comparison.picture
    if place.rule:
        return merged_picture.rules.get(place.rule, "changed")
    return merged_picture.stations.get(place.node) or merged_picture.ends.get(place.node, "edited")


def _change_row(
    comparison: DocumentComparison,
    change: DocumentChange,
    known: dict[PicturePlace, str],
    hands: tuple[Author, ...],
    names: dict[str, str],
) -> ChangeRow:
    icon, word = LOOKS[change.what]
    place = changed_place(change, comparison.picture.document)
    field_values = field_change(change, comparison.old, comparison.new) if is_field_change(change) else None
    full_values = field_values.whole if field_values else None
    return ChangeRow(
        people_text(change_sentence(change, comparison.old, comparison.new)),
        change.what,
        icon,
        word,
        place,
        # A box that was moved is no change of what it says
        "" if change.affects == "layout" else known.get(place, ""),
        _place_mark(comparison, place),
        as_heading(field_values.what) if field_values else "",
        people_text(field_values.before) if field_values else "",
        people_text(field_values.now) if field_values else "",
        (people_text(full_values[0])[:MAX_WHOLE], people_text(full_values[1])[:MAX_WHOLE])
        if full_values
        else None,
        tuple(names.get(hand.person, "somebody") for hand in hands),
        datetime.fromisoformat(hands[-1].at) if hands and hands[-1].at else None,
    )


def stored_svg_of_comparison(line: Line, before: str, to: str) -> Mapping[str, SafeString]:
    """Return the stored SVG of what differs between these sides; empty before it is drawn, and where one cannot
    be read."""
    sides = (version_comparison.comparison_side(line, name) for name in (before, to))
    try:
        apart = version_comparison.compare_documents(*sides)
    except Invalid:
        return {}
    stored = drawings.stored_drawing_or_request(line.project_id, merged_canvas_data(apart, line.pk))
    return safe_svg_of_stored_drawing(stored) if stored else {}


def merged_canvas_data(comparison: DocumentComparison, line_id: int) -> dict[str, Any]:
    """Return the data that the canvas draws: one document with the ghosts, and the mark of every part that is
    not the same."""
    merged_picture = comparison.picture
    marks = {"stations": merged_picture.stations, "rules": merged_picture.rules, "ends": merged_picture.ends}
    rules = [rule for station in merged_picture.document["stations"] for rule in station["rules"]]
    conditions = {
        rule["id"]: condition_text(rule.get("when", {"always": True}), merged_picture.document, short=True)
        for rule in rules
    }
    details = _canvas_details(comparison, line_id)
    return {
        "document": merged_picture.document,
        "marks": marks,
        "conditions": conditions,
        "letters": [
            {"node": place.node, "rule": place.rule, "letter": letter}
            for place, letter in letter_by_place(comparison).items()
        ],
        **details,
        "icons": built_file_url_or_empty("static/icons.json"),
        "kinds": work_kind_fields(),
    }


def _canvas_details(comparison: DocumentComparison, line_id: int) -> dict[str, Any]:
    """Return the details of removed stations and rules as they were, and of all others as they are now; of a
    changed limit both."""
    # A draft with faulty rules is compared all the same.
    old, new = (
        canvas_details(read_line(document, keep_faulty_rules=True), line_id)
        for document in (comparison.old, comparison.new)
    )
    stations = {station["key"] for station in comparison.new["stations"]}
    rules = {rule["id"] for station in comparison.new["stations"] for rule in station["rules"]}
    gates = {gate["key"] for gate in comparison.new["gates"]}
    there = {"onward": stations, "otherwise": stations, "rejected": gates, "limits": rules, "taken": rules}
    gone = {part: {key: old[part][key] for key in old[part].keys() - keys} for part, keys in there.items()}
    other = {
        key: {**limit, "before": old["limits"][key]["most"]}
        for key, limit in new["limits"].items()
        if key in old["limits"] and old["limits"][key]["most"] != limit["most"]
    }
    return {part: {**gone[part], **new[part]} for part in there} | {
        "limits": {**gone["limits"], **new["limits"], **other}
    }


def change_legend() -> list[dict[str, str]]:
    return [{"mark": mark, "icon": icon, "word": word} for mark, icon, word in LEGEND]


def change_totals(change_groups: list[ChangeGroup]) -> dict[str, int]:
    """Count the changes that decide where tasks go, and those that do not."""
    routing = sum(len(group.rows) for group in change_groups if group.key == "routing")
    return {"routing": routing, "other": sum(len(group.rows) for group in change_groups) - routing}
