"""Gemini CLI, `-o stream-json`. A run in which no tool was called still says `status: success`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pipelines.work.agents.json_values import dict_or_empty, text_or_empty, token_count_or_zero
from pipelines.work.agents.steps import LONGEST_DETAIL, StepKind, StepState
from pipelines.work.agents.stream import LONGEST_NAME, Stream
from pipelines.work.agents.tool_calls import describe_call

REFUSED = re.compile(r"denied by policy|policy_violation|requires? (?:user )?(?:approval|confirmation)", re.I)
AWAY = re.compile(r"fetch failed|ECONN|ETIMEDOUT|UNAVAILABLE|RESOURCE_EXHAUSTED|\b(?:429|50[0234])\b")
# On a line of its own, in the output of a shell command: `Exit Code: 2`
EXIT = re.compile(r"(?m)^Exit Code: (\d{1,3})$")


class Gemini(Stream):
    def __init__(self, keep: int | None = None) -> None:
        super().__init__(keep)
        self._speaking, self._words = False, ""

    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        return {
            "init": self._try_to_read_init_line,
            "message": self._try_to_read_message_line,
            "tool_use": self._try_to_read_tool_use,
            "tool_result": self._try_to_read_tool_result,
            "error": self._try_to_read_error_line,
            "result": self._try_to_read_final_result,
        }

    def _try_to_read_init_line(self, line: dict[str, Any]) -> bool:
        self.name = "Gemini CLI"
        self.session = text_or_empty(line.get("session_id"))[:LONGEST_NAME]
        self.model = text_or_empty(line.get("model"))[:LONGEST_NAME]
        return True

    def _try_to_read_message_line(self, line: dict[str, Any]) -> bool:
        """A text comes in pieces."""
        if line.get("role") != "assistant":
            return True
        words = text_or_empty(line.get("content"))
        # Pieces of one message: as messages of their own the last piece would be the claim
        if self._speaking and line.get("delta") is True and self.steps[-1].kind == StepKind.TEXT:
            cut = self.claim_cut or len(self._words) + len(words) > LONGEST_DETAIL
            self._words = (self._words + words)[:LONGEST_DETAIL]
            self.set_last_message(self._words.strip())
            self.claim_cut = cut
            self.steps[-1] = replace(self.steps[-1], what=self.claim)
            return True
        self.add_message(words)
        self._speaking, self._words = bool(words.strip()), words
        return True

    def _try_to_read_tool_use(self, line: dict[str, Any]) -> bool:
        # The next text is another message.
        self._speaking = False
        name = text_or_empty(line.get("tool_name"))
        kind, verb, what, changes = describe_call(name, line.get("parameters"))
        self.begin_step(
            text_or_empty(line.get("tool_id")),
            self.step_at_this_line(kind, verb, what, changes=changes, tool=name),
        )
        return True

    def _try_to_read_tool_result(self, line: dict[str, Any]) -> bool:
        error = dict_or_empty(line.get("error"))
        why = text_or_empty(error.get("message"))
        output = text_or_empty(line.get("output")) or why
        code = EXIT.search(output)
        # Also where the status is no error: then only the output says the exit code.
        failed = line.get("status") == "error" or bool(code and int(code[1]))
        state = StepState.FAILED if failed else StepState.DONE
        if line.get("status") == "error" and REFUSED.search(f"{text_or_empty(error.get('type'))} {why}"):
            state = StepState.DENIED
        number = int(code[1]) if code else None if failed else 0
        return self.try_to_end_step_begun_as(text_or_empty(line.get("tool_id")), state, output, code=number)

    def _try_to_read_error_line(self, line: dict[str, Any]) -> bool:
        warning = line.get("severity") == "warning"
        self.add_error(text_or_empty(line.get("message")), StepState.DONE if warning else StepState.FAILED)
        return True

    def _try_to_read_final_result(self, line: dict[str, Any]) -> bool:
        stats = dict_or_empty(line.get("stats"))
        self.usage.tokens_in = token_count_or_zero(stats.get("input_tokens"))
        self.usage.tokens_out = token_count_or_zero(stats.get("output_tokens"))
        error = dict_or_empty(line.get("error"))
        why = text_or_empty(error.get("message")) or text_or_empty(error.get("type"))
        failed = line.get("status") not in (None, "success")
        self.unavailable = failed and bool(AWAY.search(why))
        self.record_final_event("result", (why or text_or_empty(line.get("status"))) if failed else "")
        return True
