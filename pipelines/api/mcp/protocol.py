"""The server of the protocol, by the library `mcp`: it lists the tools, and calls one."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from pipelines.api import api
from pipelines.api.mcp.tools import BY_NAME, TOOLS, ApiAnswer, ApiCaller

INSTRUCTIONS: Final = (
    "Gateline moves tasks along assembly lines: stations do work, rules move it, people approve at gates. You act with "
    "the rights of the token. You can look, explain, check and simulate lines, and start tasks; votes and publishing "
    "are done by people."
)


def session_manager(caller: ApiCaller) -> StreamableHTTPSessionManager:
    """Return what answers one request. Its tools ask the API by `caller`."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tool_definitions().values()))

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool, arguments = BY_NAME.get(params.name), params.arguments or {}
        if tool is None:
            return tool_error(f"There is no tool {params.name}. There are {', '.join(BY_NAME)}.")
        validator = Draft202012Validator(tool_definitions()[tool.name].input_schema)
        if (fault := best_match(validator.iter_errors(arguments))) is not None:
            place = ".".join(map(str, fault.absolute_path))
            return tool_error(f"{place}: {fault.message}" if place else fault.message)
        return tool_result(await tool.answer(caller, arguments))

    server = Server(
        "gateline",
        version=api.version,
        title="Gateline",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


@lru_cache(maxsize=1)
def tool_definitions() -> dict[str, types.Tool]:
    description = api.get_openapi_schema(path_prefix="/api/v1/")
    return {tool.name: types.Tool.model_validate(tool.definition(description)) for tool in TOOLS}


def tool_result(answer: ApiAnswer) -> types.CallToolResult:
    """Return the answer of the API as text and as a value, which has to be an object. A refusal is a result, too, so
    that a model reads why and corrects itself."""
    value = answer.body if isinstance(answer.body, dict) else {"result": answer.body}
    text = types.TextContent(text=json.dumps(answer.body, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=value, is_error=answer.is_error)


def tool_error(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)
