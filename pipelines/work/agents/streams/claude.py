"""Claude Code, `--output-format stream-json`. A refused permission leaves exit code 0 and `subtype: success`: only the
lines of its refusal tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.work.agents.json_values import (
    dict_or_empty,
    dollars_or_none,
    list_or_empty,
    text_or_empty,
    text_or_joined_texts,
    token_count_or_zero,
)
from pipelines.work.agents.steps import StepKind, StepState, Verb
from pipelines.work.agents.stream import LONGEST_NAME, Stream
from pipelines.work.agents.tool_calls import describe_call

# `Exit code 2` or `Error: Exit code 2`, at the start of the output of a failed command
EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
SYNTHETIC = "<synthetic>"
"""The model of what the program says in its model's place: that there was no answer."""
INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Claude(Stream):
    def __init__(self, keep: int | None = None) -> None:
        super().__init__(keep)
        self._turn = ("", 0, 0)

    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        return {
            "system": self._try_to_read_system_line,
            "assistant": self._try_to_read_assistant_line,
            "user": self._try_to_read_tool_results,
            "result": self._try_to_read_final_result,
        }

    def _try_to_read_system_line(self, line: dict[str, Any]) -> bool:
        subtype = line.get("subtype")
        if subtype == "init":
            self.name = "Claude Code"
            self.session = text_or_empty(line.get("session_id"))[:LONGEST_NAME]
            self.version = text_or_empty(line.get("claude_code_version"))[:LONGEST_NAME]
            self.model = text_or_empty(line.get("model"))[:LONGEST_NAME]
        elif subtype == "api_retry":
            status = line.get("error_status")
            reason = text_or_empty(line.get("error"))
            words = str(status) if type(status) is int else "" if reason == "unknown" else reason
            which, most = (
                token_count_or_zero(line.get("attempt")),
                token_count_or_zero(line.get("max_retries")),
            )
            self.add_retry(which, words, f"{which}/{most}")
        elif subtype == "permission_denied":
            return self.try_to_mark_step_as_denied(
                text_or_empty(line.get("tool_use_id")), text_or_empty(line.get("message"))
            )
        else:
            return False
        return True

    def _try_to_read_assistant_line(self, line: dict[str, Any]) -> bool:
        message = dict_or_empty(line.get("message"))
        # No answer of the model, so before `answered`.
        if line.get("error") or message.get("model") == SYNTHETIC:
            self.add_error(text_or_joined_texts(message.get("content")) or text_or_empty(line.get("error")))
            return True
        self.end_retries()
        nested = bool(text_or_empty(line.get("parent_tool_use_id")))
        for block in map(dict_or_empty, list_or_empty(message.get("content"))):
            self._add_content_block(block, nested)
        self._add_turn_usage(message)
        self._note_refusal(message)
        return True

    def _note_refusal(self, message: dict[str, Any]) -> None:
        """Note that the model refused: then that is why its turn ended."""
        if message.get("stop_reason") == "refusal":
            self.refused = text_or_joined_texts(message.get("content")) or self.claim or "refusal"

    def _add_content_block(self, block: dict[str, Any], nested: bool) -> None:
        kind = block.get("type")
        if kind == "text":
            self.add_message(text_or_empty(block.get("text")), nested=nested)
        elif kind == "thinking" and text_or_empty(block.get("thinking")).strip():
            self.add_step(
                self.step_at_this_line(
                    StepKind.THOUGHT, Verb.THINK, text_or_empty(block.get("thinking")), nested=nested
                )
            )
        elif kind == "tool_use":
            name = text_or_empty(block.get("name"))
            what, verb, about, changes = describe_call(name, block.get("input"))
            self.begin_step(
                text_or_empty(block.get("id")),
                self.step_at_this_line(what, verb, about, changes=changes, tool=name, nested=nested),
            )

    def _add_turn_usage(self, message: dict[str, Any]) -> None:
        """Add the usage of a message: every part of a turn comes with the usage of the whole turn so far."""
        usage, turn = dict_or_empty(message.get("usage")), text_or_empty(message.get("id"))
        tokens_in = sum(token_count_or_zero(usage.get(name)) for name in INPUT)
        made = token_count_or_zero(usage.get("output_tokens"))
        # Only what came since the last part is added, or each part would count all before it again
        before = self._turn if self._turn[0] == turn else ("", 0, 0)
        self._turn = (turn, tokens_in, made)
        self.usage.tokens_in += max(tokens_in - before[1], 0)
        self.usage.tokens_out += max(made - before[2], 0)
        if tokens_in + made:
            self.add_output_tokens_to_last_step(tokens_in + made)

    def _try_to_read_tool_results(self, line: dict[str, Any]) -> bool:
        content = dict_or_empty(line.get("message")).get("content")
        result_blocks = [
            dict_or_empty(block)
            for block in list_or_empty(content)
            if dict_or_empty(block).get("type") == "tool_result"
        ]
        for block in result_blocks:
            output = text_or_joined_texts(block.get("content"))
            failed = block.get("is_error") is True
            code = EXIT.match(output) if failed else None
            self.try_to_end_step_begun_as(
                text_or_empty(block.get("tool_use_id")),
                StepState.FAILED if failed else StepState.DONE,
                output,
                code=int(code[1]) if code else None if failed else 0,
            )
        return bool(result_blocks)

    def _try_to_read_final_result(self, line: dict[str, Any]) -> bool:
        usage, cost = dict_or_empty(line.get("usage")), dollars_or_none(line.get("total_cost_usd"))
        tokens_in = sum(token_count_or_zero(usage.get(name)) for name in INPUT)
        self.usage.tokens_in = max(tokens_in, self.usage.tokens_in)
        self.usage.tokens_out = max(token_count_or_zero(usage.get("output_tokens")), self.usage.tokens_out)
        self.usage.cost = cost if cost is not None else self.usage.cost
        self.session = text_or_empty(line.get("session_id"))[:LONGEST_NAME] or self.session
        for denial in map(dict_or_empty, list_or_empty(line.get("permission_denials"))):
            # Told before by a line of its own; where it was not, its step is still open.
            self.try_to_mark_step_as_denied(text_or_empty(denial.get("tool_use_id")), "")
        words = text_or_empty(line.get("result")).strip()
        if isinstance(line.get("structured_output"), dict):
            self.structured = words
        elif words:
            self.set_last_message(words, len(words))
        self._note_refusal(line)
        subtype = text_or_empty(line.get("subtype"))
        failed = line.get("is_error") is True or subtype.startswith("error")
        self.over_budget = "budget" in subtype
        self.unavailable = failed and _is_unavailable_status(line.get("api_error_status"))
        self.record_final_event("result", (text_or_empty(line.get("result")) or subtype) if failed else "")
        return True


def _is_unavailable_status(status: Any) -> bool:
    # 408: it took too long; 429: too many requests
    return type(status) is int and (status in (408, 429) or status >= 500)
