"""The JSON Schema of what a station's work says, by its kind."""

from __future__ import annotations

from pipelines.routing.basics.schema_parts import SOME_TEXT, Schema
from pipelines.routing.document.kinds import TABLE


def work_schema() -> Schema:
    strict = [
        {
            "if": {"properties": {"kind": {"const": kind.key}}, "required": ["kind"]},
            "then": kind.record.schema(),
        }
        for kind in TABLE
    ]
    return {"type": "object", "properties": {"kind": SOME_TEXT}, "required": ["kind"], "allOf": strict}
