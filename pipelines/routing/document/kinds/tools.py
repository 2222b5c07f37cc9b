"""Programs and HTTP calls that a model may ask for, or that are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.problems import Problem, join
from pipelines.routing.basics.schema_parts import (
    ANYTHING,
    SOME_TEXT,
    TEXT,
    Schema,
    listed,
    record,
    ref,
    words,
)
from pipelines.routing.basics.translation import gettext_noop as _
from pipelines.routing.document import operators
from pipelines.routing.document.handoffs import schema_faults
from pipelines.routing.document.model import Line, Station
from pipelines.routing.document.paths import PathError, compile_path
from pipelines.routing.document.reading.names import note_twins
from pipelines.routing.document.reading.reader import Reader, quote
from pipelines.routing.document.work.call import CALL, ONE_BODY
from pipelines.routing.document.work.keys import Key, Texts, Work, texts_in
from pipelines.routing.document.work.kind import Kind
from pipelines.routing.document.work.model_keys import HISTORY
from pipelines.routing.document.work.program import ENVIRONMENT, FOLDER, argv

ARGUMENT = re.compile(r"\{\{\s*argument\.([^\s{}|()\"']+)\s*\}\}")
"""A value that the call of a tool brings along; everything else is rendered before the work starts."""
ACTIONS = ("allow", "approve", "deny")
ALONE = ("exists", "missing")
PROGRAM = (argv(), ENVIRONMENT, FOLDER)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_OBJECT: Schema = {"type": "object"}


def declared(work: Work) -> list[Mapping[str, Any]]:
    """The tools that a station runs."""
    tools = work.get("tools")
    return [each for each in tools if isinstance(each, Mapping)] if isinstance(tools, (list, tuple)) else []


@dataclass(frozen=True, kw_only=True)
class Tools(Key):
    """What may be called: each a program, or an HTTP call."""

    def read(self, reader: Reader) -> None:
        note_twins(reader, self.name, reader.each(self.name, _tool), "the tool")

    def schema(self) -> Schema:
        call = record(("url",), **{**{key.name: key.schema() for key in CALL}, "url": SOME_TEXT})
        tool = record(
            ("name",),
            name={"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
            description=TEXT,
            parameters=_OBJECT,
            timeout=ref("duration"),
            **{key.name: key.schema() for key in PROGRAM},
            http={**call, **ONE_BODY.schema()},
        )
        return listed({**tool, "oneOf": [{"required": ["argv"]}, {"required": ["http"]}]})

    def templates(self, value: Any, path: str) -> Texts:
        for index, tool in enumerate(declared({"tools": value})):
            for where, text in _texts_of(tool, join(path, index)):
                yield where, ARGUMENT.sub("", text)

    def secrets(self, value: Any) -> Iterator[str]:
        for tool in declared({"tools": value}):
            for key in CALL:
                yield from key.secrets((tool.get("http") or {}).get(key.name))

    def lacking(self, line: Line, work: Work, path: str) -> Iterator[Problem]:
        yield from super().lacking(line, work, path)
        for index, tool in enumerate(declared(work)):
            at = join(f"{path}.{self.name}", index)
            if "http" in tool:
                for key in CALL:
                    yield from key.lacking(line, tool["http"], f"{at}.http")
            yield from _schema(tool.get("parameters") or {}, f"{at}.parameters")


def _texts_of(tool: Mapping[str, Any], at: str) -> Texts:
    for key in PROGRAM:
        yield from key.templates(tool.get(key.name), join(at, key.name))
    for key in CALL:
        yield from key.templates((tool.get("http") or {}).get(key.name), join(f"{at}.http", key.name))


def _schema(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Arguments are held against it before the tool runs."""
    for fault in schema_faults(schema):
        where = fault.path if fault.path.startswith("[") or not fault.path else f".{fault.path}"
        yield Problem(f"{path}{where}", fault.message, fault.hint)


