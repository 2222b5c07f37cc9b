"""Tools of gates: a command whose result, pass, warn or fail, is a fact of the decision (dialect A, gate tools).

Which result a run has is decided here, from what the run left; the run itself is a job of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipelines.routing.basics import schema_parts
from pipelines.routing.basics.bounds import EvaluationBudget, EvaluationFailed, NotAnswered
from pipelines.routing.basics.problems import member_path
from pipelines.routing.basics.schema_parts import Schema
from pipelines.routing.basics.values import MISSING, whole_number_or_none
from pipelines.routing.document.algebra import (
    AnswerTest,
    Condition,
    ConditionView,
    EdgeCountTest,
    condition_holds,
    condition_leaf_tests,
)
from pipelines.routing.document.document_readers.conditions import read_argv, read_condition
from pipelines.routing.document.document_readers.reader import Reader
from pipelines.routing.document.evaluations import UNANSWERED, Evaluation
from pipelines.routing.document.fields.field import Field, ReadContext, WriteCondition, declared_field
from pipelines.routing.document.fields.nested import ObjectField
from pipelines.routing.document.fields.plain_fields import Choice, Count, Duration, Flag, Object, Text, Texts
from pipelines.routing.document.fields.record import Record

KIND = "tool"
PASS, WARN, FAIL = "pass", "warn", "fail"
PARSES: Final = {
    "json": "JSON",
    "text": "Text",
    "exit_code": "Nothing that counts: the exit code decides",
}
ACTIONS: Final = {
    "hold": "Hold: a person decides",
    "rework": "Rework: the rules as after a failure",
    "abort": "Abort: the task fails",
}
TIMEOUT = 60
"""Seconds, where the document does not say."""
MAX_RETRIES = 10
TROUBLES = ("timeout", "parse_error", "not_started")
"""How a run fails whatever its conditions say: the `failure_type` of its outcome."""


# Its keys


@dataclass(frozen=True, kw_only=True)
class Program(Texts):
    required: bool = True

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return read_argv(reader)

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return read_argv(reader)

    def schema(self) -> Schema:
        return schema_parts.list_schema(schema_parts.SOME_TEXT, minItems=1)


@dataclass(frozen=True, kw_only=True)
class Environment(Object):
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        members = reader.object(key)
        for name, value in members.items():
            if type(value) is not str:
                reader.problems.note(member_path(reader.path_of(key), name), "has to be a text")
        return members

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": schema_parts.TEXT}


@dataclass(frozen=True, kw_only=True)
class ExitCodes(Field):
    default: tuple[int, ...] = (0,)
    written: WriteCondition = WriteCondition.ALWAYS

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        codes = []
        for value, path in reader.members(key):
            code = whole_number_or_none(value)
            if code is None or not 0 <= code <= 255:
                reader.problems.note(path, "has to be an exit code, 0 to 255")
            else:
                codes.append(code)
        if reader.given[key] == []:
            reader.note(key, "names no exit code", "leave the key out for 0")
        return tuple(codes) or self.default

    def write(self, value: Any) -> Any:
        return list(value)

    def schema(self) -> Schema:
        return schema_parts.list_schema({"type": "integer", "minimum": 0, "maximum": 255}, minItems=1)


@dataclass(frozen=True, kw_only=True)
class JudgementCondition(Field):
    """A condition on the tool's own output, and how it is written."""

    help: str = "A condition on the tool's own output, as JSON."
    rows: int = 2

    def read(self, reader: Reader, key: str, context: ReadContext) -> Any:
        value = reader.raw(key)
        condition = read_condition(value, reader.path_of(key), reader.problems, ())
        if any(isinstance(leaf, (AnswerTest, EdgeCountTest)) for leaf in condition_leaf_tests(condition)):
            reader.note(key, "reads the tool's own output; it cannot ask anybody or count edges")
        return condition, value

    def absent_value(self, reader: Reader, key: str, context: ReadContext) -> Any:
        return None, None

    def write(self, value: Any) -> Any:
        return value[1]

    def schema(self) -> Schema:
        return schema_parts.definition_reference("condition")


@dataclass(frozen=True)
class Retries:
    """Retries after an error, not after a result."""

    max: int = declared_field(
        Count(
            most=MAX_RETRIES,
            default=0,
            written=WriteCondition.ALWAYS,
            label="Most repeats after trouble",
            placeholder="0",
        )
    )
    backoff: float = declared_field(
        Duration(default=1, written=WriteCondition.ALWAYS, label="Pause before a repeat", placeholder="1s")
    )


RETRIES: Final = Record.of(Retries)


@dataclass(frozen=True)
class ToolJudgement:
    """Judgement of a run. `…_said`: the conditions as written."""

    parse: str = declared_field(Choice(PARSES, default="exit_code", label="What it writes"))
    success_on: tuple[int, ...] = declared_field(
        ExitCodes(label="Exit codes of a run that counts", placeholder="[0]")
    )
    pass_if: Condition | None = declared_field(
        JudgementCondition(
            fills=("pass_if", "pass_if_said"),
            label="Passes if",
            placeholder='{"output": {"path": "$.percent", "op": "gte", "value": 80}}',
        )
    )
    warn_if: Condition | None = declared_field(
        JudgementCondition(fills=("warn_if", "warn_if_said"), label="Warns if")
    )
    fail_if: Condition | None = declared_field(
        JudgementCondition(fills=("fail_if", "fail_if_said"), label="Fails if")
    )
    pass_if_said: Any = None
    warn_if_said: Any = None
    fail_if_said: Any = None


