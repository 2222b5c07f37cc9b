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


def definition_reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def enum_schema(known: Any) -> Schema:
    return {"enum": list(known)}


def list_schema(member: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": member, **more}


def one_or_more_schema(member: Schema) -> Schema:
    return {"anyOf": [member, list_schema(member)]}


def object_schema(required: tuple[str, ...] = (), /, **members: Schema) -> Schema:
    """An object with these keys and no others."""
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def condition_schema(name: str, value: Schema, **companions: Schema) -> Schema:
    """A condition: exactly the key of its form, and its companions."""
    return object_schema((name, *companions), **{name: value}, **companions)


def operator_schema(key: str, operator: str, value: Schema) -> Schema:
    """Return the rule that with this operator the value is of this kind."""
    return {"if": {"properties": {key: {"const": operator}}}, "then": {"properties": {"value": value}}}
