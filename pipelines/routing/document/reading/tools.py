"""The tool of a gate: what is run, and when it passes, warns or fails."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics.problems import join
from pipelines.routing.basics.shapes import whole
from pipelines.routing.document.algebra import Answered, Condition, EdgeTaken, leaves
from pipelines.routing.document.gate_tools import ACTIONS, MAX_RETRIES, PARSES, TIMEOUT, Tool
from pipelines.routing.document.reading.conditions import read_argv, read_condition
from pipelines.routing.document.reading.reader import Reader

CONDITIONS = ("pass_if", "warn_if", "fail_if")


def read_tool(reader: Reader) -> Tool:
    before = len(reader.problems)
    argv = read_argv(reader)
    outcome = reader.one("outcome", _outcome) or {}
    retries = reader.one("retries", _retries) or (0, 1)
    timeout = reader.duration("timeout")
    tool: dict[str, Any] = {
        "argv": argv,
        "cwd": reader.text("cwd", "."),
        "env": _env(reader),
        "stdin": reader.optional_text("stdin"),
        "timeout": TIMEOUT if timeout is None else timeout,
        "retries": retries[0],
        "backoff": retries[1],
        **outcome,
        "action": reader.choice("action", ACTIONS, "rework"),
        "approve_warnings": reader.flag("approve_warnings"),
        "enabled": reader.flag("enabled", True),
    }
    reader.done()
    return Tool(**tool) if len(reader.problems) == before else Tool(("true",))


def _retries(reader: Reader) -> tuple[int, float]:
    most = reader.count("max", 0) or 0
    if most > MAX_RETRIES:
        reader.note("max", f"is at most {MAX_RETRIES}")
    backoff = reader.duration("backoff")
    reader.done()
    return most, 1 if backoff is None else backoff


def _env(reader: Reader) -> dict[str, str]:
    found = reader.object("env")
    for key, value in found.items():
        if type(value) is not str:
            reader.problems.note(join(reader.at("env"), key), "has to be a text")
    return found


def _outcome(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {
        "parse": reader.choice("parse", PARSES, "exit_code"),
        "success_on": _codes(reader),
        "conditions": {},
    }
    for key in CONDITIONS:
        value = reader.raw(key)
        if not reader.has(key):
            continue
        condition = read_condition(value, reader.at(key), reader.problems, ())
        if _asks(condition):
            reader.note(key, "reads the tool's own output; it cannot ask anybody or count edges")
        found[key] = condition
        found["conditions"][key] = value
    reader.done()
    return found


def _codes(reader: Reader) -> tuple[int, ...]:
    codes = []
    for value, path in reader.members("success_on"):
        code = whole(value)
        if code is None or not 0 <= code <= 255:
            reader.problems.note(path, "has to be an exit code, 0 to 255")
        else:
            codes.append(code)
    if reader.given.get("success_on") == []:
        reader.note("success_on", "names no exit code", "leave the key out for 0")
    return tuple(codes) or (0,)


def _asks(condition: Condition) -> bool:
    return any(isinstance(leaf, (Answered, EdgeTaken)) for leaf in leaves(condition))
