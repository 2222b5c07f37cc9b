"""The tools that an agent gets for its own task (docs/agents.md): a socket in the folder of its visit, and the words by
which its program is told of them. Nothing is written where the work is."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pipelines.work.agents import tool_pipe
from pipelines.work.agents.call_arguments import ToolCommand, servers_document
from pipelines.work.agents.task_tools import TaskTools
from pipelines.work.results.files import remove_path
from pipelines.work.spec.agent_call import AgentCall
from pipelines.work.spec.handler_io import Sink, Spec

FOLDER: Final = "gateline-tools"
PIPE, SERVERS = "tool_pipe.py", "servers.json"
NONE: Final = "The agent has no tools for its task: {why}."
NO_PERSON: Final = "[gateline] So nobody can be asked about its calls: those are denied."
NO_LIBRARY: Final = (
    "the extra “mcp” is not installed on this worker (its wheel takes it as [mcp] behind its name)"
)
IN_IMAGE: Final = "its program runs in the files of an image"
BACKLOG: Final = 16


@dataclass(frozen=True)
class ToolSocket:
    """Socket of a visit that listens already, so that its program may connect as soon as it starts. `command`: what the
    program starts to reach it."""

    listener: socket.socket
    token: str
    command: ToolCommand

    @asynccontextmanager
    async def serving(self, tools: TaskTools) -> AsyncIterator[None]:
        """Answer whoever connects, as long as the block lasts."""
        # In a thread: its first import takes a second
        server = await asyncio.to_thread(import_module, "pipelines.work.agents.tool_server")
        async with server.serving_tools(self.listener, self.token, tools):
            yield


@asynccontextmanager
async def listening_for_tools(spec: Spec, call: AgentCall, sink: Sink) -> AsyncIterator[ToolSocket | None]:
    """The socket of this visit, as long as the block lasts; None of an agent without tools, which the log says where it
    could have some."""
    if call.port is None or call.preset.tools is None:
        yield None
        return
    root = spec.attempt.root
    why = IN_IMAGE if spec.image else NO_LIBRARY if find_spec("mcp") is None else ""
    with ExitStack() as opened:
        tools = None
        try:
            if not why:
                tools = await asyncio.to_thread(_listening_tools, root, call, opened)
        except OSError as error:
            why = f"their socket could not be made ({error.strerror or error})"
        try:
            if why:
                await sink.note(f"[gateline] {NONE.format(why=why)}")
                if call.policy is not None:
                    await sink.note(NO_PERSON)
            yield tools
        finally:
            await asyncio.shield(asyncio.to_thread(remove_path, root, FOLDER))


def _listening_tools(root: Path, call: AgentCall, opened: ExitStack) -> ToolSocket:
    """:raises OSError"""
    command, token = _lay_out_tools_and_return_command_and_token(root, call)
    return ToolSocket(opened.enter_context(_listening_socket(root / FOLDER)), token, command)


def _lay_out_tools_and_return_command_and_token(root: Path, call: AgentCall) -> tuple[ToolCommand, str]:
    """Lay down the pipe and the token of the visit where every isolation shows them, while nothing of the station runs.
    What a visit before left in their place is removed."""
    assert call.preset.tools is not None
    remove_path(root, FOLDER)
    folder, token = root / FOLDER, secrets.token_urlsafe(32)
    folder.mkdir(mode=0o700)
    shutil.copyfile(tool_pipe.__file__, folder / PIPE)
    _write_private(folder / tool_pipe.TOKEN, token)
    # With -I and -S no variable, folder or package of the station changes what Python loads.
    arguments = ("-I", "-S", str(folder / PIPE), str(folder))
    command = ToolCommand(sys.executable, arguments, str(folder / SERVERS))
    _write_private(folder / SERVERS, json.dumps(servers_document(command, call.preset.tools)))
    return command, token


def _write_private(path: Path, text: str) -> None:
    # New, or not at all: what stands there by now is not ours
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


@contextmanager
def _listening_socket(folder: Path) -> Iterator[socket.socket]:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    # The path of a socket has about a hundred characters; those of attempts are longer.
    short = f"/proc/self/fd/{place}" if sys.platform == "linux" else str(folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(f"{short}/{tool_pipe.SOCKET}")
        listener.listen(BACKLOG)
        listener.setblocking(False)
        yield listener
    finally:
        listener.close()
        os.close(place)
