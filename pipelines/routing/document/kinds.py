"""What is known of the kinds of work beyond their keys: what they report, what they lack, what they render."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipelines.routing.basics.problems import Problem, join
from pipelines.routing.document.algebra import All, AnyOf, Condition, EvalTest
from pipelines.routing.document.handoffs import schema_faults
from pipelines.routing.document.model import Line, Station

EVALS: Mapping[str, tuple[str, ...]] = {
    "chat": ("stop", "tool-call", "length"),
    "tools": ("ok", "error"),
    "http": ("200", "201", "204", "404", "500"),
    "hook": ("ok", "failed"),
    "error": ("error",),
}
"""What a station of a kind says in `eval` (dialects B11). Any text may stand in a condition; these are offered."""

DERIVED = ("ok", "error", "cancelled", "blocked")
ARGUMENT = re.compile(r"\{\{\s*argument\.([^\s{}|()\"']+)\s*\}\}")
"""A value that the call of a tool brings along; everything else is rendered before the work starts."""
_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*")


def evals(station: Station) -> tuple[str, ...]:
    """The evals that may be expected of a station, the likely ones first."""
    own = labels(station) if station.kind == "route" else EVALS.get(station.kind, ())
    also = ("ok", "failed") if station.kind == "hook" else DERIVED
    return tuple(dict.fromkeys((*own, *(each for each in also if not own or each in ("error", "cancelled")))))


def labels(station: Station) -> tuple[str, ...]:
    """What a `route` may choose: the evals that its own rules ask for by `equals`, in their order (dialects B12)."""
    found = (label for rule in station.rules for label in _labels(rule.when))
    return tuple(dict.fromkeys(found))


def _labels(condition: Condition) -> Iterator[str]:
    if isinstance(condition, (All, AnyOf)):
        for member in condition.members:
            yield from _labels(member)
    elif isinstance(condition, EvalTest) and condition.op == "equals" and type(condition.value) is str:
        yield condition.value


MODEL_SERVER, DEFAULT_MODEL = "model-server", "default-model"


def needs(station: Station) -> tuple[str, ...]:
    """What a worker has to have for a station's work, besides its labels: `kind:<kind>`, a model, `secret:<name>`."""
    asks = station.kind in ("chat", "route") and not station.by_people
    model = [MODEL_SERVER, *([] if station.work.get("model") else [DEFAULT_MODEL])] if asks else []
    return (f"kind:{station.kind}", *model, *(f"secret:{name}" for name in secrets(station.work)))


def lacking(line: Line, station: Station, path: str) -> Iterator[Problem]:
    """What a station needs before it can be published."""
    check = LACKING.get(station.kind)
    if check is not None:
        yield from check(line, station, path)


def _needs(work: Mapping[str, Any], key: str, path: str, hint: str) -> Iterator[Problem]:
    value = work.get(key)
    if not value or (type(value) is str and not value.strip()):
        yield Problem(f"{path}.{key}", "is missing", hint)


def _program(line: Line, station: Station, path: str) -> Iterator[Problem]:
    yield from _needs(station.work, "argv", path, f"a {station.kind} needs a program, like [ruff, check]")


def _chat(line: Line, station: Station, path: str) -> Iterator[Problem]:
    work = station.work
    if not work.get("history"):
        yield from _needs(work, "prompt", path, "say what the model is asked")
    named = work.get("tools")
    if named:
        its = line.stations_by_key.get(named)
        if its is None or its.kind != "tools":
            yield Problem(
                f"{path}.tools", f"“{named}” is no station that runs tools", "name one of kind tools"
            )


def _tools(line: Line, station: Station, path: str) -> Iterator[Problem]:
    work = station.work
    yield from _needs(work, "tools", path, "declare the tools that may be called")
    for index, tool in enumerate(work.get("tools") or ()):
        at = join(f"{path}.tools", index)
        yield from _address(tool.get("http") or {}, f"{at}.http")
        yield from _schema(tool.get("parameters") or {}, f"{at}.parameters")


