"""The JSON Schema (2020-12) of the line document: strict about unknown keys, except under `extra`.

The objects say theirs from the declarations of their keys. What a schema cannot say (references, RFC 9535 paths, RE2
patterns, ranges) the readers say. The schema accepts whatever they accept.
"""

from __future__ import annotations

import copy

from pipelines.formats.schema_work import work_schema
from pipelines.routing.basics.outcome import RESULTS, VERDICTS
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    COUNT,
    KEY,
    SOME_TEXT,
    TEXT,
    Schema,
    form,
    listed,
    one_or_more,
    record,
    ref,
    where,
    words,
)
from pipelines.routing.document import operators
from pipelines.routing.document.evaluations import EVALUATORS
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
                "duration": _duration(),
                "condition": _condition(),
                "work": work_schema(),
                **LINE.definitions(),
            },
        }
    )


def _duration() -> Schema:
    number = {"type": "number", "minimum": 0}
    text = {"type": "string", "pattern": r"^\s*[0-9]{1,9}(\.[0-9]{1,6})?\s*[smhd]\s*$"}
    return {"anyOf": [number, text], "description": "Seconds, or 90s, 5m, 2h, 1d."}


def _condition() -> Schema:
    return {
        "oneOf": [
            form("always", {"const": True}),
            form("result", one_or_more(words((*RESULTS, "any")))),
            form("verdict", one_or_more(words((*VERDICTS, "any")))),
            form("eval", record(("op", "value"), op=words((*operators.COMMON, "range")), value=ANYTHING)),
            form("output", _at_path()),
            form("fact", _at_path()),
            form("failure_type", one_or_more(TEXT)),
            form(
                "edge",
                record(("from", "to", "at_least"), **{"from": SOME_TEXT, "to": SOME_TEXT, "at_least": COUNT}),
            ),
            form("all", listed(ref("condition"))),
            form("any", listed(ref("condition"))),
            form("not", ref("condition")),
            form(
                "agentic",
                record(("question",), question=SOME_TEXT, evaluator=words(EVALUATORS)),
                answer=words(("yes", "no")),
            ),
            form(
                "hook",
                record(("argv",), argv=listed(SOME_TEXT, minItems=1), timeout=ref("duration")),
                answer=words(("pass", "block")),
            ),
        ]
    }


def _at_path() -> Schema:
    members = {
        "path": SOME_TEXT,
        "op": words((*operators.OUTPUT, *operators.ALONE)),
        "value": ANYTHING,
        "of": words(("some", "every", "count")),
    }
    typed = [
        where("op", op, operators.OPERAND_TYPES[operator.takes][1])
        for op, operator in operators.OUTPUT.items()
        if operator.takes in operators.OPERAND_TYPES
    ]
    free = {"properties": {"op": words(operators.ALONE)}}
    return {
        **record(("path", "op"), **members),
        "allOf": [*typed, {"if": free, "else": {"required": ["value"]}}],
    }
