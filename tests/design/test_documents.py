"""What the pages of docs/ name is there: labels on pages of the product, and tabs of the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from pipelines.web.help.pages import SHELVES, help_pages

TOP = Path(settings.BASE_DIR)
SOURCES = (
    ("templates", "*.html"),
    ("static/ts", "*.ts"),
    ("static/editor", "*.ts"),
    ("pipelines", "*.py"),
    ("pipelines", "*.yaml"),
    ("reviews", "*.py"),
    ("config", "*.py"),
)
"""Where texts of pages are written."""
ITALIC = re.compile(r"(?<![\w*\\])\*(?![*\s])([^*\n]+?)(?<![*\s])\*(?![*\w])")
VALUE = re.compile(r"\d|``|…")
SENTENCE = 60
"""Characters that no label has."""
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
ELSEWHERE = frozenset(
    (
        "Dashboards",  # Grafana
        "Interactivity",  # Slack
        "Pull requests",  # GitHub
        "Address family not supported",  # the kernel
        "All others",  # a note of the author
        "Wherever the decision leads",
        "Disk and backup",
        "Vacuum of the three large tables",
        "One web process",
    )
)
"""Labels of other products, and emphasis that begins a paragraph."""
PUT_TOGETHER = frozenset(
    (
        "Claude Code (signed in)",
        "Since you sent it back",
        "Since it was sent back",
        "Allow registry.example and retry",
        "Allow the private address of registry.example and retry",
        "Where the body says nothing",
        "Where the task says nothing",
        "Ann answered: Harbour",
        "Run French again",
    )
)
"""Labels with a name in them."""


def test_a_label_that_a_document_names_is_on_a_page() -> None:
    labels = dict(_labels())
    assert len(labels) > 250
    assert {label: page for label, page in labels.items() if not _is_text_of_product(label)} == {}


def test_a_path_of_settings_names_their_tabs() -> None:
    tabs = {
        f"{name} › {tab}"
        for name, template, pattern in (
            ("Settings", "project/_tabs.html", r">([\w ]+)</c-tab>"),
            ("Personal settings", "account/_tabs.html", r">([\w ]+)</c-tab>"),
            # Its first tab is what opens: its cards are named without it.
            ("Personal settings", "account/account.html", r'title="([\w ]+)"'),
        )
        for tab in re.findall(pattern, (TOP / "templates" / template).read_text())
    }
    named = {
        match[0]: path.name
        for path in _documents()
        for match in re.finditer(r"\b(?:Personal settings|Settings) › [A-Z][\w ]*\w", path.read_text())
    }
    assert len(named) > 12
    assert {name: page for name, page in named.items() if not name.startswith(tuple(tabs))} == {}


def test_each_page_on_a_shelf_is_there() -> None:
    slugs = {page.slug for page in help_pages()}
    assert [slug for shelf in SHELVES.values() for slug in shelf if slug not in slugs] == []


def _documents() -> list[Path]:
    """The pages, without the README, whose tour is gone by its words (`make accept`)."""
    return [*sorted((TOP / "docs").glob("*.md")), TOP / "docs/deploy/README.md"]


def _labels() -> Iterator[tuple[str, str]]:
    """Labels with a page that names each: what is in italics and begins like a label, part by part of a path."""
    for path in _documents():
        for match in ITALIC.finditer(CODE.sub("``", path.read_text())):
            for part in match[1].split(" › "):
                label = part.strip().strip(".,:;").replace("’", "'")
                if label[:1].isupper() and len(label) < SENTENCE and not VALUE.search(label):
                    yield label, path.name


def _is_text_of_product(label: str) -> bool:
    if label in ELSEWHERE or label in PUT_TOGETHER:
        return True
    text, place = _texts_of_product(), -1
    while (place := text.find(label, place + 1)) >= 0:
        around = text[place - 1 : place] + text[place + len(label) : place + len(label) + 1]
        if not any(character.isalnum() for character in around):
            return True
    return False


@lru_cache(maxsize=1)
def _texts_of_product() -> str:
    texts = [
        path.read_text()
        for folder, pattern in SOURCES
        for path in (TOP / folder).rglob(pattern)
        if ".test." not in path.name
    ]
    return re.sub(r"\s+", " ", " ".join(texts)).replace("’", "'")