def _schema(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Arguments are held against it before the tool runs."""
    for fault in schema_faults(schema):
        where = fault.path if fault.path.startswith("[") or not fault.path else f".{fault.path}"
        yield Problem(f"{path}{where}", fault.message, fault.hint)


def _route(line: Line, station: Station, path: str) -> Iterator[Problem]:
    if not station.by_people:
        yield from _needs(station.work, "prompt", path, "say by what the model chooses")
    if not labels(station):
        message = "there is nothing to choose: no rule asks for an eval by equals"
        rules = f"{path.removesuffix('.work')}.rules"
        yield Problem(rules, message, "add a rule for each label, like when: {eval: {op: equals, …}}")


def _http(line: Line, station: Station, path: str) -> Iterator[Problem]:
    yield from _needs(station.work, "url", path, "say which address is called")
    yield from _address(station.work, path)


def _address(call: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """An address is http(s), or one placeholder; where it leads is not pieced together."""
    url = str(call.get("url") or "").strip()
    if not url or url.startswith("{{"):
        return
    if not url.lower().startswith(("http://", "https://")):
        yield Problem(f"{path}.url", "is no address", "write it with http:// or https://")
    elif "{{" in (_HOST.match(url) or [""])[0]:
        message = "a host is written out, or the whole address is one placeholder"
        yield Problem(f"{path}.url", message, "like https://api.example.com/{{input.path}}, or {{input.url}}")


def _wait(line: Line, station: Station, path: str) -> Iterator[Problem]:
    if "for" not in station.work:
        yield from _needs(station.work, "until", path, "say for how long, or until when")


def _error(line: Line, station: Station, path: str) -> Iterator[Problem]:
    yield from _needs(station.work, "message", path, "say what went wrong")


LACKING: Mapping[str, Callable[[Line, Station, str], Iterator[Problem]]] = {
    "command": _program,
    "hook": _program,
    "chat": _chat,
    "tools": _tools,
    "route": _route,
    "http": _http,
    "wait": _wait,
    "error": _error,
}


# What is rendered before the work starts, each with its place

TEXTS = ("prompt", "system", "cwd", "instructions", "message", "until")


def templates(work: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """The texts of a station's work that are rendered; of what a tool is called with, all but the arguments."""
    yield from ((f"{path}.{key}", work[key]) for key in TEXTS if type(work.get(key)) is str)
    yield from _of_a_program(work, path)
    if work.get("kind") == "http":
        yield from _of_a_call(work, path)
    tools = work.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, (list, tuple)) else ()):
        at = join(f"{path}.tools", index)
        texts = (*_of_a_program(tool, at), *_of_a_call(tool.get("http") or {}, f"{at}.http"))
        yield from ((where, ARGUMENT.sub("", text)) for where, text in texts)
    for index, call in enumerate(work.get("calls") or ()):
        yield from texts_in(call.get("arguments"), join(f"{path}.calls", index) + ".arguments")


def _of_a_program(work: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    yield from texts_in(work.get("argv"), f"{path}.argv")
    yield from texts_in(work.get("env"), f"{path}.env")
    if work.get("kind") is None and type(work.get("cwd")) is str:
        yield f"{path}.cwd", work["cwd"]


def _of_a_call(call: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{path}.{key}", call[key]) for key in ("url", "body") if type(call.get(key)) is str)
    for name, value in (call.get("headers") or {}).items():
        if type(value) is str:
            yield join(f"{path}.headers", name), value
    yield from texts_in(call.get("json"), f"{path}.json")


def texts_in(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its place."""
    if type(value) is str:
        yield path, value
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            yield from texts_in(member, join(path, index))
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from texts_in(member, join(path, key))


def secrets(work: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the secrets that headers ask for: whoever publishes them needs the permission `execute`."""
    tools = work.get("tools")
    calls = [work, *(tool.get("http") or {} for tool in (tools if isinstance(tools, (list, tuple)) else ()))]
    found = (value for call in calls for value in (call.get("headers") or {}).values())
    return tuple(dict.fromkeys(value["secret"] for value in found if isinstance(value, Mapping)))
