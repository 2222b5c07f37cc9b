"""The least document that a JSON Schema takes: for a handoff of which a scenario says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.routing.basics.problems import Problem
from pipelines.routing.document.handoffs import DEFAULT, handoff_faults
from pipelines.routing.simulate.candidates import TEXT

DEEPEST = 20
_EMPTY: Mapping[str, Any] = {"boolean": True, "null": None}


def least_handoff(schema: Mapping[str, Any] | None) -> tuple[Any, tuple[Problem, ...]]:
    """By this schema, None: by that of AEEF; and what is wrong with it where none that fits was found."""
    used = DEFAULT if schema is None else schema
    document = _least(used, used, 0)
    return document, handoff_faults(document, schema)


def _least(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    """A small document that the schema takes, where that is easily said."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return TEXT
    schema = _flat(schema, root, depth)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    if "default" in schema:
        return schema["default"]
    makers = {
        "object": _object,
        "array": _array,
        "string": _string,
        "integer": _number,
        "number": _number,
    }
    kind = _kind(schema)
    return makers[kind](schema, root, depth) if kind in makers else _EMPTY.get(kind, TEXT)


def _kind(schema: Mapping[str, Any]) -> str:
    said = schema.get("type")
    kind = said[0] if isinstance(said, list) and said else said
    if isinstance(kind, str):
        return kind
    told = {"properties": "object", "required": "object", "items": "array", "minItems": "array"}
    return next((kind for key, kind in told.items() if key in schema), "")


def _flat(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """With what it refers to, all of `allOf` and the first of `anyOf` and `oneOf` put into it."""
    own = {key: said for key, said in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
    parts = [*schema.get("allOf", ()), *schema.get("anyOf", ())[:1], *schema.get("oneOf", ())[:1]]
    if "$ref" in schema:
        parts.append(_referred(root, str(schema["$ref"])))
    if depth > DEEPEST:
        return own
    for part in parts:
        if isinstance(part, Mapping):
            own = _both(own, _flat(part, root, depth + 1))
    return own


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    properties = {**other.get("properties", {}), **one.get("properties", {})}
    required = [*one.get("required", ()), *other.get("required", ())]
    merged = {**other, **one}
    merged |= {"properties": properties} if properties else {}
    return merged | ({"required": list(dict.fromkeys(required))} if required else {})


def _referred(root: Mapping[str, Any], to: str) -> Any:
    found: Any = root
    for part in to.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name, {}) if isinstance(found, Mapping) else {}
    return found


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {key: _least(properties.get(key, {}), root, depth + 1) for key in schema.get("required", ())}


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Any]:
    first = list(schema.get("prefixItems", ()))
    wanted = schema.get("minItems", 0)
    each = [*first[:wanted], *[schema.get("items", {})] * (wanted - len(first))]
    made = [_least(said, root, depth + 1) for said in each]
    if schema.get("uniqueItems"):
        texts = all(isinstance(said, str) for said in made)
        return [f"{said}-{number}" if texts else number for number, said in enumerate(made, 1)]
    return made


def _string(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    return TEXT.ljust(schema.get("minLength", 0), "-")[: schema.get("maxLength")]


def _number(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    step = schema.get("multipleOf", 1)
    least = schema.get("minimum", 0)
    if "exclusiveMinimum" in schema:
        least = max(least, schema["exclusiveMinimum"] + (step or 1))
    most = schema.get("maximum", least)
    if "exclusiveMaximum" in schema:
        most = min(most, schema["exclusiveMaximum"] - (step or 1))
    return min(-(-least // step) * step if step else least, most)
