"""Building blocks of the JSON Schema of the line document."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
SOME_TEXT: Schema = {"type": "string", "minLength": 1}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ANYTHING: Schema = {}
KEY: Schema = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_.-]{0,63}$"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def words(known: Any) -> Schema:
    return {"enum": list(known)}


def listed(member: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": member, **more}


def one_or_more(member: Schema) -> Schema:
    return {"anyOf": [member, listed(member)]}


def record(required: tuple[str, ...] = (), /, **members: Schema) -> Schema:
    """An object with these keys and no others."""
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def form(name: str, value: Schema, **companions: Schema) -> Schema:
    """A condition: exactly the key of its form, and its companions."""
    return record((name, *companions), **{name: value}, **companions)


def where(key: str, operator: str, value: Schema) -> Schema:
    """Return the rule that with this operator the value is of this kind."""
    return {"if": {"properties": {key: {"const": operator}}}, "then": {"properties": {"value": value}}}
