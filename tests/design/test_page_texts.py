"""What templates say beside their values: one of a thing is no plural, a time has its zone, and the buttons of a list
are told apart by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "templates"
COMMENT = re.compile(r"\{% comment.*?endcomment %\}|\{#.*?#\}", re.DOTALL)
THINGS = (
    "changes|characters|comments|commits|days|decisions|errors|events|files|findings|gates|groups|hints|hours|jobs|"
    "lines|members|minutes|outcomes|projects|questions|remarks|repositories|reviews|rounds|rows|rules|runners|runs|"
    "scenarios|secrets|stations|steps|tasks|times|tokens|triggers|versions|votes|warnings|weeks"
)
COUNTED = re.compile(
    r"(?P<before>\bof |more than )?\{\{ (?P<value>[^{}]*) \}\}(?:</\w+>)?\s+"
    rf"(?:[a-z]+ )?(?:{THINGS})\b"
)
NEVER_ONE = (
    # Bounds and periods
    "recent_days",
    "days",
    "tombstone.days",
    "newest",
    "offer.decisions",
    # Groups of at least two, as those around them say
    "changes.group.files|length",
    "listed.group.files|length",
    "changes.files|length",
    "remarks.drafts|length",
)
NO_COUNT = (
    "tokens_text",
    "pace",
    "bound",
    "percent",
    "pluralize",
    "minutes",
    "station",
    "ports",
    "draft_number",
)
"""Numbers of many digits or with a fraction, shares, and what is no number."""
TIME = re.compile(r'\{\{ (?P<value>[^{}|]*)\|date:"(?P<format>[^"]*H:i[^"]*)" \}\}(?!</time>)')
"""A `<time>` has the whole of it on hover."""
ZONE_BESIDE = ("project.work_from", "project.work_until")
IN_A_LOOP = re.compile(
    r"\{% (?P<loop>for|endfor)\b[^%]*%\}"
    r'|<c-button\b(?P<attributes>(?:[^>"]|"[^"]*")*?)(?:/>|>(?P<text>.*?)</c-button>)',
    re.DOTALL,
)
NAMED = re.compile(r'\blabel="[^"]*\{\{')


def test_a_count_of_one_is_no_plural() -> None:
    found = [
        (name, " ".join(match[0].split()))
        for name, source in _sources()
        for match in COUNTED.finditer(source)
        if not match["before"]
        and match["value"] not in NEVER_ONE
        and not any(n in match["value"] for n in NO_COUNT)
    ]
    assert found == []


def test_a_time_of_day_has_its_zone() -> None:
    times = [(name, match) for name, source in _sources() for match in TIME.finditer(source)]
    assert times
    assert [
        (name, match[0])
        for name, match in times
        if "T" not in match["format"] and match["value"] not in ZONE_BESIDE
    ] == []


def test_a_button_of_a_row_names_what_it_is_for() -> None:
    buttons = [button for name, source in _sources() for button in _buttons_of_rows(name, source)]
    assert len(buttons) > 10
    assert [button[:2] for button in buttons if not button[2]] == []


def _sources() -> Iterator[tuple[str, str]]:
    for path in sorted(TEMPLATES.rglob("*.html")):
        name = str(path.relative_to(TEMPLATES))
        if not name.startswith(("design/", "cotton/")):
            yield name, COMMENT.sub("", path.read_text())


def _buttons_of_rows(name: str, source: str) -> Iterator[tuple[str, str, bool]]:
    """The template, the text, and whether the name has a value in it, of each button in a row that a loop makes."""
    loops = list[int]()
    for match in IN_A_LOOP.finditer(source):
        if match["loop"] == "for":
            loops.append(match.start())
        elif match["loop"]:
            loops.pop()
        elif loops and re.search(r"<(li|tr)\b", source[loops[0] : match.start()]):
            text = match["text"] or ""
            yield name, " ".join(text.split()), "{{" in text or bool(NAMED.search(match["attributes"]))
