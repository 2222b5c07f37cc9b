"""Programs and HTTP calls that a model may ask for, or that are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    SOME_TEXT,
    Schema,
    enum_schema,
    list_schema,
    object_schema,
)
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import operators
from pipelines.routing.document.document_readers.names import note_duplicates
from pipelines.routing.document.document_readers.reader import Reader, quoted_value
from pipelines.routing.document.fields import plain_fields
from pipelines.routing.document.fields.field import ReadContext
from pipelines.routing.document.fields.nested import ObjectField
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.handoffs import schema_faults
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.paths import PathError, compile_path
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.http_call import ADDRESS, CALL, ONE_BODY
from pipelines.routing.document.work.keys import TextsIn, Work, WorkKey, texts_with_places
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import HISTORY
from pipelines.routing.document.work.program import ENVIRONMENT, FOLDER, arguments_key

# `{{argument.path}}`
ARGUMENT = re.compile(r"\{\{\s*argument\.([^\s{}|()\"']+)\s*\}\}")
"""A value that the call of a tool brings along; everything else is rendered before the work starts."""
ACTIONS = ("allow", "approve", "deny")
PROGRAM: Mapping[str, WorkKey] = {"argv": arguments_key(), "env": ENVIRONMENT, "cwd": FOLDER}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def declared_tools(work: Work) -> list[Mapping[str, Any]]:
    """The tools that a station runs."""
    tools = work.get("tools")
    return [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, (list, tuple)) else []


@dataclass(frozen=True, kw_only=True)
class ToolName(plain_fields.Text):
    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        name = reader.text(key, required=True)
        if name.strip() and not _NAME.match(name):
            reader.note(
                key,
                _("%(name)s is no name of a tool", name=quoted_value(name)),
                "letters, digits, _ and -, at most 64",
            )
        return name

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}


def _note_call_problems(reader: Reader, context: ReadContext) -> None:
    ONE_BODY.check(reader, context)
    if not reader.given.get("url"):
        reader.note("url", "is missing")


def _note_program_or_call_problem(reader: Reader, context: ReadContext) -> None:
    if reader.is_object and reader.has("argv") == reader.has("http"):
        reader.note("argv", "a tool has a program (argv) or a call (http), and one of them")


HTTP: Record[dict[str, Any]] = Record(
    dict,
    {**CALL, "url": replace(ADDRESS, least=1)},
    check=_note_call_problems,
    rules={**ONE_BODY.schema_rule, "required": ["url"]},
)
TOOL: Record[dict[str, Any]] = Record(
    dict,
    {
        "name": ToolName(required=True, default="", label="Name", code=True),
        "description": plain_fields.Text(
            longest=10_000, label="Description", help="The model reads it.", rows=2
        ),
        "parameters": plain_fields.Object(
            label="Parameters",
            help="A JSON Schema. Each is used by {{argument.name}}, and all come on standard input.",
            rows=4,
        ),
        "timeout": plain_fields.Duration(label="Timeout"),
        **PROGRAM,
        "http": ObjectField(HTTP),
    },
    check=_note_program_or_call_problem,
    rules={"oneOf": [{"required": ["argv"]}, {"required": ["http"]}]},
)


@dataclass(frozen=True, kw_only=True)
class ToolsKey(WorkKey):
    """Callable tools: each a program, or an HTTP call."""

    default: tuple[Any, ...] = ()

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        tools = reader.read_list(key, lambda tool: TOOL.read(tool, context))
        note_duplicates(reader, key, [tool["name"] for tool in tools], "the tool")
        return tools

    def schema(self) -> Schema:
        return list_schema(TOOL.schema())

    def templates(self, value: Any, path: str) -> TextsIn:
        for index, tool in enumerate(declared_tools({"tools": value})):
            for where, text in _templates_of_tool(tool, member_path(path, index)):
                # Arguments are filled in at each call: no variable of the line is meant by them
                yield where, ARGUMENT.sub("", text)

    def references(self, value: Any, kind: str) -> Iterator[str]:
        for tool in declared_tools({"tools": value}):
            for key, field in PROGRAM.items():
                yield from field.references(tool.get(key), kind)
            for key, field in CALL.items():
                yield from field.references((tool.get("http") or {}).get(key), kind)

    def publishing_problems(self, key: str, line: ParsedLine, work: Work, path: str) -> Iterator[Problem]:
        yield from super().publishing_problems(key, line, work, path)
        for index, tool in enumerate(declared_tools(work)):
            at = member_path(f"{path}.{key}", index)
            if "http" in tool:
                for member, field in CALL.items():
                    yield from field.publishing_problems(member, line, tool["http"], f"{at}.http")
            yield from _schema_problems(tool.get("parameters") or {}, f"{at}.parameters")


def _templates_of_tool(tool: Mapping[str, Any], at: str) -> TextsIn:
    for key, field in PROGRAM.items():
        yield from field.templates(tool.get(key), member_path(at, key))
    for key, field in CALL.items():
        yield from field.templates((tool.get("http") or {}).get(key), member_path(f"{at}.http", key))


def _schema_problems(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Arguments are held against it before the tool runs."""
    for fault in schema_faults(schema):
        where = fault.path if fault.path.startswith("[") or not fault.path else f".{fault.path}"
        yield Problem(f"{path}{where}", fault.message, fault.hint)


