"""The server of the Model Context Protocol for one visit of an agent, by the library `mcp`: over a socket in the folder
of the visit, to whoever knows its token."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import socket
from types import TracebackType
from typing import Any, Final, Self

import structlog
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from pipelines.work.agents.task_tools import INSTRUCTIONS, PERMISSION, TaskTool, TaskTools, ToolRefused

log = structlog.get_logger(__name__)
NAME: Final = "gateline"
LONGEST_LINE: Final = 2 * 1024 * 1024
MOST_CONNECTIONS: Final = 16
TOKEN_SECONDS: Final = 10.0
ENDING_SECONDS: Final = 5.0
Message = SessionMessage | Exception


@asynccontextmanager
async def serving_tools(listener: socket, token: str, tools: TaskTools) -> AsyncIterator[None]:
    """Serve the tools as long as the block lasts; then every connection ends."""
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        # Anything in the sandbox may connect, as often as it likes
        if len(connections) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        connections[task] = writer
        try:
            if await _knows_token(reader, token):
                await _serve_connection(reader, writer, tools)
        except (OSError, ValueError):
            pass  # the program ended, or speaks something else
        except Exception:
            # The visit goes on without its tools
            log.exception("agent_tools_failed")
        finally:
            del connections[task]
            writer.transport.abort()

    server = await asyncio.start_unix_server(serve_connection, sock=listener, limit=LONGEST_LINE)
    try:
        yield
    finally:
        server.close()
        # Each ends by itself when its connection does, and what it was asked with it
        for writer in connections.values():
            writer.transport.abort()
        if connections:
            await asyncio.wait([*connections], timeout=ENDING_SECONDS)


async def _knows_token(reader: asyncio.StreamReader, token: str) -> bool:
    line = await asyncio.wait_for(reader.readline(), TOKEN_SECONDS)
    # In constant time: other programs of the same user may guess
    return hmac.compare_digest(line.strip(), token.encode())


async def _serve_connection(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tools: TaskTools
) -> None:
    server = tool_server(tools)
    options = server.create_initialization_options()
    await server.run(IncomingMessages(reader), OutgoingMessages(writer), options)


class SocketEnd:
    """Direction of a connection, closed with the connection itself."""

    async def aclose(self) -> None:
        """The connection is closed by whoever accepted it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class IncomingMessages(SocketEnd):
    """Messages that the program sends, one a line; an error in place of a line that is none."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        try:
            line = await self._reader.readline()
        except (OSError, ValueError):
            # Gone, or a line that is too long, after which nothing can be read any more
            line = b""
        if not line:
            raise StopAsyncIteration
        try:
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            return error

    async def receive(self) -> Message:
        return await anext(self)


class OutgoingMessages(SocketEnd):
    """Messages to the program."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer, self._turn = writer, asyncio.Lock()

    async def send(self, item: SessionMessage, /) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        # One at a time: several answers may be under way
        async with self._turn:
            self._writer.write(text.encode() + b"\n")
            await self._writer.drain()


def tool_server(tools: TaskTools) -> Server[Any]:
    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool_definition(tool) for tool in tools.offered])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await tools.call(params.name, params.arguments or {})
        except ToolRefused as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        text = types.TextContent(text=json.dumps(answer, ensure_ascii=False))
        if params.name == PERMISSION.name:
            # Claude Code takes the text alone, and refuses an answer that has structured content as well
            return types.CallToolResult(content=[text])
        return types.CallToolResult(content=[text], structured_content=answer)

    return Server(
        NAME,
        version="1",
        title="Gateline",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _tool_definition(tool: TaskTool) -> types.Tool:
    return types.Tool.model_validate(
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.schema,
            "annotations": {
                "readOnlyHint": tool.reads_only,
                "destructiveHint": False,
                "idempotentHint": tool.reads_only,
                "openWorldHint": False,
            },
        }
    )
