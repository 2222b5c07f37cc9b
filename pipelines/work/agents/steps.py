"""Steps of an agent as values: what a reader of a stream makes of the lines about a step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LONGEST_WHAT: Final = 2_000
LONGEST_DETAIL: Final = 20_000
LONGEST_CHANGE: Final = 4_000
MOST_CHANGES: Final = 20


class StepKind(StrEnum):
    TEXT = "text"
    THOUGHT = "thought"
    TOOL = "tool"
    EDIT = "edit"
    COMMAND = "command"
    ERROR = "error"


class StepState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"


class Verb(StrEnum):
    """Action of a step, whatever its program calls the tool."""

    SAY = "say"
    THINK = "think"
    RUN = "run"
    EDIT = "edit"
    WRITE = "write"
    DELETE = "delete"
    READ = "read"
    LIST = "list"
    SEARCH = "search"
    FETCH = "fetch"
    PLAN = "plan"
    DELEGATE = "delegate"
    TOOL = "tool"
    RETRY = "retry"
    TELL = "tell"


@dataclass(frozen=True, slots=True)
class TextChange:
    """Change that an edit claims to make to a file. `before` and `after` are the texts it replaces, as far as
    it reports them."""

    path: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Step of an agent. `at` and `seconds`: since the attempt began, and from its start to its end. `what`:
    the command, path or text; `detail`: its output, or a remark on it. `tokens`: of the model's turn that
    it belongs to, where they come with it; `cost`: of everything up to it, None where there is no price.
    `tool`: its program's name for it. `number`: its line of the log. `nested`: it is a step of another
    agent that this one started."""

    kind: StepKind
    verb: Verb
    at: float
    what: str = ""
    detail: str = ""
    state: StepState = StepState.DONE
    code: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    changes: tuple[TextChange, ...] = ()
    tool: str = ""
    number: int = 0
    nested: bool = False

    @property
    def is_denied(self) -> bool:
        return self.state == StepState.DENIED

    @property
    def has_failed(self) -> bool:
        return self.state == StepState.FAILED
