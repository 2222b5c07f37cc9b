"""Fields of several texts: one a line, arguments of a program, names with values."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from pipelines.routing.document.jumps import ALL
from pipelines.web.editor.forms.fields.base import FormField
from pipelines.web.editor.forms.fields.json_text import FieldRefused, as_json, is_json_list, parsed
from pipelines.web.editor.forms.places import MISSING


@dataclass(frozen=True, kw_only=True)
class ListedField(FormField):
    """Texts, one a line, or with `between` among them. What a line cannot hold is shown and read as JSON."""

    between: str = "\n"

    @property
    def writes(self) -> str:
        return "commas" if self.between == "," else "list"

    def text(self, value: Any) -> str:
        plain = type(value) is list and all(type(each) is str and each.strip() == each for each in value)
        if not plain or any("\n" in each or self.between in each or not each for each in value):
            return as_json(value)
        said = (", " if self.between == "," else self.between).join(value)
        return as_json(value) if is_json_list(said) else said

    def value(self, typed: str) -> Any:
        if is_json_list(typed):
            return json.loads(typed) or MISSING
        found = [line.strip() for line in typed.replace("\r\n", "\n").split(self.between) if line.strip()]
        return found if found or self.needed else MISSING


@dataclass(frozen=True, kw_only=True)
class JumpsField(ListedField):
    """Places, one a line, or the word all. An empty list says that there are none, and is kept."""

    def text(self, value: Any) -> str:
        return ALL if value == ALL else super().text(value)

    def value(self, typed: str) -> Any:
        if is_json_list(typed):
            return json.loads(typed)
        return ALL if typed.strip() == ALL else super().value(typed)


@dataclass(frozen=True, kw_only=True)
class ArgumentsField(FormField):
    """A program with its arguments as a shell would take them, but no shell reads it. `{{…}}` is never cut."""

    code: bool = True

    @property
    def writes(self) -> str:
        return "arguments"

    def text(self, value: Any) -> str:
        if type(value) is not list or not all(type(each) is str for each in value):
            return as_json(value)
        said = " ".join(each if PLAIN_ARGUMENT.fullmatch(each) else shlex.quote(each) for each in value)
        return as_json(value) if is_json_list(said) else said

    def value(self, typed: str) -> Any:
        if is_json_list(typed):
            return json.loads(typed) or MISSING
        held: list[str] = []

        def hold(found: re.Match[str]) -> str:
            held.append(found[0])
            return f"\ue000{len(held) - 1}\ue001"

        try:
            words = shlex.split(TEMPLATE.sub(hold, typed))
        except ValueError as fault:
            raise FieldRefused(
                "a quotation mark is not closed", "close it, or put a backslash before"
            ) from fault
        return [HELD.sub(lambda found: held[int(found[1])], word) for word in words] or MISSING


TEMPLATE = re.compile(r"\{\{[^{}\n]*\}\}")
HELD = re.compile("\ue000([0-9]+)\ue001")
PLAIN_ARGUMENT = re.compile(r"(?:[\w@%+=:,./-]|\{\{[\w.-]+\}\})+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class PairsField(FormField):
    """An object of texts, `NAME=value` a line."""

    code: bool = True

    @property
    def writes(self) -> str:
        return "pairs"

    def text(self, value: Any) -> str:
        if type(value) is not dict or not all(_is_line(name, said) for name, said in value.items()):
            return as_json(value)
        return "\n".join(f"{name}={said}" for name, said in value.items())

    def value(self, typed: str) -> Any:
        if typed.lstrip().startswith("{"):
            return parsed(typed) or MISSING
        found: dict[str, str] = {}
        for number, line in enumerate(typed.replace("\r\n", "\n").split("\n"), 1):
            name, sign, said = line.partition("=")
            if not line.strip():
                continue
            if not sign or not name.strip():
                raise FieldRefused(f"line {number} is no NAME=value", "write for example LEVEL=debug")
            if name.strip() in found:
                raise FieldRefused(f"{name.strip()} appears twice", "keep one of them")
            found[name.strip()] = said
        return found or MISSING


def _is_line(name: str, said: Any) -> bool:
    plain = type(said) is str and "\n" not in said and "\r" not in said
    return plain and name.strip() == name and bool(name) and "=" not in name and name[0] != "{"
