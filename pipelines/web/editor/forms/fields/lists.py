"""Fields of several texts: one a line, arguments of a program, names with values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pipelines.routing.basics.command_text import quoted_word
from pipelines.routing.document.jumps import ALL
from pipelines.web.editor.forms.fields.base import FormField
from pipelines.web.editor.forms.fields.json_text import is_json_list, to_json
from pipelines.web.editor.forms.fields.reading import Reading
from pipelines.web.editor.forms.fragment_paths import MISSING


@dataclass(frozen=True, kw_only=True)
class ListedField(FormField):
    """Texts, one a line, or with `between` among them. What a line cannot hold is shown and read as JSON."""

    between: str = "\n"

    @property
    def reading(self) -> Reading:
        return Reading(json_from="[", form="parts", between=self.between, blank=self.blank, none=self.blank)

    @property
    def blank(self) -> Any:
        return [] if self.needed else MISSING

    def to_text(self, value: Any) -> str:
        plain = type(value) is list and all(
            type(member) is str and member.strip() == member for member in value
        )
        if not plain or any("\n" in member or self.between in member or not member for member in value):
            return to_json(value)
        joined = (", " if self.between == "," else self.between).join(value)
        # Texts that together look like a JSON list would be read back as one.
        return to_json(value) if is_json_list(joined) else joined


@dataclass(frozen=True, kw_only=True)
class JumpsField(ListedField):
    """Places, one a line, or the word all. An empty list says that there are none, and is kept."""

    @property
    def reading(self) -> Reading:
        return replace(super().reading, words={ALL: ALL}, none=[])

    def to_text(self, value: Any) -> str:
        return ALL if value == ALL else super().to_text(value)


@dataclass(frozen=True, kw_only=True)
class ArgumentsField(FormField):
    """A program with its arguments as a shell would take them, but no shell reads it. `{{…}}` is never cut."""

    code: bool = True
    reading: ClassVar[Reading] = Reading(json_from="[", form="arguments")

    def to_text(self, value: Any) -> str:
        if type(value) is not list or not all(type(member) is str for member in value):
            return to_json(value)
        quoted = " ".join(
            argument if PLAIN_ARGUMENT.fullmatch(argument) else quoted_word(argument) for argument in value
        )
        return to_json(value) if is_json_list(quoted) else quoted


# What a shell takes without quotes, and templates: `--to={{input.branch}}`
PLAIN_ARGUMENT = re.compile(r"(?:[\w@%+=:,./-]|\{\{[\w.-]+\}\})+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class PairsField(FormField):
    """An object of texts, `NAME=value` a line."""

    code: bool = True
    reading: ClassVar[Reading] = Reading(json_from="{", strict=True, form="pairs")

    def to_text(self, value: Any) -> str:
        if type(value) is not dict or not all(_is_pair_line(name, member) for name, member in value.items()):
            return to_json(value)
        return "\n".join(f"{name}={member}" for name, member in value.items())


def _is_pair_line(name: str, text: Any) -> bool:
    plain = type(text) is str and "\n" not in text and "\r" not in text
    # A text that begins with a brace would be read as JSON.
    return plain and name.strip() == name and bool(name) and "=" not in name and name[0] != "{"
