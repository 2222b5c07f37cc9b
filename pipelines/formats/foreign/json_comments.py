"""JSON with comments as JSON: each comment becomes blanks, so that lines and columns stay."""

from __future__ import annotations

import re
from typing import Final

_BEGIN: Final = re.compile(r'"|//|/\*')
# Possessive (*+): a text without an end fails without going back over it.
_QUOTED: Final = re.compile(r'(?:[^"\\]|\\.)*+"', re.DOTALL)
_INK: Final = re.compile(r"\S")
_ENDS: Final = {"//": "\n", "/*": "*/"}


def without_comments(text: str) -> str:
    """A text in quotes stays, whatever it holds; `//` to the end of the line and `/* */` go. One that does not end goes
    on to the end of the text, and is looked for once."""
    parts: list[str] = []
    at = 0
    while match := _BEGIN.search(text, at):
        parts.append(text[at : match.start()])
        if match[0] == '"':
            quoted = _QUOTED.match(text, match.end())
            at = quoted.end() if quoted else len(text)
            parts.append(text[match.start() : at])
            continue
        end = text.find(_ENDS[match[0]], match.end())
        at = len(text) if end < 0 else end + (2 if match[0] == "/*" else 0)
        parts.append(_INK.sub(" ", text[match.start() : at]))
    return "".join([*parts, text[at:]])
