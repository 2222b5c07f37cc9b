"""Stream of programs that speak the Agent Client Protocol: messages of JSON-RPC, one a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from pipelines.work.agents.json_values import (
    dict_or_empty,
    list_or_empty,
    one_line_json,
    parsed_json_object_or_none,
    text_or_empty,
    token_count_or_zero,
)
from pipelines.work.agents.steps import LONGEST_DETAIL, StepKind, StepState, Verb
from pipelines.work.agents.stream import LONGEST_NAME, Stream

KINDS: Final = {
    "execute": (StepKind.COMMAND, Verb.RUN),
    "edit": (StepKind.EDIT, Verb.EDIT),
    "delete": (StepKind.EDIT, Verb.EDIT),
    "move": (StepKind.EDIT, Verb.EDIT),
    "read": (StepKind.TOOL, Verb.READ),
    "search": (StepKind.TOOL, Verb.SEARCH),
    "fetch": (StepKind.TOOL, Verb.FETCH),
}
ASKS: Final = "session/request_permission"
ENDED: Final = {"completed": StepState.DONE, "failed": StepState.FAILED}


class Acp(Stream):
    """`on_message`: called with each message that asks or answers, while the program runs."""

    def __init__(self, keep: int | None = None) -> None:
        super().__init__(keep)
        self.on_message: Callable[[dict[str, Any]], None] | None = None
        self._speaking, self._words = "", ""

    def feed(self, line: str, at: float = 0.0, number: int = 0) -> bool:
        self._at, self._number = at, number
        message = parsed_json_object_or_none(line)
        understood = (
            message is not None and message.get("jsonrpc") == "2.0" and self._try_to_read_message(message)
        )
        self.unread += not understood
        return understood

    def _try_to_read_message(self, message: dict[str, Any]) -> bool:
        if message.get("method") == "session/update":
            return self._try_to_read_update(dict_or_empty(dict_or_empty(message.get("params")).get("update")))
        if "id" not in message:
            return False
        result = dict_or_empty(message.get("result"))
        if "agentInfo" in result:
            info = dict_or_empty(result["agentInfo"])
            self.name = text_or_empty(info.get("title") or info.get("name"))[:LONGEST_NAME]
            self.version = text_or_empty(info.get("version"))[:LONGEST_NAME]
        if "sessionId" in result:
            self.session = text_or_empty(result["sessionId"])[:LONGEST_NAME]
        if "stopReason" in result:
            self._read_end(result)
        if message.get("method") == ASKS:
            # Of a call that is denied some tell nothing more
            self._begin_call(dict_or_empty(dict_or_empty(message.get("params")).get("toolCall")))
        if self.on_message is not None:
            self.on_message(message)
        return True

    def _read_end(self, result: dict[str, Any]) -> None:
        usage, reason = dict_or_empty(result.get("usage")), text_or_empty(result["stopReason"])
        # Gemini CLI 0.61.0 says it beside the protocol
        quota = dict_or_empty(dict_or_empty(result.get("_meta")).get("quota"))
        tokens = dict_or_empty(quota.get("token_count"))
        self.usage.tokens_in = token_count_or_zero(usage.get("inputTokens", tokens.get("input_tokens")))
        self.usage.tokens_out = token_count_or_zero(usage.get("outputTokens", tokens.get("output_tokens")))
        if reason == "refusal":
            self.refused = self.claim or reason
        self.record_final_event(
            "stopReason", "" if reason in ("end_turn", "refusal") else f"It stopped: {reason}"
        )

    def _try_to_read_update(self, update: dict[str, Any]) -> bool:
        kind = text_or_empty(update.get("sessionUpdate"))
        if kind in ("agent_message_chunk", "agent_thought_chunk"):
            self._read_chunk(kind, text_or_empty(dict_or_empty(update.get("content")).get("text")))
        elif kind == "tool_call":
            self._begin_call(update)
            self._read_call_state(update)
        elif kind == "tool_call_update":
            self._read_call_state(update)
        return bool(kind)

    def _begin_call(self, call: dict[str, Any]) -> None:
        identity = text_or_empty(call.get("toolCallId"))
        if self.is_step_open(identity):
            return
        self._speaking = ""
        step_kind, verb = KINDS.get(text_or_empty(call.get("kind")), (StepKind.TOOL, Verb.TOOL))
        raw = dict_or_empty(call.get("rawInput"))
        what = text_or_empty(raw.get("command")) or text_or_empty(call.get("title")) or one_line_json(raw)
        self.begin_step(identity, self.step_at_this_line(step_kind, verb, what))

    def _read_call_state(self, update: dict[str, Any]) -> None:
        state = ENDED.get(text_or_empty(update.get("status")))
        if state is not None:
            parts = (
                dict_or_empty(dict_or_empty(part).get("content"))
                for part in list_or_empty(update.get("content"))
            )
            detail = "\n".join(text_or_empty(part.get("text")) for part in parts)
            code = dict_or_empty(update.get("rawOutput")).get("exitCode")
            number = code if type(code) is int else 0 if state == StepState.DONE else None
            self.try_to_end_step_begun_as(text_or_empty(update.get("toolCallId")), state, detail, code=number)

    def _read_chunk(self, kind: str, words: str) -> None:
        """A text comes in pieces."""
        if self._speaking == kind and self.steps:
            self._words = (self._words + words)[:LONGEST_DETAIL]
            self.steps[-1] = replace(self.steps[-1], what=self._words.strip())
            if kind == "agent_message_chunk":
                self.set_last_message(self._words.strip())
            return
        self._speaking, self._words = kind if words.strip() else "", words
        if kind == "agent_message_chunk":
            self.add_message(words)
        elif words.strip():
            self.add_step(self.step_at_this_line(StepKind.THOUGHT, Verb.THINK, words.strip()))
