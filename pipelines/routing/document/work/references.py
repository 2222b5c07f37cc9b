"""Values that a worker fills in by name: `{secret: API}`, `{secret: "input:key"}`, `{variable: REGION}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.routing.basics.schema_parts import Schema, object_schema
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document.document_readers.reader import Problems, Reader, quoted_value

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}\Z")
INPUT = "input:"
"""Before the key of an input of the type secret: its value is the name of the secret."""
SECRET, VARIABLE = "secret", "variable"
NAME_WORDS = (
    "capitals, digits and _, beginning with a capital; or input:key, the secret that a task starts with"
)
_OF_INPUT = re.compile(r"input:[^\s{}]{1,64}\Z")


def note_reference_problems(value: Mapping[str, Any], at: str, problems: Problems) -> None:
    """Note what is wrong with one."""
    reader = Reader(value, at, problems)
    # Where both keys stand, `variable` is the one that is unknown.
    kind = VARIABLE if reader.has(VARIABLE) and not reader.has(SECRET) else SECRET
    name = reader.text(kind, required=True)
    if name.strip() and not (NAME.match(name) or (kind == SECRET and _OF_INPUT.match(name))):
        message = (
            _("%(name)s is no name of a secret", name=quoted_value(name))
            if kind == SECRET
            else _("%(name)s is no name of a variable", name=quoted_value(name))
        )
        reader.note(kind, message, NAME_WORDS)
    reader.note_unknown_keys()


def reference_schemas() -> list[Schema]:
    secret = r"^([A-Z][A-Z0-9_]{0,63}|input:[^\s{}]{1,64})$"
    return [
        object_schema((SECRET,), secret={"type": "string", "pattern": secret}),
        object_schema((VARIABLE,), variable={"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,63}$"}),
    ]


def referenced_names(values: Mapping[str, Any] | None, kind: str) -> Iterator[str]:
    """The names of one kind among the values of headers, or of an environment."""
    for value in (values or {}).values():
        if isinstance(value, Mapping) and kind in value:
            yield str(value[kind])


def resolve_secret_name(name: str, inputs: Mapping[str, Any]) -> str:
    """The name of a secret, which an input may say; "" where the task has no such input."""
    return str(inputs.get(name.removeprefix(INPUT)) or "") if name.startswith(INPUT) else name
