"""OpenCode, `opencode run --format json`. Its stream ends without a word, and tokens and cost come step by step."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.work.agents.json_values import (
    dict_or_empty,
    dollars_or_none,
    exit_code_or_none,
    seconds_of_milliseconds_or_none,
    text_or_empty,
    token_count_or_zero,
)
from pipelines.work.agents.steps import StepKind, StepState, Verb
from pipelines.work.agents.stream import LONGEST_NAME, Stream
from pipelines.work.agents.tool_calls import describe_call

REFUSED = re.compile(r"rejected permission|rule which prevents|permission (?:was )?denied|not permitted")


class OpenCode(Stream):
    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        return {
            "step_start": self._try_to_read_step_start,
            "text": self._try_to_read_text_part,
            "reasoning": self._try_to_read_thought_line,
            "tool_use": self._try_to_read_ended_tool_use,
            "step_finish": self._try_to_read_step_finish,
            "error": self._try_to_read_error_line,
        }

    def _try_to_read_step_start(self, line: dict[str, Any]) -> bool:
        self.name = "OpenCode"
        self.session = text_or_empty(line.get("sessionID"))[:LONGEST_NAME] or self.session
        self.end_retries()
        return True

    def _try_to_read_text_part(self, line: dict[str, Any]) -> bool:
        self.add_message(text_or_empty(dict_or_empty(line.get("part")).get("text")))
        return True

    def _try_to_read_thought_line(self, line: dict[str, Any]) -> bool:
        words = text_or_empty(dict_or_empty(line.get("part")).get("text")).strip()
        if words:
            self.add_step(self.step_at_this_line(StepKind.THOUGHT, Verb.THINK, words))
        return True

    def _try_to_read_ended_tool_use(self, line: dict[str, Any]) -> bool:
        """Told when it is over."""
        part = dict_or_empty(line.get("part"))
        name, state = text_or_empty(part.get("tool")), dict_or_empty(part.get("state"))
        kind, verb, what, changes = describe_call(name, state.get("input"))
        code = exit_code_or_none(dict_or_empty(state.get("metadata")).get("exit"))
        error = text_or_empty(state.get("error"))
        failed = state.get("status") == "error"
        how = StepState.DONE
        # Its own rules denied the call, which is no fault of the command
        if failed and REFUSED.search(error):
            how = StepState.DENIED
        elif failed or (kind == StepKind.COMMAND and code):
            how = StepState.FAILED
        time = dict_or_empty(state.get("time"))
        began, ended = (
            seconds_of_milliseconds_or_none(time.get("start")),
            seconds_of_milliseconds_or_none(time.get("end")),
        )
        took = ended - began if began is not None and ended is not None and ended >= began else None
        output = error or text_or_empty(state.get("output"))
        self.add_step(
            self.step_at_this_line(
                kind,
                verb,
                what,
                changes=changes,
                tool=name,
                detail=output,
                state=how,
                code=code,
                seconds=took,
            )
        )
        return True

    def _try_to_read_step_finish(self, line: dict[str, Any]) -> bool:
        part = dict_or_empty(line.get("part"))
        if part.get("reason") == "content-filter":
            self.refused = self.claim or "content-filter"
        tokens = dict_or_empty(part.get("tokens"))
        cache = dict_or_empty(tokens.get("cache"))
        tokens_in = sum(
            token_count_or_zero(amount)
            for amount in (tokens.get("input"), cache.get("read"), cache.get("write"))
        )
        made = token_count_or_zero(tokens.get("output")) + token_count_or_zero(tokens.get("reasoning"))
        # 0 is what it says of a model whose price it does not know.
        self.add_usage(tokens_in, made, dollars_or_none(part.get("cost")) or None)
        return True

    def _try_to_read_error_line(self, line: dict[str, Any]) -> bool:
        self.name = "OpenCode"
        self.session = text_or_empty(line.get("sessionID"))[:LONGEST_NAME] or self.session
        error = dict_or_empty(line.get("error"))
        data = dict_or_empty(error.get("data"))
        message = text_or_empty(data.get("message")) or text_or_empty(error.get("name"))
        self.add_error(message)
        self.problem = message
        # It has tried again by itself before it says so.
        self.unavailable = error.get("name") == "APIError" and data.get("isRetryable") is True
        return True
