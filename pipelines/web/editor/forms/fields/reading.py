"""Reading of the text typed into a field, as data: applied here, and in the page, which gets it with the
field and tells what a change makes of the line before the answer comes
(`static/editor/inspector/reading.ts`)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from pipelines.web.editor.forms.fields.json_text import FieldRefused, parse_json
from pipelines.web.editor.forms.fragment_paths import MISSING


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Meanings of a text, in the order in which they are tried.

    `verbatim`: the text as it is. `words`: each means something else. `blank`: what nothing typed means. `under`: with
    `to`, `to:x` means `{"to": "x"}`. `numbers`: the pattern of what is one. `json_from`: what begins so and is JSON;
    `strict`: what begins so has to be; `none`: what an empty list or object means, where it begins with its bracket.
    `form`: `pairs` of NAME=value, `arguments` of a program, or `parts` with `between` among them, of `values` each as
    JSON where it is that; else the text, without the space around it unless that is `kept`. `single`: a list of one
    member is that member."""

    verbatim: bool = False
    words: Mapping[str, Any] = field(default_factory=dict)
    blank: Any = MISSING
    under: str = ""
    numbers: str = ""
    json_from: str | None = None
    strict: bool = False
    none: Any = MISSING
    form: str = ""
    between: str = ""
    values: bool = False
    kept: bool = False
    single: bool = False

    @cached_property
    def data(self) -> dict[str, Any]:
        """The values that differ from the usual, for JSON."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value != getattr(USUAL, name)}

    def parse_value(self, typed: str) -> Any:
        """Return the value of the typed text; MISSING if there is to be none. Raises FieldRefused."""
        # Browsers send the lines of a text area with CRLF.
        text = typed.replace("\r\n", "\n")
        trimmed = text.strip()
        if self.verbatim:
            return text
        if trimmed in self.words:
            return self.words[trimmed]
        if not trimmed:
            return self.blank
        if self.under and trimmed.startswith(f"{self.under}:"):
            return {self.under: trimmed.removeprefix(f"{self.under}:")}
        if self.numbers and re.fullmatch(self.numbers, trimmed):
            return float(trimmed) if "." in trimmed else int(trimmed)
        if self.json_from is not None and trimmed.startswith(self.json_from):
            try:
                return self._unwrap(parse_json(text), self.none) if self.json_from else parse_json(text)
            except FieldRefused:
                # What only begins like JSON is read as text.
                if self.strict:
                    raise
        return self._unwrap(FORMS[self.form](self, text), self.blank)

    def _unwrap(self, value: Any, empty: Any) -> Any:
        if value in ([], {}):
            return empty
        return value[0] if self.single and type(value) is list and len(value) == 1 else value

    def _parse_text(self, text: str) -> str:
        return text if self.kept else text.strip()

    def _parse_parts(self, text: str) -> list[Any]:
        parts = [part.strip() for part in text.split(self.between)]
        return [MEANT.parse_value(part) if self.values else part for part in parts if part]

    def _parse_arguments(self, text: str) -> list[str]:
        """Split the text as a shell would. `{{…}}` is never cut."""
        templates: list[str] = []

        def mark_of_template(match: re.Match[str]) -> str:
            templates.append(match[0])
            # Characters for private use, at which no shell word is cut
            return f"\ue000{len(templates) - 1}\ue001"

        try:
            words = shlex.split(TEMPLATE.sub(mark_of_template, text))
        except ValueError as fault:
            raise FieldRefused(
                "a quotation mark is not closed", "close it, or put a backslash before it"
            ) from fault
        return [MARK.sub(lambda match: templates[int(match[1])], word) for word in words]

    def _parse_pairs(self, text: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for number, line in enumerate(text.split("\n"), 1):
            name, sign, value = line.partition("=")
            name = name.strip()
            if not line.strip():
                continue
            if not sign or not name:
                raise FieldRefused(f"line {number} is no NAME=value", "write for example LEVEL=debug")
            if name in pairs:
                raise FieldRefused(f"{name} appears twice", "keep one of them")
            # As typed: a value may hold spaces and further equals signs.
            pairs[name] = value
        return pairs


TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}")
MARK = re.compile("\ue000([0-9]+)\ue001")


@lru_cache(maxsize=64)
def reading_of_plain_text(*, keeps_space: bool, blank: Any) -> Reading:
    """Return the reading of a text that means itself; `blank`: what nothing typed means."""
    return Reading(kept=keeps_space, blank=blank)


FORMS = {
    "": Reading._parse_text,
    "parts": Reading._parse_parts,
    "arguments": Reading._parse_arguments,
    "pairs": Reading._parse_pairs,
}
USUAL = Reading()
MEANT = Reading(json_from="")