def _tool(reader: Reader) -> str:
    name = reader.text("name", required=True)
    if name.strip() and not _NAME.match(name):
        reader.note("name", f"{quote(name)} is no name of a tool", "letters, digits, _ and -, at most 64")
    reader.text("description", longest=10_000)
    reader.object("parameters")
    reader.duration("timeout")
    for key in PROGRAM:
        key.read(reader)
    reader.one("http", _http)
    if reader.is_object and reader.has("argv") == reader.has("http"):
        reader.note("argv", "a tool has a program (argv) or a call (http), and one of them")
    reader.done()
    return name


def _http(reader: Reader) -> None:
    for key in CALL:
        key.read(reader)
    ONE_BODY.read(reader)
    if not reader.given.get("url"):
        reader.note("url", "is missing")
    reader.done()


def _known(reader: Reader, names: tuple[str, ...]) -> None:
    name = reader.text("tool", required=True)
    if name.strip() and name not in names:
        reader.note("tool", f"this station declares no tool {quote(name)}")


def _names(reader: Reader) -> tuple[str, ...]:
    """Of the tools beside the key that is read."""
    names = (tool.get("name") for tool in declared(reader.given))
    return tuple(name if type(name) is str else "" for name in names)


@dataclass(frozen=True, kw_only=True)
class Calls(Key):
    """Calls that are made whatever a model asks for."""

    def read(self, reader: Reader) -> None:
        names = _names(reader)
        reader.each(self.name, lambda each: _call(each, names))

    def schema(self) -> Schema:
        return listed(record(("tool",), tool=SOME_TEXT, arguments=_OBJECT))

    def templates(self, value: Any, path: str) -> Texts:
        for index, call in enumerate(value or ()):
            yield from texts_in(call.get("arguments"), f"{join(path, index)}.arguments")


def _call(reader: Reader, names: tuple[str, ...]) -> None:
    _known(reader, names)
    reader.object("arguments")
    reader.done()


@dataclass(frozen=True, kw_only=True)
class Policy(Key):
    """Which calls are run, which a person is asked for, which are not run."""

    def read(self, reader: Reader) -> None:
        names = _names(reader)
        reader.one(self.name, lambda each: _policy(each, names))

    def schema(self) -> Schema:
        test = {
            **record(("path",), path=SOME_TEXT, op=words((*operators.OUTPUT, *ALONE)), value=ANYTHING),
            "if": {"properties": {"op": words(ALONE)}, "required": ["op"]},
            "then": {"not": {"required": ["value"]}},
            "else": {"required": ["value"]},
        }
        rule = record(("tool", "action"), tool=SOME_TEXT, action=words(ACTIONS), when=listed(test))
        return record(("default",), default=words(ACTIONS), rules=listed(rule))


def _policy(reader: Reader, names: tuple[str, ...]) -> None:
    if not reader.has("default"):
        reader.note("default", "is missing", "allow, approve or deny what no rule names")
    reader.choice("default", ACTIONS, "deny")
    reader.each("rules", lambda each: _policy_rule(each, names))
    reader.done()


def _policy_rule(reader: Reader, names: tuple[str, ...]) -> None:
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
    """Of the arguments of a call, as an `output` condition tests an output."""
    try:
        compile_path(reader.text("path", required=True) or "$")
    except PathError as error:
        reader.note("path", str(error))
    op = reader.choice("op", (*operators.OUTPUT, *ALONE), "equals")
    value = reader.raw("value")
    if op in ALONE:
        if reader.has("value"):
            reader.note("value", f"{op} takes no value")
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
    name=_("Tools"),
    about=_("Programs and HTTP calls that a model may ask for are run."),
    icon="wrench",
    docs="kinds.md#tools",
    title=_("Tools"),
    keys=(
        Tools(name="tools", label=_("Tools"), asked="declare the tools that may be called"),
        Calls(
            name="calls",
            label=_("Fixed calls"),
            help=_(
                'A list such as [{"tool": "look", "arguments": {}}]. Without it, what the model asks for.'
            ),
        ),
        Policy(name="policy", label=_("What no rule names")),
        HISTORY,
    ),
    fields=("tools", "history", "policy", "calls"),
    executes=True,
    evals=("ok", "error"),
    tells=True,
    actor="agent",
    says=_says,
)
