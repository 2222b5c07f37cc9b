"""Forgejo's API, and Gitea's in what Gateline asks: by the client pyforgejo, which is made of Forgejo's description."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from dataclasses import dataclass
from typing import Any

import pydantic
from pyforgejo.issue.raw_client import RawIssueClient
from pyforgejo.repository.raw_client import RawRepositoryClient
from pyforgejo.user.raw_client import RawUserClient

from tests.published.operations import Exchange, matching_template, unknown_names

CLIENTS = (RawRepositoryClient, RawIssueClient, RawUserClient)
PATH = re.compile(
    r"\.request\(\s*f?\"(?P<path>[^\"]*)\",\s*method=\"(?P<method>[A-Z]+)\"(?P<rest>.*?)\n        \)", re.S
)
ENCODED = re.compile(r"\{jsonable_encoder\((\w+)\)\}")
PART = {"params": re.compile(r"params=\{(.*?)\}", re.S), "json": re.compile(r"json=\{(.*?)\}", re.S)}
OF_GITEA = {"repos/{owner}/{repo}/pulls": ("base_branch",)}
"""Filters that Gitea has and Forgejo does not, which leaves them aside: the client looks through what comes."""
NAME = re.compile(r"\"(\w+)\":")


@dataclass(frozen=True)
class Operation:
    """`fields`: the types by their Python name; `reply`: type of the answer."""

    query: tuple[str, ...]
    body: tuple[str, ...]
    fields: dict[str, Any]
    reply: Any


@functools.cache
def operations() -> dict[tuple[str, str], Operation]:
    """Return {(method, path template): operation}, as the source of the client has them."""
    found = {}
    for client in CLIENTS:
        for _name, function in inspect.getmembers(client, inspect.isfunction):
            call = PATH.search(inspect.getsource(function))
            if call is None:
                continue
            names = {
                part: tuple(NAME.findall(match.group(1))) if (match := pattern.search(call["rest"])) else ()
                for part, pattern in PART.items()
            }
            hints = typing.get_type_hints(function, vars(inspect.getmodule(function)))
            key = (call["method"], ENCODED.sub(r"{\1}", call["path"]))
            reply = typing.get_args(hints.pop("return"))
            found[key] = Operation(names["params"], names["json"], hints, reply[0] if reply else None)
    return found


class PublishedForgejo:
    def faults(self, exchange: Exchange) -> list[str]:
        known = operations()
        paths = [path for method, path in known if method == exchange.method]
        template = matching_template(exchange.path, paths)
        if template is None:
            return ["no such operation is published"]
        operation, body = known[exchange.method, template], exchange.body or {}
        faults = [
            *unknown_names("query", exchange.query, (*operation.query, *OF_GITEA.get(template, ()))),
            *unknown_names("body", body, operation.body),
        ]
        for name, value in {**exchange.query, **body}.items():
            if name in operation.fields:
                faults += type_faults(operation.fields[name], value, name)
        if exchange.status < 300 and operation.reply is not None:
            faults += type_faults(operation.reply, exchange.reply, "reply")
        return faults


def type_faults(kind: Any, value: Any, at: str) -> list[str]:
    """Return other types, and names that its models do not have. All fields of theirs may be missing."""
    if value is None:
        return []
    try:
        pydantic.TypeAdapter(kind).validate_python(value)
    except pydantic.ValidationError as error:
        return [f"{at}.{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in error.errors()]
    return list(_unknown_fields(kind, value, at))


def _unknown_fields(kind: Any, value: Any, at: str) -> typing.Iterator[str]:
    arguments = [each for each in typing.get_args(kind) if each is not type(None)]
    if isinstance(value, list) and arguments:
        for number, row in enumerate(value):
            yield from _unknown_fields(arguments[0], row, f"{at}[{number}]")
    elif isinstance(value, dict):
        model = next((each for each in (kind, *arguments) if inspect.isclass(each)), None)
        if model is None or not issubclass(model, pydantic.BaseModel):
            return
        names = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
        for name, part in value.items():
            if name not in names:
                yield f"{at}.{name}: nobody published it"
            else:
                yield from _unknown_fields(names[name], part, f"{at}.{name}")
