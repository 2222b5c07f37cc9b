"""Our own `codemod` (pipelines/work/agents/codemod.py): start, run, ran, edit, say, end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipelines.work.agents.json_values import dict_or_empty, exit_code, text_or_empty
from pipelines.work.agents.steps import StepKind, StepState, TextChange, Verb
from pipelines.work.agents.stream import LONGEST_NAME, Stream


class Codemod(Stream):
    def handlers_by_type(self) -> Mapping[str, Callable[[dict[str, Any]], bool]]:
        return {
            "start": self._start,
            "run": self._run,
            "ran": self._ran,
            "edit": self._edit,
            "say": self._say,
            "end": self._end,
        }

    def _start(self, line: dict[str, Any]) -> bool:
        self.name = "Codemod"
        self.version = text_or_empty(line.get("version"))[:LONGEST_NAME]
        return True

    def _run(self, line: dict[str, Any]) -> bool:
        self.begin(
            text_or_empty(line.get("id")),
            self.step(StepKind.COMMAND, Verb.RUN, text_or_empty(line.get("command"))),
        )
        return True

    def _ran(self, line: dict[str, Any]) -> bool:
        state = StepState.DONE if line.get("ok") is True else StepState.FAILED
        code = exit_code(line.get("exit_code"))
        return self.end(text_or_empty(line.get("id")), state, text_or_empty(line.get("output")), code=code)

    def _edit(self, line: dict[str, Any]) -> bool:
        path, change = text_or_empty(line.get("path")), dict_or_empty(line.get("change"))
        verb = {"added": Verb.WRITE, "deleted": Verb.DELETE}.get(text_or_empty(line.get("how")), Verb.EDIT)
        changes = (TextChange(path, text_or_empty(change.get("before")), text_or_empty(change.get("after"))),)
        self.add(self.step(StepKind.EDIT, verb, path, changes=changes))
        return True

    def _say(self, line: dict[str, Any]) -> bool:
        self.add_message(text_or_empty(line.get("text")))
        return True

    def _end(self, line: dict[str, Any]) -> bool:
        self.add_message(text_or_empty(line.get("text")))
        self.has_no_fixer = line.get("why") == "no_fixer"
        self.finish("end", text_or_empty(line.get("text")) if line.get("failed") is True else "")
        return True
