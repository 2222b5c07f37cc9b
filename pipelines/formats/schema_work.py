"""The JSON Schema of what a station's work says, by its kind."""

from __future__ import annotations

from pipelines.routing.basics.schema_parts import SOME_TEXT, Schema, listed, record, words
from pipelines.routing.document import networks
from pipelines.routing.document.kinds import TABLE


def work_schema() -> Schema:
    strict = [
        {
            "if": {"properties": {"kind": {"const": kind.key}}, "required": ["kind"]},
            "then": _networked(kind.schema()),
        }
        for kind in TABLE
    ]
    return {"type": "object", "properties": {"kind": SOME_TEXT}, "required": ["kind"], "allOf": strict}


def _networked(schema: Schema) -> Schema:
    """Programs may run at stations of any kind: hooks of rules, tools of gates."""
    hosts = record((networks.EGRESS,), **{networks.EGRESS: listed(SOME_TEXT, minItems=1)})
    network = {
        "anyOf": [words((networks.NONE, networks.OPEN)), hosts],
        "description": "What the programs of the station may reach; none where nothing is said.",
    }
    return {**schema, "properties": {**schema["properties"], "network": network}}
