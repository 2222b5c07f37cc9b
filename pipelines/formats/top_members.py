"""Members at the top of a document, changed in the text that says it: its comments and its layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.formats import native
from pipelines.formats.line_merge import is_same_value
from pipelines.routing.basics.problems import DocumentError

_BLANK = re.compile(r"[ \t\r\n]*")
# The first line that is not blank, indented, a comment, a directive (%YAML) or ---
_FIRST_KEY = re.compile(r"^(?=[^\s#%-])", re.MULTILINE)
_DECODER = json.JSONDecoder()


def text_with_members_or_empty(text: str, document: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the text with the texts that `document` has under these names at its top; "" where only a person can
    change it so that it says just this document."""
    for name in names:
        text = _text_with_member(text, name, json.dumps(document[name], ensure_ascii=False))
    try:
        # The patterns know no YAML: only reading it back shows that the right line was changed.
        return text if is_same_value(native.loads(text), document) else ""
    except DocumentError:
        return ""


def _text_with_member(text: str, name: str, value: str) -> str:
    if text.lstrip().startswith("{"):
        begin, end, member = _begin_end_and_template_of_json_member(text, name)
        return text[:begin] + member % value + text[end:]
    line = re.compile(rf"^([\"']?){re.escape(name)}\1[ \t]*:.*$", re.MULTILINE)
    match = line.search(text) or _FIRST_KEY.search(text)
    if match is None:
        return text
    # An empty match is the place before the first key: the member becomes a line of its own.
    after = "" if match.end() > match.start() else "\n"
    return f"{text[: match.start()]}{name}: {value}{after}{text[match.end() :]}"


def _begin_end_and_template_of_json_member(text: str, name: str) -> tuple[int, int, str]:
    """Return where the value of a member begins and ends, and what takes its place, with %s for the new one; where
    there is no such member, the place of a first one."""
    first = at = text.index("{") + 1
    try:
        while text[at := _position_after_blanks(text, at)] == '"':
            key, at = _DECODER.raw_decode(text, at)
            begin = _position_after_blanks(text, _position_after_blanks(text, at) + 1)  # behind the colon
            _value, at = _DECODER.raw_decode(text, begin)
            if key == name:
                return begin, at, "%s"
            at = _position_after_blanks(text, at) + 1
    except (ValueError, IndexError):
        pass
    return first, first, f'"{name}": %s, '


def _position_after_blanks(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
