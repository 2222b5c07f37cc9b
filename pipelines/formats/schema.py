"""The JSON Schema (2020-12) of the line document: strict about unknown keys, except under `extra`.

The objects say theirs from the declarations of their keys. What a schema cannot say (references, RFC 9535 paths, RE2
patterns, ranges) the readers say. The schema accepts whatever they accept.
"""

from __future__ import annotations

import copy

from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    COUNT,
    KEY,
    SOME_TEXT,
    TEXT,
    Schema,
    condition_schema,
    definition_reference,
    enum_schema,
    list_schema,
    object_schema,
    one_or_more_schema,
    operator_schema,
)
from pipelines.routing.document import operators
from pipelines.routing.document.evaluations import EVALUATORS
from pipelines.routing.document.kinds import TABLE
from pipelines.routing.document.model import LINE


def json_schema() -> Schema:
    """The published schema; a fresh object each time."""
    return copy.deepcopy(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Gateline line document",
            **LINE.schema(),
            "$defs": {
                "key": KEY,
                "duration": _duration_schema(),
                "condition": _condition_schema(),
                "work": work_schema(),
                **LINE.definitions(),
            },
        }
    )


def _duration_schema() -> Schema:
    number = {"type": "number", "minimum": 0}
    text = {"type": "string", "pattern": r"^\s*[0-9]{1,9}(\.[0-9]{1,6})?\s*[smhd]\s*$"}
    return {"anyOf": [number, text], "description": "Seconds, or 90s, 5m, 2h, 1d."}


def _condition_schema() -> Schema:
    return {
        "oneOf": [
            condition_schema("always", {"const": True}),
            condition_schema("result", one_or_more_schema(enum_schema((*RESULTS, "any")))),
            condition_schema("verdict", one_or_more_schema(enum_schema((*VERDICTS, "any")))),
            condition_schema(
                "eval",
                object_schema(("op", "value"), op=enum_schema((*operators.COMMON, "range")), value=ANYTHING),
            ),
            condition_schema("output", _path_test_schema()),
            condition_schema("fact", _path_test_schema()),
            condition_schema("failure_type", one_or_more_schema(TEXT)),
            condition_schema(
                "edge",
                object_schema(
                    ("from", "to", "at_least"), **{"from": SOME_TEXT, "to": SOME_TEXT, "at_least": COUNT}
                ),
            ),
            condition_schema("all", list_schema(definition_reference("condition"))),
            condition_schema("any", list_schema(definition_reference("condition"))),
            condition_schema("not", definition_reference("condition")),
            condition_schema(
                "agentic",
                object_schema(("question",), question=SOME_TEXT, evaluator=enum_schema(EVALUATORS)),
                answer=enum_schema(("yes", "no")),
            ),
            condition_schema(
                "hook",
                object_schema(
                    ("argv",),
                    argv=list_schema(SOME_TEXT, minItems=1),
                    timeout=definition_reference("duration"),
                ),
                answer=enum_schema(("pass", "block")),
            ),
        ]
    }


def _path_test_schema() -> Schema:
    members = {
        "path": SOME_TEXT,
        "op": enum_schema((*operators.OUTPUT, *operators.ALONE)),
        "value": ANYTHING,
        "of": enum_schema(("some", "every", "count")),
    }
    typed = [
        operator_schema("op", op, operators.OPERAND_TYPES[operator.takes][1])
        for op, operator in operators.OUTPUT.items()
        if operator.takes in operators.OPERAND_TYPES
    ]
    free = {"properties": {"op": enum_schema(operators.ALONE)}}
    return {
        **object_schema(("path", "op"), **members),
        "allOf": [*typed, {"if": free, "else": {"required": ["value"]}}],
    }


# The JSON Schema of what a station's work says, by its kind.


def work_schema() -> Schema:
    strict = [
        {
            "if": {"properties": {"kind": {"const": kind.key}}, "required": ["kind"]},
            "then": kind.record.schema(),
        }
        for kind in TABLE
    ]
    return {"type": "object", "properties": {"kind": SOME_TEXT}, "required": ["kind"], "allOf": strict}
