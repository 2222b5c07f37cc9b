"""What a page shows, and what of it is in no brackets: text that was never translated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser

from tests.language.messages import CLOSE, OPEN

# Not read, or read as it was written.
SILENT = {"script", "style", "code", "pre", "kbd", "template", "textarea"}
EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
SPOKEN = ("aria-label", "title", "placeholder", "alt", "aria-description", "data-confirm")
# Names that no language changes.
NAMES = {
    "Gateline",
    "YAML",
    "JSON",
    "API",
    "HTTP",
    "Ctrl",
    "Shift",
    "Esc",
    "Alt",
    "Enter",
    "UTC",
    "CSV",
    "HEAD",
    "µs",
    "ms",
    "min",
}
# A digest, the name of a task or an event, a number with its unit.
NUMBERED = re.compile(r"[\w-]*\d[\w-]*")
WORD = re.compile(r"[^\W\d_]{2,}")


class Page(HTMLParser):
    """The texts of a page in their order, and the texts of its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.attributes: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            self._silent += 1
        if not self._silent:
            self.attributes += [value or "" for name, value in attrs if name in SPOKEN]

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent -= 1

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


def untranslated(page: str, data: Iterable[str]) -> list[str]:
    """Words on a page that stand in no brackets and are no data."""
    parser = Page()
    parser.feed(page)
    return left_over("\n".join(parser.texts), data) + [
        each for attribute in parser.attributes for each in left_over(attribute, data)
    ]


def left_over(text: str, data: Iterable[str]) -> list[str]:
    """The parts outside of all brackets that hold a word which is neither a name nor data."""
    known = {word.lower() for each in (*NAMES, *data) for word in WORD.findall(each)}
    outside, depth = [""], 0
    for sign in text:
        depth += (sign == OPEN) - (sign == CLOSE)
        if sign in "\n" + OPEN:
            outside.append("")
        elif depth == 0 and sign != CLOSE:
            outside[-1] += sign
    return [
        part.strip()
        for part in outside
        if any(word.lower() not in known for word in WORD.findall(NUMBERED.sub(" ", part)))
    ]
