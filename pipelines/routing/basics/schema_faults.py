"""Faults that JSON Schema finds, in the words of every other fault: the library's speak of Python's values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from pipelines.routing.basics import jsontext
from pipelines.routing.basics.problems import Problem, join
from pipelines.routing.basics.values import kind_phrase
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.basics.wording import joined

LONGEST = 300
"""Characters of a message that nobody here has written."""


class SchemaFault(Protocol):
    """Part of the library's errors that this module reads, for documents and schemas."""

    validator: Any
    validator_value: Any
    instance: Any
    message: str

    @property
    def absolute_path(self) -> Iterable[str | int]: ...


def problem_of_fault(path: str, fault: SchemaFault) -> Problem:
    """Return the fault as a problem, with its location below `path`."""
    for step in fault.absolute_path:
        path = join(path, step)
    if fault.validator == "required":
        return Problem(join(path, _missing_key(fault)), "is missing")
    say = _WORDS.get(str(fault.validator))
    return Problem(path, say(fault) if say else fault.message[:LONGEST])


def _missing_key(fault: SchemaFault) -> str:
    """Return the missing key: each is a fault of its own, which only its message names."""
    missing = (key for key in fault.validator_value if key not in fault.instance)
    # The library writes “'name' is a required property”.
    return next((key for key in missing if fault.message.startswith(f"{key!r} ")), "")


def _type(fault: SchemaFault) -> str:
    types = fault.validator_value
    expected = [
        _TYPES.get(type_name, type_name) for type_name in ([types] if isinstance(types, str) else types)
    ]
    return _(
        "has to be %(words)s, not %(value)s",
        words=joined(expected, " or "),
        value=kind_phrase(fault.instance),
    )


def _one_of(fault: SchemaFault) -> str:
    values = [value if isinstance(value, str) else jsontext.dumps(value) for value in fault.validator_value]
    return _("has to be one of %(known)s", known=", ".join(values)[:LONGEST])


_TYPES: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}

_WORDS: Final[Mapping[str, Callable[[SchemaFault], Any]]] = {
    "type": _type,
    "enum": _one_of,
    "anyOf": lambda fault: "fits none of the forms that it may have",
    "oneOf": lambda fault: "fits none, or more than one, of the forms that it may have",
    "minLength": lambda fault: _("has to have at least %(least)s characters", least=fault.validator_value),
    "minItems": lambda fault: _("has to have at least %(least)s members", least=fault.validator_value),
}
