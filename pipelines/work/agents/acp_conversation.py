"""Our side of the Agent Client Protocol: one session, one prompt, and answers to what the program asks meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from pipelines.routing.document.work.tool_permissions import ALLOW, DENY, ToolPolicy
from pipelines.work.agents.call_arguments import SERVER
from pipelines.work.agents.json_values import dict_or_empty, list_or_empty, text_or_empty
from pipelines.work.agents.permission_desk import ALLOWED, PermissionDesk
from pipelines.work.agents.streams.acp import ASKS, Acp
from pipelines.work.agents.streams.gemini import AWAY
from pipelines.work.agents.task_tools import BY_NAME
from pipelines.work.spec.agent_call import AgentCall

PROTOCOL: Final = 1
NO_SUCH_METHOD: Final = -32601
CALL_FIELDS: Final = ("rawInput", "title", "locations", "content")
"""What a program may tell of a call. What it runs is in the first, or, of Gemini CLI, in the others."""
OWN_TOOLS: Final = frozenset(f"{name} ({SERVER} MCP Server)" for name in BY_NAME)
"""Titles of the tools of the task, which no list forbids."""


class AcpFailed(Exception):
    """The program answered with an error; the message is its own."""


class AcpConversation:
    """`desk`: decides on the calls that people are asked about; None: the lists of the station decide all."""

    def __init__(
        self, call: AgentCall, stream: Acp, writer: asyncio.StreamWriter, desk: PermissionDesk | None
    ) -> None:
        self._call, self._stream, self._writer, self._desk = call, stream, writer, desk
        self._number = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._serving: set[asyncio.Task[None]] = set()
        stream.on_message = self._handle_message

    async def prompt_and_wait_for_turn_end(
        self, folder: str, prompt: str, servers: list[dict[str, Any]]
    ) -> None:
        """Prompt the program, and wait until its turn is over. Ends early where it fails."""
        nothing = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        where: dict[str, Any] = {"cwd": folder, "mcpServers": servers}
        try:
            begun = await self._call_program(
                "initialize", {"protocolVersion": PROTOCOL, "clientCapabilities": nothing}
            )
            session = await self._new_session(where, begun)
            await self._call_program(
                "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": prompt}]}
            )
        except AcpFailed as error:
            self._stream.add_error(str(error))
            self._stream.unavailable = bool(AWAY.search(str(error)))
            self._stream.record_final_event("error", str(error))
        finally:
            for task in self._serving:
                task.cancel()

    async def _new_session(self, where: Mapping[str, Any], begun: Mapping[str, Any]) -> Any:
        """:raises AcpFailed"""
        ways = [dict_or_empty(way).get("id") for way in list_or_empty(begun.get("authMethods"))]
        try:
            return (await self._call_program("session/new", where)).get("sessionId")
        except AcpFailed:
            # Only then: of a program that is signed in already a second time may take as long as it likes
            if self._call.preset.acp_sign_in not in ways:
                raise
        await self._call_program("authenticate", {"methodId": self._call.preset.acp_sign_in})
        return (await self._call_program("session/new", where)).get("sessionId")

    async def _call_program(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """:raises AcpFailed"""
        self._number += 1
        number = self._number
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._send({"id": number, "method": method, "params": dict(params)})
        answer = await future
        # Not before: what comes is looked up there
        del self._answers[number]
        if "error" in answer:
            error = dict_or_empty(answer["error"])
            raise AcpFailed(f"{method}: {text_or_empty(error.get('message')) or 'it failed'}")
        return dict_or_empty(answer.get("result"))

    async def _send(self, message: Mapping[str, Any]) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self._writer.drain()

    def _handle_message(self, message: dict[str, Any]) -> None:
        if "method" in message:
            task = asyncio.get_running_loop().create_task(self._answer_request_of_program(message))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        elif (
            type(number := message.get("id")) is int
            and (answer := self._answers.get(number))
            and not answer.done()
        ):
            answer.set_result(message)

    async def _answer_request_of_program(self, message: dict[str, Any]) -> None:
        try:
            if message["method"] != ASKS:
                error = {"code": NO_SUCH_METHOD, "message": "There is no such method here."}
                await self._send({"id": message["id"], "error": error})
                return
            outcome = await self._permission_outcome(dict_or_empty(message.get("params")))
            await self._send({"id": message["id"], "result": {"outcome": outcome}})
        except OSError:
            pass  # the program ended meanwhile

    async def _permission_outcome(self, params: dict[str, Any]) -> dict[str, Any]:
        """Choose the option that allows, or denies, this once; none that would count for later calls."""
        tool_call = dict_or_empty(params.get("toolCall"))
        tool = (text_or_empty(tool_call.get("kind")) or "other")[:200]
        arguments = _arguments_of_call(tool, tool_call)
        is_own = tool == "other" and tool_call.get("title") in OWN_TOOLS
        is_allowed = is_own or await self._allows(tool, arguments)
        if not is_allowed:
            self._stream.try_to_mark_step_as_denied(text_or_empty(tool_call.get("toolCallId")), "")
        option_kind = "allow_once" if is_allowed else "reject_once"
        options = [dict_or_empty(option) for option in list_or_empty(params.get("options"))]
        chosen = next(
            (option.get("optionId") for option in options if option.get("kind") == option_kind), None
        )
        return {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}

    async def _allows(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        if self._desk is not None:
            return (await self._desk.decide(tool, arguments)).state == ALLOWED
        lists = self._call.policy or ToolPolicy(
            self._call.allow, unlisted=DENY if self._call.allow else ALLOW
        )
        return lists.verdict(tool, arguments) == ALLOW


def _arguments_of_call(tool: str, tool_call: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the program tells of a call. Gemini CLI names a command by the title, whole."""
    fields = {name: tool_call[name] for name in CALL_FIELDS if tool_call.get(name)}
    raw = dict_or_empty(fields.pop("rawInput", None))
    if tool == "execute" and "command" not in raw and (command := fields.pop("title", None)):
        raw = {"command": command}
        fields.pop("content", None)
    return raw or fields
