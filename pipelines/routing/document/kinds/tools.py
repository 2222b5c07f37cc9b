"""Programs and HTTP calls that a model may ask for, or that are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.routing.basics.problems import Problem, join
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    SOME_TEXT,
    Schema,
    listed,
    record,
    words,
)
from pipelines.routing.basics.wording import Wording as _
from pipelines.routing.document import operators
from pipelines.routing.document.fields import plain
from pipelines.routing.document.fields.field import Around
from pipelines.routing.document.fields.nested import One
from pipelines.routing.document.fields.record import Record
from pipelines.routing.document.handoffs import schema_faults
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.paths import PathError, compile_path
from pipelines.routing.document.reading.names import note_twins
from pipelines.routing.document.reading.reader import Reader, quote
from pipelines.routing.document.stations import Station
from pipelines.routing.document.work.call import ADDRESS, CALL, ONE_BODY
from pipelines.routing.document.work.keys import TextsIn, Work, WorkKey, texts_in
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import HISTORY
from pipelines.routing.document.work.program import ENVIRONMENT, FOLDER, argv

# `{{argument.path}}`
ARGUMENT = re.compile(r"\{\{\s*argument\.([^\s{}|()\"']+)\s*\}\}")
"""A value that the call of a tool brings along; everything else is rendered before the work starts."""
ACTIONS = ("allow", "approve", "deny")
PROGRAM: Mapping[str, WorkKey] = {"argv": argv(), "env": ENVIRONMENT, "cwd": FOLDER}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def declared(work: Work) -> list[Mapping[str, Any]]:
    """The tools that a station runs."""
    tools = work.get("tools")
    return [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, (list, tuple)) else []


@dataclass(frozen=True, kw_only=True)
class ToolName(plain.Text):
    def read(self, reader: Reader, key: str, around: Around) -> Any:
        name = reader.text(key, required=True)
        if name.strip() and not _NAME.match(name):
            reader.note(
                key,
                _("%(name)s is no name of a tool", name=quote(name)),
                "letters, digits, _ and -, at most 64",
            )
        return name

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}


def _call_of_a_tool(reader: Reader, around: Around) -> None:
    ONE_BODY.check(reader, around)
    if not reader.given.get("url"):
        reader.note("url", "is missing")


def _one_of_both(reader: Reader, around: Around) -> None:
    if reader.is_object and reader.has("argv") == reader.has("http"):
        reader.note("argv", "a tool has a program (argv) or a call (http), and one of them")


HTTP: Record[dict[str, Any]] = Record(
    dict,
    {**CALL, "url": replace(ADDRESS, least=1)},
    check=_call_of_a_tool,
    rules={**ONE_BODY.rule, "required": ["url"]},
)
TOOL: Record[dict[str, Any]] = Record(
    dict,
    {
        "name": ToolName(required=True, default="", label="Name", code=True),
        "description": plain.Text(longest=10_000, label="Description", help="The model reads it.", rows=2),
        "parameters": plain.Object(
            label="Parameters",
            help="A JSON Schema. Each is used by {{argument.name}}, and all come on standard input.",
            rows=4,
        ),
        "timeout": plain.Duration(label="Timeout"),
        **PROGRAM,
        "http": One(HTTP),
    },
    check=_one_of_both,
    rules={"oneOf": [{"required": ["argv"]}, {"required": ["http"]}]},
)


@dataclass(frozen=True, kw_only=True)
class Tools(WorkKey):
    """Callable tools: each a program, or an HTTP call."""

    default: tuple[Any, ...] = ()

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        tools = reader.each(key, lambda tool: TOOL.read(tool, around))
        note_twins(reader, key, [tool["name"] for tool in tools], "the tool")
        return tools

    def schema(self) -> Schema:
        return listed(TOOL.schema())

    def templates(self, value: Any, path: str) -> TextsIn:
        for index, tool in enumerate(declared({"tools": value})):
            for where, text in _texts_of(tool, join(path, index)):
                yield where, ARGUMENT.sub("", text)

    def references(self, value: Any, kind: str) -> Iterator[str]:
        for tool in declared({"tools": value}):
            for key, field in PROGRAM.items():
                yield from field.references(tool.get(key), kind)
            for key, field in CALL.items():
                yield from field.references((tool.get("http") or {}).get(key), kind)

    def lacking(self, key: str, line: ParsedLine, work: Work, path: str) -> Iterator[Problem]:
        yield from super().lacking(key, line, work, path)
        for index, tool in enumerate(declared(work)):
            at = join(f"{path}.{key}", index)
            if "http" in tool:
                for member, field in CALL.items():
                    yield from field.lacking(member, line, tool["http"], f"{at}.http")
            yield from _schema(tool.get("parameters") or {}, f"{at}.parameters")


def _texts_of(tool: Mapping[str, Any], at: str) -> TextsIn:
    for key, field in PROGRAM.items():
        yield from field.templates(tool.get(key), join(at, key))
    for key, field in CALL.items():
        yield from field.templates((tool.get("http") or {}).get(key), join(f"{at}.http", key))


def _schema(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Arguments are held against it before the tool runs."""
    for fault in schema_faults(schema):
        where = fault.path if fault.path.startswith("[") or not fault.path else f".{fault.path}"
        yield Problem(f"{path}{where}", fault.message, fault.hint)


