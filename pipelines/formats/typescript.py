"""The TypeScript types of the line document, from its JSON Schema: what the editor may find in a draft.

A draft may be unfinished or wrong, so only what names a part is always there, and any other key may be. Conditions and
what a kind of work says are any JSON: the editor shows them and changes none of it."""

from __future__ import annotations

import json
import re

from pipelines.formats.schema import json_schema
from pipelines.routing.basics.schema_parts import Schema

TYPES = {str: "string", bool: "boolean", int: "number"}
NAMES = ("key", "id")
"""What a part is drawn by; a draft without cannot be drawn."""
ANY = {"condition": "Json", "work": "Work"}
HEAD = """/** Made by `python -m pipelines.routing types` from the declarations in pipelines/routing/document. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Work {
  kind?: string;
  [key: string]: Json | undefined;
}
"""


def typescript_module() -> str:
    """The text of a module."""
    schema = json_schema()
    definitions: dict[str, Schema] = schema.pop("$defs")
    parts = [HEAD]
    for name, definition in definitions.items():
        if name not in ANY:
            parts.append(_type_declaration(_type_name(name), definition))
    parts.append(f"export interface LineDocument {_interface_members(schema, ())}\n")
    return "\n".join(parts)


def _type_declaration(name: str, schema: Schema) -> str:
    if "properties" in schema:
        return f"export interface {name} {_interface_members(schema)}\n"
    if (
        "oneOf" in schema
        and all("properties" in option for option in schema["oneOf"])
        and len(schema["oneOf"]) > 2
    ):
        members = {key: value for option in schema["oneOf"] for key, value in option["properties"].items()}
        kinds = [option["properties"]["kind"]["const"] for option in schema["oneOf"]]
        return f"export interface {name} {_interface_members({'properties': {**members, 'kind': {'enum': kinds}}})}\n"
    return f"export type {name} = {_type_expression(schema)};\n"


def _interface_members(schema: Schema, there: tuple[str, ...] = NAMES) -> str:
    """`there`: the keys that are always there."""
    lines = []
    for key, value in schema["properties"].items():
        about = f"  /** {value['description']} */\n" if "description" in value else ""
        lines.append(
            f"{about}  {_property_name(key)}{'' if key in there else '?'}: {_type_expression(value)};"
        )
    return "{\n" + "\n".join([*lines, "  [key: string]: unknown;"]) + "\n}"


def _property_name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) else json.dumps(key)


def _type_name(name: str) -> str:
    return name[0].upper() + name[1:]


def _type_expression(schema: Schema) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return ANY.get(name, _type_name(name))
    if "enum" in schema or "const" in schema:
        known = schema.get("enum", [schema.get("const")])
        # A word that a draft has may be none of those that are known.
        return " | ".join(dict.fromkeys(TYPES[type(value)] for value in known))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " | ".join(dict.fromkeys(map(_type_expression, schema[several])))
    if schema.get("type") == "array":
        member = _type_expression(schema["items"])
        return f"({member})[]" if " | " in member else f"{member}[]"
    if "properties" in schema:
        return re.sub(r"\s*\n\s*", " ", _interface_members(schema))
    if schema.get("type") == "object":
        return "{ [key: string]: unknown }"
    kinds = {"string": "string", "boolean": "boolean", "integer": "number", "number": "number"}
    return kinds.get(schema.get("type", ""), "Json")
