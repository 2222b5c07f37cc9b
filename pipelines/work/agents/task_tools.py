"""Tools that an agent at work has for its own task: what each is called with, and what comes of it. None votes,
publishes or reads a secret, and none takes the name of a task: it is the task of the visit."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pipelines.routing.basics.values import Malformed, check_storable
from pipelines.work.agents.call_budget import MOST_CALLS, CallBudget
from pipelines.work.agents.permission_desk import ALLOWED, PermissionDesk
from pipelines.work.spec.agent_call import AgentReport, AnswerRefused, TaskPort

TOO_MANY: Final = f"No more than {MOST_CALLS} calls a minute. Wait, then try again."
REPORT_RECORDED: Final = (
    "Recorded as your claim. It decides nothing by itself: what Gateline observes does. `what_if` says where the task "
    "would go."
)
QUESTION_RECORDED: Final = (
    "Your question is recorded. End your turn now, without doing anything else: a person answers, and the answer is "
    "your next message."
)
NO_QUESTIONS: Final = "This station takes no questions."
LONGEST_TEXT: Final = 4_000
LONGEST_TOOL_NAME: Final = 200
LONGEST_ARGUMENTS: Final = 1024 * 1024
Outcome = dict[str, Any]
INSTRUCTIONS: Final = (
    "Gateline gave you this task. `get_task` says what is expected. Before you end, ask `what_if` where the task would "
    "go, mend what it names, and `report` what you did. `ask` a person where only they can decide."
)
Schema = dict[str, Any]


class ToolRefused(Exception):
    """A call of a tool that is not done; the message is for the agent."""


def _object_schema(required: tuple[str, ...] = (), **fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def _text_schema(description: str) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "description": description}


_OUTCOME: Final[Schema] = {
    "enum": ["success", "failure", "blocked"],
    "description": "How the work went.",
}
_OUTPUT: Final[Schema] = {
    "type": "object",
    "description": "The output, by the keys that get_task names.",
}
_OPTIONS: Final[Schema] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 200},
    "maxItems": 10,
    "description": "Answers to choose from, if there are some.",
}


@dataclass(frozen=True)
class TaskTool:
    """`schema`: of its arguments; `reads_only`: it leaves nothing."""

    name: str
    title: str
    description: str
    schema: Schema
    reads_only: bool = True


TOOLS: Final = (
    TaskTool(
        "get_task",
        "Your task",
        "Your task: title, description, inputs, feedback of the last round, what your station is expected to leave, "
        "its rules, and the gates ahead.",
        _object_schema(),
    ),
    TaskTool(
        "what_if",
        "Where an outcome would lead",
        "Where the task would go if you ended with this outcome now, with the files as they are: by which rule, which "
        "checks would fail and why, who would review it and what they would see. Nothing is changed.",
        _object_schema(
            ("outcome",), outcome=_OUTCOME, output=_OUTPUT, summary=_text_schema("What you would say last.")
        ),
    ),
    TaskTool(
        "gate_checks",
        "Checks of the gates ahead",
        "The checks of the gates ahead, each with its result at this moment.",
        _object_schema(output=_OUTPUT),
    ),
    TaskTool(
        "report",
        "Report what you did",
        "Record what you did, and the output of your station. It is your claim: what Gateline observes decides. The "
        "last report counts.",
        _object_schema(
            ("outcome", "summary"),
            outcome=_OUTCOME,
            summary=_text_schema("What you did, for whoever reviews it."),
            output=_OUTPUT,
        ),
        reads_only=False,
    ),
    TaskTool(
        "complete_station",
        "Report the end of your work",
        "`report`, as agents of ALP know it. What you reported as output before stays.",
        _object_schema(
            ("conclusion",),
            conclusion={"enum": ["success", "failure"], "description": "How the work went."},
            summary=_text_schema("What you did, for whoever reviews it."),
            exitCode={"type": "integer", "minimum": 0, "maximum": 255},
        ),
        reads_only=False,
    ),
    TaskTool(
        "ask",
        "Ask a person",
        "Ask a person what only they can decide. Your work ends with it; the answer is your next message.",
        _object_schema(
            ("question",),
            question=_text_schema("The question, with all that it takes to answer it."),
            options=_OPTIONS,
        ),
        reads_only=False,
    ),
)
BY_NAME: Final[Mapping[str, TaskTool]] = {tool.name: tool for tool in TOOLS}
PERMISSION: Final = TaskTool(
    "permission",
    "Permission to call a tool",
    "Asked by your program itself before it calls a tool that the line lets nobody call unasked. Do not call it.",
    # Open to more fields: programs send some besides
    {"type": "object", "properties": {"tool_name": {"type": "string"}, "input": {"type": "object"}}},
)
"""Tool of programs that ask by a tool, where the line has them ask."""


class TaskTools:
    """The tools of one visit. `outcome_so_far`: with which it would end, given what the program did until now;
    `try_to_put_question`: a question for a person, False where the station takes none."""

    def __init__(
        self,
        port: TaskPort,
        outcome_so_far: Callable[[Mapping[str, Any]], Awaitable[Outcome]],
        put_question: Callable[[str], Awaitable[bool]],
        desk: PermissionDesk | None = None,
        output_keys: Sequence[str] = (),
    ) -> None:
        self._port, self._outcome_so_far, self._put_question = port, outcome_so_far, put_question
        self._budget = CallBudget()
        self.reported: AgentReport | None = None
        self.desk, self.output_keys = desk, output_keys

    @property
    def offered(self) -> tuple[TaskTool, ...]:
        """The tools, each with the output keys of the station where it takes an output."""
        output_schema = {"properties": {key: {} for key in self.output_keys}, "additionalProperties": True}
        tools = [
            replace(
                tool,
                schema={**tool.schema, "properties": {**properties, "output": {**_OUTPUT, **output_schema}}},
            )
            if self.output_keys and "output" in (properties := tool.schema["properties"])
            else tool
            for tool in TOOLS
        ]
        return tuple(tools) if self.desk is None else (*tools, PERMISSION)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """:raises ToolRefused"""
        # Not of the budget: without an answer the program could not go on
        if name == PERMISSION.name and self.desk is not None:
            return await _permission_answer(self.desk, arguments)
        tool = BY_NAME.get(name)
        if tool is None:
            raise ToolRefused(f"There is no tool {name[:100]}. There are {', '.join(BY_NAME)}.")
        # Wrong calls count as well: each costs a look, and a model may repeat one for ever
        if not self._budget.try_to_take_call(time.monotonic()):
            raise ToolRefused(TOO_MANY)
        _check_arguments(tool, arguments)
        match name:
            case "report":
                self.reported = AgentReport(
                    arguments["outcome"], arguments["summary"], arguments.get("output")
                )
                return {"recorded": True, "note": REPORT_RECORDED}
            case "complete_station":
                conclusion, output = arguments["conclusion"], self.reported.output if self.reported else None
                self.reported = AgentReport(conclusion, arguments.get("summary", conclusion), output)
                return {"recorded": True, "note": REPORT_RECORDED}
            case "ask":
                return await self._record_question(arguments)
            case "get_task":
                return await self._answer(name, None)
        return await self._answer(name, await self._outcome_so_far(arguments))

    async def _record_question(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        options = arguments.get("options") or ()
        question = "\n".join([arguments["question"], *(f"- {option}" for option in options)])
        if not await self._put_question(question):
            raise ToolRefused(NO_QUESTIONS)
        return {"recorded": True, "note": QUESTION_RECORDED}

    async def _answer(self, name: str, outcome: Outcome | None) -> dict[str, Any]:
        try:
            return await self._port.answer(name, outcome)
        except AnswerRefused as error:
            raise ToolRefused(str(error)) from error


async def _permission_answer(desk: PermissionDesk, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Answer as Claude Code understands it."""
    tool, call_input = arguments.get("tool_name"), arguments.get("input")
    if (
        not isinstance(tool, str)
        or not 0 < len(tool) <= LONGEST_TOOL_NAME
        or not isinstance(call_input, dict)
    ):
        raise ToolRefused("tool_name and input are needed: the tool, and the arguments of its call.")
    answer = await desk.decide(tool, call_input)
    if answer.state == ALLOWED:
        # It wants the arguments back even where nothing of them changed
        return {"behavior": "allow", "updatedInput": call_input}
    return {"behavior": "deny", "message": answer.reason or "Denied."}


def _check_arguments(tool: TaskTool, arguments: Mapping[str, Any]) -> None:
    """:raises ToolRefused: names the place"""
    try:
        check_storable(dict(arguments), "arguments")
        size = len(json.dumps(arguments))
    except (Malformed, ValueError, RecursionError) as error:
        raise ToolRefused(f"The arguments cannot be kept: {error}") from error
    if size > LONGEST_ARGUMENTS:
        raise ToolRefused(f"The arguments are longer than {LONGEST_ARGUMENTS // 1024} KiB.")
    # One fault at a time is what a model mends best
    fault = best_match(Draft202012Validator(tool.schema).iter_errors(dict(arguments)))
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path))
        raise ToolRefused(f"{place}: {fault.message}"[:1000] if place else fault.message[:1000])
