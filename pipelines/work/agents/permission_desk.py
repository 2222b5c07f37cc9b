"""Decisions on calls of an agent's tools: by the line at once, or by a person, for whom the agent waits (law §18)."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from pipelines.routing.basics.canonical import canonical_digest
from pipelines.routing.document.work.tool_permissions import ALLOW, DENY, ToolPolicy, command_text_or_none
from pipelines.work.spec.agent_call import AnswerRefused, PermissionAnswer, PermissionRequest, TaskPort

OPEN, ALLOWED, DENIED = "open", "allowed", "denied"
BY_LINE: Final = (
    "The line denies this call. Do not try it another way; do without it, or say why it is needed."
)
UNREADABLE: Final = "This call cannot be put before a person: its arguments are not JSON that can be stored."
NO_ANSWER: Final = "Nobody answered in time."
POLL_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 60.0
"""Beyond the time to answer, which the server keeps: then the worker denies by itself."""


class PermissionDesk:
    """Answers for one visit. `still_alive`: called while the agent waits, so that its silence is none; `note`: a line
    for the log."""

    def __init__(
        self,
        policy: ToolPolicy,
        port: TaskPort,
        still_alive: Callable[[], None],
        note: Callable[[str], Awaitable[None]],
    ) -> None:
        self._policy, self._port, self._still_alive, self._note = policy, port, still_alive, note

    async def decide(self, tool: str, arguments: Mapping[str, Any]) -> PermissionAnswer:
        """Allow or deny one call. Each is asked about anew: an answer counts once."""
        verdict = self._policy.verdict(tool, arguments)
        if verdict == ALLOW:
            return PermissionAnswer(ALLOWED)
        if verdict == DENY:
            return PermissionAnswer(DENIED, BY_LINE)
        try:
            digest = canonical_digest({"tool": tool, "arguments": dict(arguments)})
        # They come from a program, which may nest them without end
        except (ValueError, RecursionError):
            return PermissionAnswer(DENIED, UNREADABLE)
        await self._note(
            f"[gateline] A person is asked about: {tool} {command_text_or_none(arguments) or ''}".rstrip()[
                :300
            ]
        )
        # By its key a request that was lost is sent again, and asks nobody twice
        answer = await self._answer_of_people(PermissionRequest(uuid.uuid4(), tool, dict(arguments), digest))
        await self._note(f"[gateline] {answer.state.capitalize()}: {tool}. {answer.reason}".rstrip()[:600])
        return answer

    async def _answer_of_people(self, request: PermissionRequest) -> PermissionAnswer:
        # Not by the clock on the wall, which may be set back meanwhile
        deadline = time.monotonic() + 60 * self._policy.minutes + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self._still_alive()
            try:
                answer = await self._port.ask_permission(request)
            except AnswerRefused as error:
                return PermissionAnswer(DENIED, str(error))
            # An open one is asked about again: the server holds no connection while people think
            if answer.state != OPEN:
                return answer
            await asyncio.sleep(POLL_SECONDS)
        return PermissionAnswer(DENIED, NO_ANSWER)
