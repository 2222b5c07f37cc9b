"""Faults of a value by a schema of OpenAPI: names that nobody published, other types, other words of a list. A missing
field is none unless `complete`: a server of the tests says what Gateline reads, not all that the host would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
MIXES = ("allOf", "anyOf", "oneOf")


class PublishedSchema:
    """Schemas of one document, which name one another by `$ref`."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def resolve(self, schema: Schema) -> Schema:
        while isinstance(reference := schema.get("$ref"), str):
            found: Any = self._document
            for key in reference.removeprefix("#/").split("/"):
                found = found[key.replace("~1", "/").replace("~0", "~")]
            schema = found
        return schema

    def faults(self, schema: Schema, value: Any, at: str = "", *, complete: bool = False) -> list[str]:
        """Return what is wrong, each with its place."""
        parts = list(self._parts(schema))
        if wrong := self._value_fault(parts, value):
            return [f"{at or 'all of it'}: {wrong}"]
        if isinstance(value, list):
            items = [part["items"] for part in parts if "items" in part]
            return [
                fault
                for number, row in enumerate(value)
                for fault in self._best(items, row, f"{at}[{number}]", complete)
            ]
        return self._object_faults(schema, parts, value, at, complete) if isinstance(value, dict) else []

    def _object_faults(
        self, schema: Schema, parts: list[Schema], value: dict[str, Any], at: str, complete: bool
    ) -> list[str]:
        known: dict[str, list[Schema]] = {}
        for part in parts:
            for name, field in part.get("properties", {}).items():
                known.setdefault(name, []).append(field)
        more = [part["additionalProperties"] for part in parts if part.get("additionalProperties")]
        faults = []
        for name, field_value in value.items():
            place = f"{at}.{name}".lstrip(".")
            if name in known:
                faults += self._best(known[name], field_value, place, complete)
            elif known and not more:
                faults.append(f"{place}: nobody published it")
        if complete:
            required = self.resolve(schema).get("required", [])
            faults += [f"{at}.{name}: is required" for name in required if name not in value]
        return faults

    def _best(self, schemas: list[Schema], value: Any, at: str, complete: bool) -> list[str]:
        """Return the faults by the schema that fits best."""
        found = [self.faults(schema, value, at, complete=complete) for schema in schemas]
        return min(found, key=len) if found else []

    def _parts(self, schema: Schema) -> Iterator[Schema]:
        """Yield the schema and all that it is put together from, alternatives too."""
        schema = self.resolve(schema)
        yield schema
        for mix in MIXES:
            for part in schema.get(mix, ()):
                yield from self._parts(part)

    @staticmethod
    def _value_fault(parts: list[Schema], value: Any) -> str:
        names: set[str] = set()
        for part in parts:
            said = part.get("type", ())
            names |= {said} if isinstance(said, str) else set(said)
            if part.get("nullable"):
                names.add("null")
        if names and not any(_is_of_type(value, name) for name in names):
            return f"{value!r:.60} is none of {', '.join(sorted(names))}"
        words = [word for part in parts for word in part.get("enum", ())]
        # An alternative without a list takes every word
        lists_all = all("enum" in part for part in parts if "type" in part and part["type"] == "string")
        if words and lists_all and isinstance(value, str) and value not in words:
            return f"{value!r} is none of {', '.join(map(str, words))}"
        return ""


def _is_of_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])
