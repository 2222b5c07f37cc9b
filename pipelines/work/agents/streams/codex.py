"""Codex, `codex exec --json`. A command that failed leaves exit code 0 and `turn.completed`: only its item tells."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.work.agents.json_values import (
    dict_or_empty,
    exit_code_or_none,
    list_or_empty,
    text_or_empty,
    text_or_joined_texts,
    token_count_or_zero,
)
from pipelines.work.agents.steps import Step, StepKind, StepState, TextChange, Verb
from pipelines.work.agents.stream import LONGEST_NAME, Stream

# `Reconnecting... 2/5 (…)` or `Reconnecting... waiting for network`
RECONNECTING = re.compile(
    r"Reconnecting\.\.\. (?:(\d{1,4})/(\d{1,4})|waiting for network)(?: \((.*)\))?", re.DOTALL
)
# `/bin/bash -lc 'make test'`
SHELL = re.compile(r"\S*/(?:ba|z|da)?sh -l?c ")
STATES = {"completed": StepState.DONE, "failed": StepState.FAILED, "declined": StepState.DENIED}
VERBS = {"add": Verb.WRITE, "delete": Verb.DELETE}


class Codex(Stream):
    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        return {
            "thread.started": self._try_to_read_thread_line,
            "turn.started": lambda line: True,
            "item.started": self._try_to_read_item_line,
            "item.updated": self._try_to_read_item_line,
            "item.completed": self._try_to_read_item_line,
            "turn.completed": self._try_to_read_completed_turn,
            "turn.failed": self._try_to_read_failed_turn,
            "error": self._try_to_read_error_line,
        }

    def _try_to_read_thread_line(self, line: dict[str, Any]) -> bool:
        self.name = "Codex"
        self.session = text_or_empty(line.get("thread_id"))[:LONGEST_NAME]
        return True

    def _try_to_read_item_line(self, line: dict[str, Any]) -> bool:
        item, over = dict_or_empty(line.get("item")), line.get("type") == "item.completed"
        kind = text_or_empty(item.get("type"))
        if kind == "error":
            if over:
                # Such an item is a warning of Codex: what ends the turn comes as turn.failed
                self.add_error(text_or_empty(item.get("message")), StepState.DONE)
            return True
        # Every item but an error comes of an answer of the model.
        self.end_retries()
        if kind in ("agent_message", "reasoning"):
            if over:
                self._add_message_or_thought(kind, text_or_empty(item.get("text")))
            return True
        step = self._step_of_item_or_none(kind, item)
        if step is None:
            return False
        identity = text_or_empty(item.get("id"))
        if not self.is_step_open(identity):
            self.begin_step(identity, step)
        if over:
            state = STATES.get(text_or_empty(item.get("status")), StepState.DONE)
            output = text_or_empty(item.get("aggregated_output")) or text_or_joined_texts(
                dict_or_empty(item.get("error")).get("message")
            )
            self.try_to_end_step_begun_as(
                identity, state, output, code=exit_code_or_none(item.get("exit_code")), changes=step.changes
            )
        return True

    def _add_message_or_thought(self, kind: str, words: str) -> None:
        if kind == "agent_message":
            self.add_message(words)
        elif words.strip():
            self.add_step(self.step_at_this_line(StepKind.THOUGHT, Verb.THINK, words.strip()))

    def _step_of_item_or_none(self, kind: str, item: dict[str, Any]) -> Step | None:
        if kind == "command_execution":
            return self.step_at_this_line(
                StepKind.COMMAND, Verb.RUN, command_without_shell(text_or_empty(item.get("command")))
            )
        if kind == "file_change":
            changed = [dict_or_empty(entry) for entry in list_or_empty(item.get("changes"))]
            paths = [text_or_empty(change.get("path")) for change in changed]
            verb = (
                VERBS.get(text_or_empty(changed[0].get("kind")), Verb.EDIT)
                if len(changed) == 1
                else Verb.EDIT
            )
            changes = tuple(TextChange(path) for path in paths)
            return self.step_at_this_line(StepKind.EDIT, verb, ", ".join(paths), changes=changes)
        if kind == "mcp_tool_call":
            tool = text_or_empty(item.get("tool"))
            return self.step_at_this_line(
                StepKind.TOOL, Verb.TOOL, text_or_empty(item.get("server")), tool=tool
            )
        if kind == "web_search":
            return self.step_at_this_line(StepKind.TOOL, Verb.SEARCH, text_or_empty(item.get("query")))
        if kind == "todo_list":
            plan = [
                text_or_empty(dict_or_empty(entry).get("text")) for entry in list_or_empty(item.get("items"))
            ]
            return self.step_at_this_line(StepKind.TOOL, Verb.PLAN, "; ".join(plan))
        return None

    def _try_to_read_completed_turn(self, line: dict[str, Any]) -> bool:
        """Its usage is that of the whole run."""
        usage = dict_or_empty(line.get("usage"))
        self.usage.tokens_in = token_count_or_zero(usage.get("input_tokens"))
        self.usage.tokens_out = token_count_or_zero(usage.get("output_tokens"))
        self.end_retries()
        self.record_final_event("turn.completed")
        return True

    def _try_to_read_failed_turn(self, line: dict[str, Any]) -> bool:
        self.record_final_event(
            "turn.failed", text_or_empty(dict_or_empty(line.get("error")).get("message")) or "turn.failed"
        )
        return True

    def _try_to_read_error_line(self, line: dict[str, Any]) -> bool:
        message = text_or_empty(line.get("message"))
        again = RECONNECTING.match(message)
        if again:
            which = int(again[1] or 0)
            self.add_retry(which, again[3] or "", f"{which}/{again[2]}" if which else "")
        else:
            self.add_error(message)
        return True


def command_without_shell(command: str) -> str:
    """Return the command without the shell that runs it."""
    if not SHELL.match(command):
        return command
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    return parts[2] if len(parts) == 3 else command
