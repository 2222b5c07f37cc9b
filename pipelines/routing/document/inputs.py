"""Inputs: fields of the form that starts a task, or of the form of a manual station."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.fields.field import NOWHERE, Around, Written, declared
from pipelines.routing.document.fields.plain import Anything, Choice, Flag, Key, Text, Texts, extra
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.reading.reader import Problems, Reader

TYPES: Final = {
    "text": _("Text"),
    "number": _("Number"),
    "choice": _("Choice"),
    "date": _("Date"),
    "repository": _("Repository"),
    "file": _("File"),
    "secret": _("Secret, by its name"),
}


@dataclass(frozen=True)
class Input:
    """One field. `choices` are those of the type choice."""

    key: str = declared(
        Key(label=_("Key"), help=_("Templates and checks name it so: {{input.key}}.")), given=True
    )
    type: str = declared(Choice(TYPES, default="text", written=Written.ALWAYS, label=_("Type")))
    label: str = declared(Text(label=_("Label"), help=_("Shown above the field.")))
    help: str = declared(Text(label=_("Help"), help=_("Shown below the field.")))
    required: bool = declared(Flag(label=_("Must be filled in")))
    choices: tuple[str, ...] = declared(Texts(label=_("Choices"), help=_("One per line"), rows=3))
    default: Any = declared(Anything(fills=("default", "has_default"), label=_("Filled in from the start")))
    has_default: bool = False
    extra: Mapping[str, Any] = declared(extra())


def _check(reader: Reader, around: Around) -> None:
    if (reader.values["type"] == "choice") != bool(reader.values["choices"]):
        reader.note("choices", _("a choice lists its choices, no other type does"))


INPUT: Final = Record.of(Input, name="input", check=_check)


def read_inputs(rows: Any) -> tuple[Input, ...]:
    """What can be read of these rows; what cannot is at its default."""
    given = {"rows": rows} if type(rows) is list else {}
    return Reader(given, "", Problems()).each("rows", lambda row: INPUT.read(row, NOWHERE))
