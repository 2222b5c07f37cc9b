"""An example for each operation in the description of the API: its parameters, what it takes and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VALUES: Mapping[str, Any] = {
    "owner": "demo",
    "project": "app",
    "line": "repository-check",
    "task": "WI-app-1",
    "gate": "human-review",
    "station": "tests",
    "action": "approve",
    "title": "Check the discount",
    "reason": "The tests are missing.",
    "name": "Nightly",
    "email": "mia@example.com",
    "timezone": "Europe/Berlin",
    "zone": "Europe/Berlin",
    "cron": "0 2 * * *",
}
FORMATS = {
    "date-time": "2026-12-31T17:00:00Z",
    "date": "2026-12-31",
    "uuid": "7b0e6c3e-1f0a-4c6e-9a52-6d1f0b8f3a11",
    "uri": "https://git.example.com/app.git",
    "binary": "",
}
# Schemas that contain themselves, as conditions do, end here.
DEEPEST = 8


def add_examples(description: dict[str, Any]) -> None:
    """Puts the examples into a description, in place."""
    schemas = description.get("components", {}).get("schemas", {})
    for operations in description["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                parameter.setdefault(
                    "example", _example_value(parameter["schema"], schemas, parameter["name"])
                )
            answers = [answer for code, answer in operation["responses"].items() if str(code).startswith("2")]
            for message in [*filter(None, [operation.get("requestBody")]), *answers]:
                for content in message.get("content", {}).values():
                    if "example" not in content and "examples" not in content and "schema" in content:
                        content["example"] = _example_value(content["schema"], schemas)


def _example_value(schema: Any, schemas: Mapping[str, Any], name: str = "", depth: int = 0) -> Any:
    if "$ref" in schema:
        schema = {**schemas[schema["$ref"].rpartition("/")[2]], "default": schema.get("default")}
    for key in ("const", "default", "example"):
        if schema.get(key) is not None:
            return schema[key]
    if choices := schema.get("examples") or schema.get("enum"):
        return choices[0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _example_value(schema[key][0], schemas, name, depth)
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties", {}).items() if depth < DEEPEST else ()
        more = schema.get("additionalProperties") if schema.get("minProperties") else None
        return {
            key: _example_value(field, schemas, key, depth + 1)
            for key, field in [*fields, *([("line.yaml", more)] if more else [])]
        }
    if kind == "array" and "prefixItems" in schema:
        return [_example_value(item, schemas, name, depth + 1) for item in schema["prefixItems"]]
    if kind == "array":
        # A schema may contain itself
        count = max(1 if depth < DEEPEST else 0, schema.get("minItems", 0))
        return [_example_value(schema.get("items", {}), schemas, name, depth + 1)] * count
    if kind in {"integer", "number"}:
        return max(1, schema.get("minimum", 1))
    if kind == "string":
        text = FORMATS.get(schema.get("format", "")) or VALUES.get(name, name or "text")
        return str(text).ljust(schema.get("minLength", 0), "a")[: schema.get("maxLength")]
    return {"boolean": True, "null": None}.get(kind or "", {})
