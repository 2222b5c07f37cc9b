"""The tools that agents of people may call. Each is one operation of the API, so that rights, limits and answers are
those of the API. There is none that votes, publishes, or reads or stores a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

from asgiref.sync import sync_to_async

from pipelines.formats import native

PLACE: Final = "/api/v1/owners/{owner}/projects/{project}"
REFERENCE: Final = "#/components/schemas/"
PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
DOCUMENT: Final = {
    "type": ["object", "string"],
    "description": "A line document, as a JSON object or as YAML text.",
}
USUAL_DECISIONS, MOST_DECISIONS = 3, 50
DECISIONS: Final = {
    "type": "integer",
    "minimum": 1,
    "maximum": MOST_DECISIONS,
    "default": USUAL_DECISIONS,
    "description": "How many of the last decisions to explain.",
}
Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class ApiAnswer:
    """Answer of an operation: its status, and its body as JSON, or as text where it is none."""

    status: int
    body: Any

    @property
    def is_error(self) -> bool:
        return self.status >= 400


class ApiCaller(Protocol):
    """Sends a request to the API with the token of whoever called the tool."""

    async def __call__(self, method: str, path: str, body: bytes = b"", media: str = "") -> ApiAnswer: ...


@dataclass(frozen=True)
class AgentTool:
    """`method` and `path`: of its operation, whose description and parameters it has. `extra`: parameters of its own.
    `document`: the argument that is the whole body. `call`: another way than one request."""

    name: str
    title: str
    method: str
    path: str
    reads_only: bool = True
    document: str = ""
    extra: Mapping[str, Any] | None = None
    description: str = ""
    call: Callable[[ApiCaller, Arguments], Awaitable[ApiAnswer]] | None = None

    def definition(self, description: Mapping[str, Any]) -> dict[str, Any]:
        """Describe the tool as the protocol wants it. `description`: of the API, as OpenAPI."""
        operation = description["paths"][self.path][self.method]
        schema = self._input_schema(operation, description["components"]["schemas"])
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description or operation.get("description") or operation["summary"],
            "inputSchema": schema,
            "annotations": {
                "readOnlyHint": self.reads_only,
                "destructiveHint": False,
                "idempotentHint": self.reads_only,
                "openWorldHint": False,
            },
        }

    def _input_schema(self, operation: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        required: list[str] = []
        for parameter in operation.get("parameters", ()):
            # Headers are for programs that send requests, such as a key against repeats
            if parameter["in"] == "header":
                continue
            fields[parameter["name"]] = parameter["schema"]
            if parameter["required"]:
                required.append(parameter["name"])
        if self.document:
            fields[self.document] = DOCUMENT
            required.append(self.document)
        elif "requestBody" in operation:
            name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
            body = components[name.removeprefix(REFERENCE)]
            fields |= body["properties"]
            required += body.get("required", [])
        fields |= self.extra or {}
        required = [name for name in required if name not in (self.extra or {})]
        # Closed: a misspelt argument is told, and not ignored
        schema = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
        return _schema_with_definitions(deepcopy(schema), components)

    async def answer(self, api: ApiCaller, arguments: Arguments) -> ApiAnswer:
        return await (self.call(api, arguments) if self.call else self._request(api, arguments))

    async def _request(self, api: ApiCaller, arguments: Arguments) -> ApiAnswer:
        rest = dict(arguments)
        path = PLACEHOLDER.sub(lambda match: quote(str(rest.pop(match[1], "")), safe=""), self.path)
        if self.method == "get":
            query = urlencode({name: value for name, value in rest.items() if value not in (None, "")})
            return await api("GET", f"{path}?{query}" if query else path)
        body = rest.get(self.document, "") if self.document else rest
        # A document goes on as it was written: problems name its lines
        if isinstance(body, str):
            return await api(self.method.upper(), path, body.encode(), "application/yaml")
        return await api(self.method.upper(), path, json.dumps(body).encode(), "application/json")


def _schema_with_definitions(schema: dict[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """Put the components that the schema refers to into the schema itself."""
    definitions: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        for name in sorted(_referenced_names(part)):
            # A schema may lead back to itself, as conditions within conditions do
            if name not in definitions:
                definitions[name] = deepcopy(components[name])
                waiting.append(definitions[name])
    if definitions:
        schema["$defs"] = definitions
    _point_references_at_definitions(schema)
    return schema


def _referenced_names(part: Any) -> set[str]:
    if isinstance(part, Mapping):
        own = {part["$ref"].removeprefix(REFERENCE)} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(_referenced_names, part.values()))
    return set().union(*map(_referenced_names, part)) if isinstance(part, list) else set()


def _point_references_at_definitions(part: Any) -> None:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            part["$ref"] = part["$ref"].replace(REFERENCE, "#/$defs/")
        for value in part.values():
            _point_references_at_definitions(value)
    elif isinstance(part, list):
        for item in part:
            _point_references_at_definitions(item)


async def explain_task(api: ApiCaller, arguments: Arguments) -> ApiAnswer:
    """Answer with the task and its last decisions: what each read, which rules it tried, what it decided."""
    number, query = str(arguments.get("task", "")), urlencode({"owner": arguments.get("owner") or ""})
    task = await api("GET", f"/api/v1/tasks/{quote(number, safe='')}?{query}")
    if task.is_error:
        return task
    place = ("owners", task.body["owner"], "projects", task.body["projectId"])
    parts = (*place, "stages", task.body["stageId"], "tasks", task.body["id"], "decisions")
    decisions = await api("GET", "/api/v1/" + "/".join(quote(str(part), safe="") for part in parts))
    if decisions.is_error:
        return decisions
    # The last ones alone: a task may have hundreds, each with all that it read
    last = int(arguments.get("last") or USUAL_DECISIONS)
    return ApiAnswer(200, {"task": task.body, "decisions": decisions.body[-last:]})


async def simulate_line(api: ApiCaller, arguments: Arguments) -> ApiAnswer:
    """Walk the given document, or the live one of the line, through the steps."""
    rest = dict(arguments)
    parts = [quote(str(rest.pop(part, "")), safe="") for part in ("owner", "project", "line")]
    path = "/api/v1/owners/{}/projects/{}/lines/{}".format(*parts)
    document = rest.get("document")
    # What runs now is what people ask about most
    if document is None:
        live = await api("GET", path + "/document")
        if live.is_error:
            return live
        document = live.body
    if isinstance(document, str):
        try:
            document = await sync_to_async(native.loads, thread_sensitive=False)(document)
        except ValueError as fault:
            return ApiAnswer(400, {"detail": f"document: {fault}"})
    body = json.dumps({**rest, "document": document}).encode()
    return await api("POST", path + "/walk", body, "application/json")


TOOLS: Final = (
    AgentTool("list_needs", "What needs you", "get", "/api/v1/needs"),
    AgentTool("lines", "All lines", "get", "/api/v1/lines"),
    AgentTool("start_form", "The inputs that a line asks for", "get", PLACE + "/lines/{line}/start-form"),
    AgentTool("start_task", "Start a task", "post", PLACE + "/stages/{line}/tasks", reads_only=False),
    AgentTool(
        "explain",
        "Why a task is where it is",
        "get",
        "/api/v1/tasks/{task}",
        extra={"last": DECISIONS},
        description="The task, and its last decisions: what each read, every rule that it tried, what it decided. "
        "`task` is its number, such as WI-app-1; `owner` is needed only where several owners have such a project.",
        call=explain_task,
    ),
    AgentTool(
        "lint",
        "Check a line document",
        "post",
        PLACE + "/lint",
        document="document",
        description="What the rules of a line can and cannot do: problems with their places, which rules are live, "
        "shadowed or dead, each with an example, and which guarantees are proved. Nothing is saved.",
    ),
    AgentTool(
        "plan",
        "What publishing a document would do",
        "post",
        PLACE + "/plan",
        document="document",
        description="What publishing this document would change, and what recorded outcomes would do under it. Its key "
        "names the line. Nothing is stored or published: publishing is done by a person.",
    ),
    AgentTool(
        "simulate",
        "Walk a line through steps",
        "post",
        PLACE + "/lines/{line}/walk",
        extra={"document": {**DOCUMENT, "description": "Left out: the live version of the line."}},
        description="Where a task would go: the document is walked through the steps that you give, such as outcomes "
        "of stations and votes, and answers where its tokens stand, by which rules they came there, and what may "
        "happen next. Nothing is stored, nothing runs.",
        call=simulate_line,
    ),
)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
