"""The keys of an HTTP call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics.problems import Problem, member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.fields.field import ReadContext
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.work.keys import (
    PROMPT,
    ChoiceKey,
    JsonKey,
    TextKey,
    ValuesByName,
    Work,
    WorkKey,
)
from pipelines.routing.document.work.kind import NotBoth
from pipelines.routing.document.work.references import note_reference_problems, reference_schemas

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# The token of RFC 9110: `X-Request-Id`
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}\Z")
# Scheme and host of an address: `https://api.example.com:8443`
_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*")


@dataclass(frozen=True, kw_only=True)
class AddressKey(TextKey):
    """An address is http(s), or one placeholder; where it leads is not pieced together. `least`: characters that the
    JSON Schema wants."""

    least: int = 0

    def schema(self) -> Schema:
        return {**super().schema(), **({"minLength": self.least} if self.least else {})}

    def publishing_problems(self, key: str, line: ParsedLine, work: Work, path: str) -> Iterator[Problem]:
        yield from super().publishing_problems(key, line, work, path)
        url = str(work.get(key) or "").strip()
        if not url or url.startswith("{{"):
            return
        if not url.lower().startswith(("http://", "https://")):
            yield Problem(f"{path}.{key}", "is no address", "write it with http:// or https://")
        elif "{{" in (_HOST.match(url) or [""])[0]:
            message = "a host is written out, or the whole address is one placeholder"
            hint = "like https://api.example.com/{{input.path}}, or {{input.url}}"
            yield Problem(f"{path}.{key}", message, hint)


@dataclass(frozen=True, kw_only=True)
class HeadersKey(ValuesByName):
    """Headers, each a line of text, or a secret or variable that the worker fills in."""

    rows: int = 2

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        headers = reader.object(key)
        for name, value in headers.items():
            at = member_path(reader.path_of(key), name)
            if not HEADER.match(name):
                reader.problems.note(at, "is no name of a header")
            elif type(value) is dict:
                note_reference_problems(value, at, reader.problems)
            elif type(value) is not str or "\n" in value or "\r" in value:
                # A line end would begin another header.
                reader.problems.note(at, "is one line of text, or {secret: NAME}")
        return headers

    def schema(self) -> Schema:
        line = {"type": "string", "pattern": r"^[^\r\n]*$"}
        return {
            "type": "object",
            # `chr(92)` is a backslash: the schema says `$` where Python says `\Z`.
            "propertyNames": {"pattern": f"^{HEADER.pattern.replace(chr(92) + 'Z', '$')}"},
            "additionalProperties": {"anyOf": [line, *reference_schemas()]},
        }


ADDRESS = AddressKey(
    label="Address",
    help="A template; what it inserts is escaped. Private addresses only if an operator lists them.",
    placeholder="https://api.example.com/items/{{input.id}}",
    asked="say which address is called",
    longest=10_000,
    template=True,
    code=True,
)
CALL: Mapping[str, WorkKey] = {
    "method": ChoiceKey(METHODS, default="GET", label="Method"),
    "url": ADDRESS,
    "headers": HeadersKey(
        label="Headers",
        help='Name=value, one per line. As JSON also {"Authorization": {"secret": "NAME"}}.',
    ),
    "body": TextKey(
        label="Body",
        help="A template.",
        longest=PROMPT,
        template=True,
        rows=3,
        code=True,
    ),
    "json": JsonKey(label="Body as JSON", help="Its texts are templates."),
}
ONE_BODY = NotBoth("body", "json", "a call has a body or json, not both")
