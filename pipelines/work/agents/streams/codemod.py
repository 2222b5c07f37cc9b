"""Our own `codemod` (pipelines/work/agents/codemod.py): start, run, ran, edit, say, end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipelines.work.agents.json_values import dict_or_empty, exit_code_or_none, text_or_empty
from pipelines.work.agents.steps import StepKind, StepState, TextChange, Verb
from pipelines.work.agents.stream import LONGEST_NAME, Stream


class Codemod(Stream):
    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        return {
            "start": self._try_to_read_start_line,
            "run": self._try_to_read_begun_run,
            "ran": self._try_to_read_ended_run,
            "edit": self._try_to_read_edit_line,
            "say": self._try_to_read_message_line,
            "end": self._try_to_read_end_line,
        }

    def _try_to_read_start_line(self, line: dict[str, Any]) -> bool:
        self.name = "Codemod"
        self.version = text_or_empty(line.get("version"))[:LONGEST_NAME]
        return True

    def _try_to_read_begun_run(self, line: dict[str, Any]) -> bool:
        self.begin_step(
            text_or_empty(line.get("id")),
            self.step_at_this_line(StepKind.COMMAND, Verb.RUN, text_or_empty(line.get("command"))),
        )
        return True

    def _try_to_read_ended_run(self, line: dict[str, Any]) -> bool:
        state = StepState.DONE if line.get("ok") is True else StepState.FAILED
        code = exit_code_or_none(line.get("exit_code"))
        return self.try_to_end_step_begun_as(
            text_or_empty(line.get("id")), state, text_or_empty(line.get("output")), code=code
        )

    def _try_to_read_edit_line(self, line: dict[str, Any]) -> bool:
        path, change = text_or_empty(line.get("path")), dict_or_empty(line.get("change"))
        verb = {"added": Verb.WRITE, "deleted": Verb.DELETE}.get(text_or_empty(line.get("how")), Verb.EDIT)
        changes = (TextChange(path, text_or_empty(change.get("before")), text_or_empty(change.get("after"))),)
        self.add_step(self.step_at_this_line(StepKind.EDIT, verb, path, changes=changes))
        return True

    def _try_to_read_message_line(self, line: dict[str, Any]) -> bool:
        self.add_message(text_or_empty(line.get("text")))
        return True

    def _try_to_read_end_line(self, line: dict[str, Any]) -> bool:
        self.add_message(text_or_empty(line.get("text")))
        self.has_no_fixer = line.get("why") == "no_fixer"
        self.record_final_event("end", text_or_empty(line.get("text")) if line.get("failed") is True else "")
        return True