JUDGING: Final = Record.of(ToolJudgement)


@dataclass(frozen=True)
class Tool:
    """`outcome`: how its run is judged. `action`: what a fail asks for, as a failed check does; a warning asks a
    person, unless `approve_warnings`. `stdin` None: the outcome as JSON."""

    argv: tuple[str, ...] = declared_field(
        Program(
            label="Program and arguments",
            help="Runs after the station, on a copy of its workspace. No shell reads it.",
            placeholder="coverage json -o -",
            rows=2,
        ),
        required=True,
    )
    cwd: str = declared_field(
        Text(default=".", written=WriteCondition.ALWAYS, label="Folder", placeholder=".", code=True)
    )
    env: Mapping[str, str] = declared_field(
        Environment(label="Environment", help="NAME=value, one per line.", rows=2)
    )
    stdin: str | None = declared_field(
        Text(
            default=None,
            written=WriteCondition.UNLESS_NONE,
            label="Standard input",
            help="Without it the tool gets the outcome as JSON.",
            rows=2,
        )
    )
    timeout: float = declared_field(
        Duration(default=TIMEOUT, written=WriteCondition.ALWAYS, label="Timeout", placeholder="60s")
    )
    retries: Retries = declared_field(ObjectField(RETRIES, default=Retries(), written=WriteCondition.ALWAYS))
    outcome: ToolJudgement = declared_field(
        ObjectField(JUDGING, default=ToolJudgement(), written=WriteCondition.ALWAYS)
    )
    action: str = declared_field(Choice(ACTIONS, default="rework", label="When it fails"))
    approve_warnings: bool = declared_field(
        Flag(written=WriteCondition.ALWAYS, label="A warning needs no person")
    )
    enabled: bool = declared_field(
        Flag(
            default=True,
            written=WriteCondition.ALWAYS,
            label="It runs",
            help="Switched off it passes, and the trace says so.",
        )
    )

    def question(self, gate: str) -> Evaluation:
        """Return the evaluation to run: everything that could change the result."""
        return Evaluation.of(KIND, {"gate": gate, **self.run_spec()})

    def run_spec(self) -> dict[str, Any]:
        """Return what is run and how it is judged, as the document states it."""
        document = TOOL.write(self)
        return {
            key: value
            for key, value in document.items()
            # What follows on a result does not change it: the answer stays when these are edited.
            if key not in ("action", "approve_warnings", "enabled")
        }


class ToolRecord(Record[Tool]):
    def read(self, reader: Reader, context: ReadContext) -> Tool:
        """A tool that does nothing where something is wrong: it is never run."""
        before = len(reader.problems)
        tool = super().read(reader, context)
        return tool if len(reader.problems) == before else Tool(("true",))


TOOL: Final = ToolRecord.of(Tool, first=("argv", "outcome", "retries", "timeout"))


def fact_of_tool_run(tool: Tool, question: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """The fact that a run is. A run that was cancelled (its worker was lost) has no result: a person is asked."""
    if outcome.get("result") == "cancelled":
        return {**question, "answer": UNANSWERED, "text": "The tool could not be run to its end."}
    word, why = tool_result_and_reason(tool, outcome)
    feedback = outcome.get("feedback") or outcome.get("summary")
    text = "\n".join(part for part in (why, feedback) if isinstance(part, str) and part)
    return {**question, "answer": word, **({"text": text} if text else {})}


def tool_result_and_reason(tool: Tool, outcome: Mapping[str, Any]) -> tuple[str, str]:
    """The result and why, in this order: trouble, exit code, `fail_if`, `pass_if`, `warn_if`. With `pass_if` what it
    does not take fails, unless `warn_if` does. A condition that cannot be evaluated is false."""
    trouble, code = outcome.get("failure_type"), outcome.get("exit_code")
    # Before its exit code: a program that was stopped may end with any
    if trouble in TROUBLES:
        return FAIL, str(trouble)
    # What a failing program wrote is not looked at
    if code not in tool.outcome.success_on:
        return FAIL, f"exit code {code}"
    view = _tool_view(outcome, code)
    if _is_set_and_true(tool.outcome.fail_if, view):
        return FAIL, "fail_if"
    if tool.outcome.pass_if is not None and _is_set_and_true(tool.outcome.pass_if, view):
        return PASS, ""
    if _is_set_and_true(tool.outcome.warn_if, view):
        return WARN, "warn_if"
    return (PASS, "") if tool.outcome.pass_if is None else (FAIL, "pass_if is not met")


def _is_set_and_true(condition: Condition | None, view: ConditionView) -> bool:
    try:
        return condition is not None and condition_holds(condition, view)
    except (EvaluationFailed, NotAnswered):
        return False


def _tool_view(outcome: Mapping[str, Any], code: Any) -> ConditionView:
    # `success_on` says which runs count; what the conditions see is how the program itself ended
    passed = code == 0
    return ConditionView(
        result="success" if passed else "failure",
        verdict="pass" if passed else "fail",
        eval="ok" if passed else "error",
        failure_type=None,
        document=outcome.get("output", MISSING),
        unreadable=False,
        edges={},
        answers={},
        steps=EvaluationBudget(),
    )
