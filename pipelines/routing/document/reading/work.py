"""What the kinds of work say that call, choose, wait or raise. What they lack is found when they are published."""

from __future__ import annotations

import re
from typing import Any

from pipelines.routing.basics.problems import join
from pipelines.routing.basics.values import is_number
from pipelines.routing.document import operators
from pipelines.routing.document.paths import PathError, compile_path
from pipelines.routing.document.reading.names import note_twins
from pipelines.routing.document.reading.reader import Reader, quote

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
ACTIONS = ("allow", "approve", "deny")
CHOOSERS = ("model", "person")
ALONE = ("exists", "missing")
HOTTEST = 2
SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,63}\Z")
SECRET_WORDS = (
    "capitals, digits and _, beginning with a capital: GATELINE_SECRET_… in the environment of the worker"
)
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}\Z")


def program(reader: Reader, *, prompted: bool = False) -> None:
    """A program with its arguments, environment and folder; `prompted`: with what it reads on standard input."""
    reader.texts("argv")
    if reader.given.get("argv") == []:
        reader.note("argv", "names no program")
    for name, value in reader.object("env").items():
        if type(value) is not str or not name or "=" in name:
            reader.problems.note(join(reader.at("env"), name), "an environment is names and texts")
    if prompted:
        reader.text("prompt", longest=1_000_000)
    reader.text("cwd")


def command(reader: Reader) -> None:
    program(reader, prompted=True)


def call(reader: Reader) -> None:
    """An HTTP call."""
    reader.choice("method", METHODS, "GET")
    reader.text("url", longest=10_000)
    for name, value in reader.object("headers").items():
        at = join(reader.at("headers"), name)
        if not HEADER.match(name):
            reader.problems.note(at, "is no name of a header")
        elif type(value) is dict:
            _secret(Reader(value, at, reader.problems))
        elif type(value) is not str or "\n" in value or "\r" in value:
            reader.problems.note(at, "is one line of text, or {secret: NAME}")
    reader.text("body", longest=1_000_000)
    reader.raw("json")
    if reader.has("body") and reader.has("json"):
        reader.note("json", "a call has a body or json, not both")


def _secret(reader: Reader) -> None:
    name = reader.text("secret", required=True)
    if name.strip() and not SECRET.match(name):
        reader.note("secret", f"{quote(name)} is no name of a secret", SECRET_WORDS)
    reader.done()


def _asking(reader: Reader) -> None:
    """What every question to a model may say."""
    reader.text("system", longest=1_000_000)
    reader.text("prompt", longest=1_000_000)
    reader.text("model", longest=200)
    temperature = reader.raw("temperature")
    if reader.has("temperature") and not (is_number(temperature) and 0 <= temperature <= HOTTEST):
        reader.note("temperature", f"has to be a number from 0 to {HOTTEST}")
    reader.count("max_tokens", least=1)


def chat(reader: Reader) -> None:
    _asking(reader)
    reader.flag("stream", True)
    reader.text("tools")
    _history(reader)


def _history(reader: Reader) -> None:
    key = reader.text("history", longest=64)
    if reader.has("history") and not key.strip():
        reader.note("history", "is empty", "name the key of the context that holds the conversation")


def route(reader: Reader) -> None:
    reader.choice("by", CHOOSERS, "model")
    _asking(reader)
    reader.flag("strict")


def tools(reader: Reader) -> None:
    names = reader.each("tools", _tool)
    note_twins(reader, "tools", names, "the tool")
    reader.each("calls", lambda each: _call(each, names))
    reader.one("policy", lambda each: _policy(each, names))
    _history(reader)


def _tool(reader: Reader) -> str:
    name = reader.text("name", required=True)
    if name.strip() and not TOOL_NAME.match(name):
        reader.note("name", f"{quote(name)} is no name of a tool", "letters, digits, _ and -, at most 64")
    reader.text("description", longest=10_000)
    reader.object("parameters")
    reader.duration("timeout")
    program(reader)
    reader.one("http", _http_of_a_tool)
    if reader.is_object and reader.has("argv") == reader.has("http"):
        reader.note("argv", "a tool has a program (argv) or a call (http), and one of them")
    reader.done()
    return name


def _http_of_a_tool(reader: Reader) -> None:
    call(reader)
    if not reader.given.get("url"):
        reader.note("url", "is missing")
    reader.done()


def _call(reader: Reader, names: tuple[str, ...]) -> None:
    _known(reader, names)
    reader.object("arguments")
    reader.done()


def _known(reader: Reader, names: tuple[str, ...]) -> None:
    name = reader.text("tool", required=True)
    if name.strip() and name not in names:
        reader.note("tool", f"this station declares no tool {quote(name)}")


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


def http(reader: Reader) -> None:
    call(reader)


def hook(reader: Reader) -> None:
    program(reader)


def wait(reader: Reader) -> None:
    reader.duration("for")
    reader.text("until", longest=1_000)
    if reader.has("for") and reader.has("until"):
        reader.note("until", "a wait is for a duration or until a time, not both")


def error(reader: Reader) -> None:
    reader.text("message", longest=10_000)
    reader.text("failure_type", longest=200)


KINDS: dict[str, Any] = {
    "command": command,
    "noop": lambda reader: None,
    "chat": chat,
    "tools": tools,
    "route": route,
    "http": http,
    "hook": hook,
    "wait": wait,
    "error": error,
}
"""{kind: what reads its keys}; `manual` has fields, and stands with them in `stations`."""