def _known(reader: Reader, names: tuple[str, ...]) -> None:
    name = reader.text("tool", required=True)
    if name.strip() and name not in names:
        reader.note("tool", _("this station declares no tool %(name)s", name=quote(name)))


def _names(reader: Reader) -> tuple[str, ...]:
    """Return the names of the tools, which are read earlier."""
    return tuple(tool["name"] for tool in reader.values["tools"])


@dataclass(frozen=True, kw_only=True)
class Calls(WorkKey):
    """Calls that are made whatever a model asks for."""

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        names = _names(reader)
        return reader.each(key, lambda inner: _call(inner, names))

    def schema(self) -> Schema:
        return listed(record(("tool",), tool=SOME_TEXT, arguments={"type": "object"}))

    def templates(self, value: Any, path: str) -> TextsIn:
        for index, call in enumerate(value or ()):
            yield from texts_in(call.get("arguments"), f"{join(path, index)}.arguments")


def _call(reader: Reader, names: tuple[str, ...]) -> None:
    _known(reader, names)
    reader.object("arguments")
    reader.done()


@dataclass(frozen=True, kw_only=True)
class CallPolicy(WorkKey):
    """Policy for calls: which are run, which need a person's approval, which are not run."""

    def read(self, reader: Reader, key: str, around: Around) -> Any:
        names = _names(reader)
        return reader.one(key, lambda inner: _policy(inner, names))

    def schema(self) -> Schema:
        test = {
            **record(
                ("path",), path=SOME_TEXT, op=words((*operators.OUTPUT, *operators.ALONE)), value=ANYTHING
            ),
            "if": {"properties": {"op": words(operators.ALONE)}, "required": ["op"]},
            "then": {"not": {"required": ["value"]}},
            "else": {"required": ["value"]},
        }
        rule = record(("tool", "action"), tool=SOME_TEXT, action=words(ACTIONS), when=listed(test))
        return record(("default",), default=words(ACTIONS), rules=listed(rule))


def _policy(reader: Reader, names: tuple[str, ...]) -> None:
    if not reader.has("default"):
        reader.note("default", "is missing", "allow, approve or deny what no rule names")
    reader.choice("default", ACTIONS, "deny")
    reader.each("rules", lambda inner: _policy_rule(inner, names))
    reader.done()


def _policy_rule(reader: Reader, names: tuple[str, ...]) -> None:
    # Every tool; `text` only marks the key as known.
    if reader.given.get("tool") == "*":
        reader.text("tool")
    else:
        _known(reader, names)
    if not reader.has("action"):
        reader.note("action", "is missing", "allow, approve or deny")
    reader.choice("action", ACTIONS, "deny")
    reader.each("when", _policy_test)
    reader.done()


def _policy_test(reader: Reader) -> None:
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
            operators.prepare(op, value)
        except operators.OperandError as error:
            reader.note("value", str(error))
    reader.done()


def _says(station: Station) -> str:
    return ", ".join(str(tool.get("name")) for tool in declared(station.work))


KIND = Kind(
    key="tools",
    name="Tools",
    about="Programs and HTTP calls that a model may ask for are run.",
    icon="wrench",
    docs="kinds.md#tools",
    title="Tools",
    keys={
        "tools": Tools(label="Tools", asked="declare the tools that may be called"),
        "calls": Calls(
            rows=2,
            label="Fixed calls",
            help='A list such as [{"tool": "look", "arguments": {}}]. Without it, what the model asks for.',
        ),
        "policy": CallPolicy(label="What no rule names"),
        "history": HISTORY,
    },
    fields=("tools", "history", "policy", "calls"),
    executes=True,
    evals=("ok", "error"),
    tells=True,
    actor="agent",
    says=_says,
)
