"""Work of kind `tools`: runs the calls that a model asked for, or a fixed list, under a policy (B11: ok, error).

The station succeeds if every call was answered, even with an error: the caller wants to read it, and only output of
stations that did not fail reaches the context.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

from pipelines.work.handlers import command
from pipelines.work.handlers.http import SILENT_SECONDS, loggable_url
from pipelines.work.handlers.time_limits import TimeIsUp, cancelled_outcome, limiting_time
from pipelines.work.language_models import conversation
from pipelines.work.language_models.conversation import Conversation, NoConversation, ToolCall
from pipelines.work.outgoing.http_fetch import fetch_url
from pipelines.work.spec.handler_io import Outcome, ProcessLimits, Sink, Spec
from pipelines.work.spec.offered_tools import (
    ALLOW,
    APPROVE,
    DENY,
    BadCall,
    OfferedTool,
    RequestTemplate,
    argument_faults_or_empty,
    policy_action,
    tool_argv,
    tool_call_request,
)

OK, ERROR, DENIED = "ok", "error", "denied"
MOST_CALLS = 100
# How much of a tool's text the model and the outcome get; the log has all of it.
SHOWN_CHARACTERS = 20_000
CUT = "[the rest was cut]"
# A byte more than any of them shows, so that a cut is seen.
KEPT_BYTES = 4 * SHOWN_CHARACTERS + 1
SHOWN_IN_QUESTION = 2_000
APPROVALS = ("approve", "approved", "yes", "allow", "ok")


@dataclass(frozen=True)
class ToolResult:
    call: ToolCall
    status: str
    text: str
    code: int | None = None

    def to_dict(self) -> dict[str, Any]:
        fields = {"id": self.call.id, "tool": self.call.name, "status": self.status, "output": self.text}
        return fields if self.code is None else {**fields, "code": self.code}

    def message(self) -> dict[str, Any]:
        how = "" if self.status == OK else f"[{self.status}{'' if self.code is None else f' {self.code}'}] "
        return {"role": "tool", "tool_call_id": self.call.id, "content": how + self.text}


@dataclass
class KeepingSink:
    """A sink that forwards everything and keeps the beginning."""

    sink: Sink
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)

    async def write(self, stream: str, data: bytes) -> None:
        buffer = self.out if stream == "out" else self.err
        buffer += data[: max(0, KEPT_BYTES - len(buffer))]
        await self.sink.write(stream, data)

    async def note(self, text: str) -> None:
        await self.sink.note(text)


async def run(spec: Spec, sink: Sink) -> Outcome:
    began = time.monotonic()
    try:
        async with limiting_time(replace(spec.limits, idle=None)):
            outcome = await run_calls(spec, sink)
    except TimeIsUp as late:
        outcome = await cancelled_outcome(late, sink)
    except NoConversation as error:
        why = f"“{spec.work.get('history')}” {error}."
        outcome = {"result": "failure", "failure_type": "bad_history", "summary": why}
    return {**outcome, "usage": {"duration_sec": round(time.monotonic() - began, 3)}}


async def run_calls(spec: Spec, sink: Sink) -> Outcome:
    history = str(spec.work.get("history") or "")
    before = conversation.parsed_conversation(
        conversation.value_in_context_or_variable(history, spec.data) if history else None
    )
    calls = calls_to_run(spec, before)
    # The calls come from a model, which may ask for any number
    if len(calls) > MOST_CALLS:
        why = f"{len(calls)} calls at once are more than {MOST_CALLS}."
        return {"result": "failure", "failure_type": "too_many_calls", "summary": why}
    actions = [decide_action(spec, call) for call in calls]
    waiting = [call for call, what in zip(calls, actions, strict=True) if what == APPROVE]
    word = approval_or_denial_reason(spec, waiting) if waiting else ""
    # Before any of them runs: a person decides about all, and may deny what the others need
    if waiting and word is None:
        await sink.note(f"[gateline] {len(waiting)} of {len(calls)} calls wait for a person.")
        return approval_outcome(waiting)
    results = []
    for call, what in zip(calls, actions, strict=True):
        refusal = "The policy denies this call." if what == DENY else ""
        if what == APPROVE and word:
            refusal = f"A person denied this call: {word}"
        results.append(
            ToolResult(call, DENIED, refusal) if refusal else await run_tool_call(spec, sink, call)
        )
        await sink.note(f"[gateline] {call.name}: {results[-1].status}")
    return tool_results_outcome(results, before, history)


def calls_to_run(spec: Spec, before: Conversation) -> list[ToolCall]:
    """The fixed list, else the calls of the conversation that nobody answered, else those that the last output told."""
    fixed = spec.work.get("calls")
    if fixed:
        return [
            ToolCall(f"call_{index}", call["tool"], json.dumps(call.get("arguments") or {}))
            for index, call in enumerate(fixed)
        ]
    if spec.work.get("history"):
        return before.unanswered_tool_calls()
    return conversation.tool_calls_in((spec.data.get("context") or {}).get("tool_calls"))


def decide_action(spec: Spec, call: ToolCall) -> str:
    """Undeclared tools and calls that do not fit their tool are not run, and need no approval."""
    tool, arguments = tool_by_name_or_none(spec, call), conversation.json_or_text(call.arguments)
    if tool is None:
        # Without a policy it is let through, and answered with an error.
        return DENY if spec.work.get("policy") else ALLOW
    decision = policy_action(spec.work.get("policy"), call.name, arguments)
    return ALLOW if decision == APPROVE and misfit_reason(tool, arguments) else decision


def tool_by_name_or_none(spec: Spec, call: ToolCall) -> OfferedTool | None:
    return next((tool for tool in spec.tools if tool.name == call.name), None)


def misfit_reason(tool: OfferedTool, arguments: Any) -> str:
    """Return why the tool cannot be run with these arguments, or ""."""
    return (
        argument_faults_or_empty(tool, arguments)
        if isinstance(arguments, dict)
        else "The arguments are no JSON object."
    )


# Asking a person: the token is blocked, and the station runs again with the answer (law §5 step 3, hold)


def _cut_arguments(arguments: str) -> str:
    """The arguments as far as a question has room for them, and how much of them is left out."""
    rest = len(arguments) - SHOWN_IN_QUESTION
    return arguments if rest <= 0 else f"{arguments[:SHOWN_IN_QUESTION]}… ({rest} more characters)"


def approval_question(calls: list[ToolCall]) -> str:
    """The question. It names the calls exactly, so that the answer counts for these and no others."""
    # By their values: spacing and order of the arguments make no other call.
    exact = json.dumps(
        [[call.name, conversation.json_or_text(call.arguments)] for call in calls], sort_keys=True
    )
    digest = hashlib.sha256(exact.encode()).hexdigest()
    listed = "\n".join(
        f"{index}. {call.name}({_cut_arguments(call.arguments)})" for index, call in enumerate(calls, start=1)
    )
    return (
        "May these calls be run? Answer “approve” to run them. Any other answer denies them and is handed on as the "
        f"reason.\n\n{listed}\n\nThese calls: {digest[:16]}"
    )


def approval_outcome(calls: list[ToolCall]) -> Outcome:
    meta = {"question": approval_question(calls), "calls": [call.to_dict() for call in calls]}
    signal = {"verdict": "hold", "reason": "needs_human", "meta": meta}
    return {"result": "blocked", "signals": [signal], "summary": f"{len(calls)} calls wait for a person."}


def approval_or_denial_reason(spec: Spec, calls: list[ToolCall]) -> str | None:
    """ "" when a person approved these calls, the reason when one denied them, None when nobody was asked yet."""
    # The answer was to another question: the calls are others now.
    if spec.question != approval_question(calls):
        return None
    text = spec.feedback.strip()
    words = text.lower().strip("\"'“”. !").split()
    # “approve, please” approves, “do not approve” denies.
    return "" if words[:1] and words[0].strip(".,!") in APPROVALS else text or "no reason was given"


# One call


async def run_tool_call(spec: Spec, sink: Sink, call: ToolCall) -> ToolResult:
    tool, arguments = tool_by_name_or_none(spec, call), conversation.json_or_text(call.arguments)
    if tool is None:
        return ToolResult(call, ERROR, f"There is no tool {call.name[:64]}.")
    why = misfit_reason(tool, arguments)
    if why:
        return ToolResult(call, ERROR, why)
    await sink.note(f"[gateline] {call.name}({call.arguments[:500]})")
    try:
        if tool.http is not None:
            return await _run_request_tool(spec, sink, call, tool, tool.http, arguments)
        return await _run_command_tool(spec, sink, call, tool, arguments)
    except BadCall as error:
        return ToolResult(call, ERROR, str(error))


async def _run_command_tool(
    spec: Spec, sink: Sink, call: ToolCall, tool: OfferedTool, arguments: Mapping[str, Any]
) -> ToolResult:
    collector = KeepingSink(sink)
    own = {name: text_with_arguments_filled_in(text, arguments) for name, text in tool.env.items()}
    made = replace(
        spec,
        argv=tool_argv(tool, arguments),
        prompt=json.dumps(arguments) + "\n",
        # What Gateline sets counts before what the tool says.
        env={**own, **spec.env},
        cwd=tool.cwd,
        limits=ProcessLimits(total=tool.timeout),
        output_keys=(),
        # The text of a tool is data for the model: no line of it is a signal.
        heeds_signals=False,
    )
    outcome = await command.run(made, collector)
    text, errors = (cut_text(bytes(part).decode(errors="replace")) for part in (collector.out, collector.err))
    code = outcome.get("exit_code")
    if outcome.get("result") == "cancelled":
        return ToolResult(call, ERROR, f"{text}\n{outcome.get('reason')}".strip(), code)
    if code != 0:
        return ToolResult(call, ERROR, "\n".join(filter(None, (text, errors, outcome.get("summary")))), code)
    return ToolResult(call, OK, text, code)


def cut_text(text: str) -> str:
    """Return a tool's output, cut to what a model and an outcome get of it, with a note where it was cut."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}\n{CUT}"


