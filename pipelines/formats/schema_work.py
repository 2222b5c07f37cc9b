"""The JSON Schema of what a station's work says, by its kind."""

from __future__ import annotations

from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    COUNT,
    FLAG,
    SOME_TEXT,
    TEXT,
    Schema,
    listed,
    record,
    ref,
    words,
)
from pipelines.routing.document import networks, operators
from pipelines.routing.document.reading import work

ENVIRONMENT: Schema = {"type": "object", "additionalProperties": TEXT}
OBJECT: Schema = {"type": "object"}
KIND = {"kind": TEXT}
POSITIVE: Schema = {**COUNT, "minimum": 1}


def work_schema() -> Schema:
    strict = [
        {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": schema}
        for kind, schema in ((kind, _networked(schema)) for kind, schema in _kinds().items())
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


def _kinds() -> dict[str, Schema]:
    return {
        "command": record(("kind",), **KIND, **_program(), prompt=TEXT),
        "manual": record(("kind",), **KIND, instructions=TEXT, form=listed(ref("input"))),
        "noop": record(("kind",), **KIND),
        "chat": record(("kind",), **KIND, **_asking(), stream=FLAG, tools=TEXT, history=SOME_TEXT),
        "route": record(("kind",), **KIND, **_asking(), by=words(work.CHOOSERS), strict=FLAG),
        "tools": _tools(),
        "http": _one_body(record(("kind",), **KIND, **_call())),
        "hook": record(("kind",), **KIND, **_program()),
        "wait": {
            **record(("kind",), **KIND, **{"for": ref("duration"), "until": TEXT}),
            "not": {"required": ["for", "until"]},
        },
        "error": record(("kind",), **KIND, message=TEXT, failure_type=TEXT),
    }


def _program() -> dict[str, Schema]:
    return {"argv": listed(SOME_TEXT, minItems=1), "env": ENVIRONMENT, "cwd": TEXT}


def _asking() -> dict[str, Schema]:
    temperature = {"type": "number", "minimum": 0, "maximum": work.HOTTEST}
    return {"system": TEXT, "prompt": TEXT, "model": TEXT, "temperature": temperature, "max_tokens": POSITIVE}


def _call() -> dict[str, Schema]:
    secret = record(
        ("secret",), secret={"type": "string", "pattern": work.SECRET.pattern.replace(r"\Z", "$")}
    )
    line = {"type": "string", "pattern": r"^[^\r\n]*$"}
    headers = {
        "type": "object",
        "propertyNames": {"pattern": f"^{work.HEADER.pattern.replace(chr(92) + 'Z', '$')}"},
        "additionalProperties": {"anyOf": [line, secret]},
    }
    return {"method": words(work.METHODS), "url": TEXT, "headers": headers, "body": TEXT, "json": ANYTHING}


def _one_body(call: Schema) -> Schema:
    return {**call, "not": {"required": ["body", "json"]}}


def _tools() -> Schema:
    http = _one_body(record(("url",), **{**_call(), "url": SOME_TEXT}))
    tool = {
        **record(
            ("name",),
            name={"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
            description=TEXT,
            parameters=OBJECT,
            timeout=ref("duration"),
            **_program(),
            http=http,
        ),
        "oneOf": [{"required": ["argv"]}, {"required": ["http"]}],
    }
    test = {
        **record(("path",), path=SOME_TEXT, op=words((*operators.OUTPUT, *work.ALONE)), value=ANYTHING),
        "if": {"properties": {"op": words(work.ALONE)}, "required": ["op"]},
        "then": {"not": {"required": ["value"]}},
        "else": {"required": ["value"]},
    }
    rule = record(("tool", "action"), tool=SOME_TEXT, action=words(work.ACTIONS), when=listed(test))
    return record(
        ("kind",),
        **KIND,
        tools=listed(tool),
        calls=listed(record(("tool",), tool=SOME_TEXT, arguments=OBJECT)),
        policy=record(("default",), default=words(work.ACTIONS), rules=listed(rule)),
        history=SOME_TEXT,
    )
