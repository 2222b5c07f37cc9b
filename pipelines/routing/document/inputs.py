"""Inputs: fields of the form that starts a task, or of the form of a manual station."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Problems, Reader, quoted_value
from pipelines.routing.document.fields.field import NOWHERE, ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.plain_fields import (
    Anything,
    Choice,
    Count,
    Flag,
    Key,
    Text,
    Texts,
    extra_members,
)
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.operators import OperandError, compile_pattern

TEXT: Final = "text"
LONG_TEXT: Final = "long_text"
TYPES: Final = {
    "text": "Text",
    "long_text": "Long text",
    "number": "Number",
    "choice": "Choice",
    "yes_no": "Yes or no",
    "date": "Date",
    "repository": "Repository",
    "revision": "Branch, tag or commit",
    "file": "File",
    "secret": "Secret, by its name",
}
RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "choices": ("choice",),
    "minimum": ("text", "long_text", "number"),
    "maximum": ("text", "long_text", "number", "file"),
    "pattern": ("text", "long_text"),
    "accept": ("file",),
}
"""What bounds the value, and the types that have it."""
FARTHEST: Final = 10**12
# `.csv`, `.tar.gz`
ENDING: Final = re.compile(r"^\.[a-z0-9][a-z0-9.+_-]{0,19}$")


@dataclass(frozen=True, kw_only=True)
class Endings(Texts):
    """File name endings: `.csv`."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        endings = super().read(reader, key, context)
        for ending in endings:
            if not ENDING.fullmatch(ending):
                wrong = _("%(ending)s is no ending of a file's name", ending=quoted_value(ending))
                reader.note(key, wrong, "Write it like .csv, in small letters.")
        return endings

    def schema(self) -> Schema:
        return schema_parts.list_schema({"type": "string", "pattern": ENDING.pattern})


@dataclass(frozen=True)
class Input:
    """Field of a form. Which types have `choices`, `minimum`, `maximum`, `pattern` and `accept`: `RULES`."""

    key: str = declared_field(
        Key(label="Key", help="Templates and checks name it so: {{input.key}}."), required=True
    )
    type: str = declared_field(Choice(TYPES, default="text", written=WriteCondition.ALWAYS, label="Type"))
    label: str = declared_field(Text(label="Label", help="Shown above the field."))
    help: str = declared_field(Text(label="Help", help="Shown below the field."))
    required: bool = declared_field(Flag(label="Must be filled in"))
    choices: tuple[str, ...] = declared_field(Texts(label="Choices", help="One per line", rows=3))
    minimum: int | None = declared_field(
        Count(
            least=-FARTHEST,
            written=WriteCondition.UNLESS_NONE,
            label="Minimum",
            help="The smallest number; of a text its characters.",
        )
    )
    maximum: int | None = declared_field(
        Count(
            least=-FARTHEST,
            written=WriteCondition.UNLESS_NONE,
            label="Maximum",
            help="The largest number; of a text its characters, of a file its MiB.",
        )
    )
    pattern: str = declared_field(
        Text(
            label="Pattern",
            help="The whole text has to match this regular expression (RE2).",
            code=True,
        )
    )
    accept: tuple[str, ...] = declared_field(
        Endings(label="File types", help="One ending per line, such as .csv. Empty takes any file.", rows=2)
    )
    default: Any = declared_field(
        Anything(fills=("default", "has_default"), label="Filled in from the start")
    )
    has_default: bool = False
    extra: Mapping[str, Any] = declared_field(extra_members())


def _note_input_problems(reader: Reader, context: ReadContext) -> None:
    values = reader.values
    # Both ways: a list at another type is a type that somebody forgot to change
    if (values["type"] == "choice") != bool(values["choices"]):
        reader.note("choices", "a choice lists its choices, no other type does")
    for rule, types in RULES.items():
        if rule != "choices" and values["type"] not in types and reader.has(rule):
            has = _("Types that have it: %(types)s.", types=", ".join(types))
            reader.note(rule, _("an input of the type %(type)s has none", type=values["type"]), has)
    if None not in (values["minimum"], values["maximum"]) and values["minimum"] > values["maximum"]:
        reader.note("maximum", "is smaller than the minimum")
    try:
        compile_pattern(values["pattern"])
    except OperandError as error:
        reader.note("pattern", str(error))


def _only_for_types(rule: str, types: tuple[str, ...]) -> Schema:
    """Other types do not have it; an absent type is a text."""
    others = {
        "properties": {"type": {"enum": [input_type for input_type in TYPES if input_type not in types]}}
    }
    requirement = {} if TEXT not in types else {"required": ["type"]}
    return {"if": {**others, **requirement}, "then": {"not": {"required": [rule]}}}


INPUT: Final = Record.of(
    Input,
    name="input",
    check=_note_input_problems,
    rules={"allOf": [_only_for_types(rule, types) for rule, types in RULES.items() if rule != "choices"]},
)


def read_inputs(rows: Any) -> tuple[Input, ...]:
    """Return the inputs that can be read from these rows; unreadable parts have their default."""
    document = {"rows": rows} if type(rows) is list else {}
    return Reader(document, "", Problems()).read_list("rows", lambda row: INPUT.read(row, NOWHERE))