def text_with_arguments_filled_in(text: Any, arguments: Mapping[str, Any]) -> str:
    """A variable of the environment."""
    return "".join(part if isinstance(part, str) else str(arguments.get(part.name, "")) for part in text)


async def _run_request_tool(
    spec: Spec,
    sink: Sink,
    call: ToolCall,
    tool: OfferedTool,
    request: RequestTemplate,
    arguments: Mapping[str, Any],
) -> ToolResult:
    made = tool_call_request(request, arguments)
    try:
        async with limiting_time(ProcessLimits(total=tool.timeout)):
            answer = await fetch_url(made, spec.outgoing.guard, SILENT_SECONDS)
    except TimeIsUp:
        return ToolResult(call, ERROR, f"{loggable_url(made.url)} did not answer in time.")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return ToolResult(call, ERROR, f"{loggable_url(made.url)}: {error or type(error).__name__}")
    await sink.write("out", answer.body + b"\n")
    good = 200 <= answer.status < 300
    return ToolResult(call, OK if good else ERROR, cut_text(answer.text()), answer.status)


def tool_results_outcome(results: list[ToolResult], before: Conversation, history: str) -> Outcome:
    good = all(result.status == OK for result in results)
    # No calls are left: in the context this takes the place of those just answered.
    result_fields: dict[str, Any] = {"results": [result.to_dict() for result in results], "tool_calls": []}
    if history:
        result_fields[history] = before.with_messages(*(result.message() for result in results)).to_dict()
    counted = ", ".join(f"{result.call.name} {result.status}" for result in results[:20])
    return {
        "result": "success",
        "eval": OK if good else ERROR,
        "output": result_fields,
        "summary": counted or "There was no call to run.",
    }
