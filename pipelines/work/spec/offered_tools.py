"""The tools that a station declares: how a model sees them, and what a call becomes. Pure.

What a model writes is data: it fills the places that the line leaves for it and nothing else, it is never an argument
that could be an option, and in an address it is always one escaped part (house §4).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed
from pipelines.routing.basics.values import MISSING
from pipelines.routing.document import operators
from pipelines.routing.document.algebra import ConditionView, OutputTest
from pipelines.routing.document.handoffs import schema_faults, schema_violations
from pipelines.routing.document.paths import compile_path, value_at_key
from pipelines.work.outgoing.http_fetch import Call

ALLOW, APPROVE, DENY = "allow", "approve", "deny"
ANY = "*"
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


class BadCall(Exception):
    """The call cannot be made as it is; the message is told to who asked for it."""


@dataclass(frozen=True)
class Argument:
    """A place that the call fills."""

    name: str


# A text whose own templates are rendered, with the places of arguments left open.
Text = tuple[str | Argument, ...]


@dataclass(frozen=True)
class RequestTemplate:
    """An HTTP call with open places. `json`: a value whose texts are such texts."""

    method: str
    url: Text
    headers: Mapping[str, Text] = field(default_factory=dict, repr=False)
    body: Text = ()
    json: Any = MISSING


@dataclass(frozen=True)
class OfferedTool:
    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    argv: tuple[Text, ...] = ()
    env: Mapping[str, Text] = field(default_factory=dict, repr=False)
    cwd: str = "."
    timeout: float | None = None
    http: RequestTemplate | None = None


def tool_definitions(tools: tuple[Mapping[str, Any], ...]) -> list[dict[str, Any]]:
    """Declared tools in the form in which a model is told of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool["name"],
                "description": tool.get("description") or "",
                "parameters": tool.get("parameters") or dict(NO_PARAMETERS),
            },
        }
        for tool in tools
    ]


def argument_faults_or_empty(tool: OfferedTool, arguments: Mapping[str, Any]) -> str:
    """Return how the arguments do not fit the `parameters` that the tool declares, each fault with its place;
    or ""."""
    if not tool.parameters:
        return ""
    # A line that was published before schemas were looked at may have one that says nothing.
    unusable = schema_faults(tool.parameters)
    if unusable:
        return f"The parameters of {tool.name} are no JSON Schema: {'; '.join(map(str, unusable[:3]))}."
    return "; ".join(map(str, schema_violations(arguments, tool.parameters, "arguments")))


def filled_text(text: Text, arguments: Mapping[str, Any]) -> str:
    """:raises BadCall: an argument is missing"""
    return "".join(
        part if isinstance(part, str) else text_or_json(_argument_value(part, arguments)) for part in text
    )


def _argument_value(place: Argument, arguments: Mapping[str, Any]) -> Any:
    value = value_at_key(dict(arguments), place.name)
    if value is MISSING:
        raise BadCall(f"The argument {place.name} is missing.")
    return value


def text_or_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def tool_argv(tool: OfferedTool, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """:raises BadCall: an argument is missing, or one would be read as an option"""
    argv = []
    for part in tool.argv:
        text = filled_text(part, arguments)
        # Only where the argument begins it: what the line itself wrote may be an option
        if text.startswith("-") and part and isinstance(part[0], Argument):
            raise BadCall(f"The argument {part[0].name} begins with “-”: it could be read as an option.")
        argv.append(text)
    return tuple(argv)


def tool_call_request(request: RequestTemplate, arguments: Mapping[str, Any]) -> Call:
    """:raises BadCall: an argument is missing"""
    url = "".join(
        part
        if isinstance(part, str)
        else text_or_json(_argument_value(part, arguments))
        # At the beginning it is the address itself, which would not survive being escaped
        if index == 0
        else quote(text_or_json(_argument_value(part, arguments)), safe="")
        for index, part in enumerate(request.url)
    )
    headers = {name: filled_text(text, arguments) for name, text in request.headers.items()}
    # A model may write lone surrogates, which UTF-8 has not
    body = filled_text(request.body, arguments).encode(errors="backslashreplace")
    if request.json is not MISSING:
        body = json.dumps(_json_with_arguments(request.json, arguments)).encode()
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    return Call(request.method, url, headers, body)


def _json_with_arguments(value: Any, arguments: Mapping[str, Any]) -> Any:
    """A text that is one place and nothing else becomes the value itself."""
    if isinstance(value, tuple):
        if len(value) == 1 and isinstance(value[0], Argument):
            return _argument_value(value[0], arguments)
        return filled_text(value, arguments)
    if isinstance(value, list):
        return [_json_with_arguments(member, arguments) for member in value]
    if isinstance(value, dict):
        return {key: _json_with_arguments(member, arguments) for key, member in value.items()}
    return value


def policy_action(policy: Mapping[str, Any] | None, name: str, arguments: Any) -> str:
    """The policy's action for a call: the first rule that matches, or else its default (dialect B). A test that
    cannot be evaluated denies."""
    if not policy:
        return ALLOW
    for rule in policy.get("rules") or ():
        if rule["tool"] not in (ANY, name):
            continue
        try:
            if all(_test_holds(test, arguments) for test in rule.get("when") or ()):
                return str(rule["action"])
        # What cannot be judged is not let through
        except (EvaluationFailed, operators.OperandError):
            return DENY
    return str(policy["default"])


def _test_holds(test: Mapping[str, Any], arguments: Any) -> bool:
    op, value = test.get("op", "equals"), test.get("value")
    prepared = None if op in operators.ALONE else operators.prepare_operand(op, value)
    view = ConditionView("", "", "", None, arguments, False, {}, {}, EvaluationBudget())
    return OutputTest(compile_path(test["path"]), op, value, prepared=prepared).test(view)