def _note_unknown_tool(reader: Reader, names: tuple[str, ...]) -> None:
    name = reader.text("tool", required=True)
    if name.strip() and name not in names:
        reader.note("tool", _("this station declares no tool %(name)s", name=quoted_value(name)))


def _tool_names(reader: Reader) -> tuple[str, ...]:
    """Return the names of the tools, which are read earlier."""
    return tuple(tool["name"] for tool in reader.values["tools"])


@dataclass(frozen=True, kw_only=True)
class CallsKey(WorkKey):
    """Calls that are made whatever a model asks for."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        names = _tool_names(reader)
        return reader.read_list(key, lambda inner: _note_problems_of_call(inner, names))

    def schema(self) -> Schema:
        return list_schema(object_schema(("tool",), tool=SOME_TEXT, arguments={"type": "object"}))

    def templates(self, value: Any, path: str) -> TextsIn:
        for index, call in enumerate(value or ()):
            yield from texts_with_places(call.get("arguments"), f"{member_path(path, index)}.arguments")


def _note_problems_of_call(reader: Reader, names: tuple[str, ...]) -> None:
    _note_unknown_tool(reader, names)
    reader.object("arguments")
    reader.note_unknown_keys()


@dataclass(frozen=True, kw_only=True)
class CallPolicyKey(WorkKey):
    """Policy for calls: which are run, which need a person's approval, which are not run."""

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        names = _tool_names(reader)
        return reader.read_object_or_none(key, lambda inner: _note_problems_of_policy(inner, names))

    def schema(self) -> Schema:
        test = {
            **object_schema(
                ("path",),
                path=SOME_TEXT,
                op=enum_schema((*operators.OUTPUT, *operators.ALONE)),
                value=ANYTHING,
            ),
            "if": {"properties": {"op": enum_schema(operators.ALONE)}, "required": ["op"]},
            "then": {"not": {"required": ["value"]}},
            "else": {"required": ["value"]},
        }
        rule = object_schema(
            ("tool", "action"), tool=SOME_TEXT, action=enum_schema(ACTIONS), when=list_schema(test)
        )
        return object_schema(("default",), default=enum_schema(ACTIONS), rules=list_schema(rule))


def _note_problems_of_policy(reader: Reader, names: tuple[str, ...]) -> None:
    if not reader.has("default"):
        reader.note("default", "is missing", "allow, approve or deny what no rule names")
    # Until it is mended nothing is allowed
    reader.choice("default", ACTIONS, "deny")
    reader.read_list("rules", lambda inner: _read_policy_rule(inner, names))
    reader.note_unknown_keys()


def _read_policy_rule(reader: Reader, names: tuple[str, ...]) -> None:
    # Every tool; `text` only marks the key as known.
    if reader.given.get("tool") == "*":
        reader.text("tool")
    else:
        _note_unknown_tool(reader, names)
    if not reader.has("action"):
        reader.note("action", "is missing", "allow, approve or deny")
    reader.choice("action", ACTIONS, "deny")
    reader.read_list("when", _read_policy_test)
    reader.note_unknown_keys()


def _read_policy_test(reader: Reader) -> None:
    """Read a test of the arguments of a call, which works as an `output` condition does on an output."""
    try:
        compile_path(reader.text("path", required=True) or "$")
    except PathError as error:
        reader.note("path", str(error))
    op = reader.choice("op", (*operators.OUTPUT, *operators.ALONE), "equals")
    value = reader.raw("value")
    if op in operators.ALONE:
        if reader.has("value"):
            reader.note("value", _("%(op)s takes no value", op=op))
    elif not reader.has("value"):
        reader.note("value", "is missing")
    else:
        try:
            operators.prepare_operand(op, value)
        except operators.OperandError as error:
            reader.note("value", str(error))
    reader.note_unknown_keys()


def _tool_names_text(station: Station) -> str:
    return ", ".join(str(tool.get("name")) for tool in declared_tools(station.work))


KIND = Kind(
    key="tools",
    name="Tools",
    about="Programs and HTTP calls that a model may ask for are run.",
    icon="wrench",
    docs="kinds.md#tools",
    title="Tools",
    keys={
        "tools": ToolsKey(label="Tools", asked="declare the tools that may be called"),
        "calls": CallsKey(
            rows=2,
            label="Fixed calls",
            help='A list such as [{"tool": "look", "arguments": {}}]. Without it, what the model asks for.',
        ),
        "policy": CallPolicyKey(label="What no rule names"),
        "history": HISTORY,
    },
    fields=("tools", "history", "policy", "calls"),
    executes=True,
    evals=("ok", "error"),
    tells=True,
    actor="agent",
    says=_tool_names_text,
)
