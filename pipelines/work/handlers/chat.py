"""Work of kind `chat`: asks a model that speaks the protocol of OpenAI (dialects B11: stop, tool-call, length)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from pipelines.routing.basics.values import MISSING
from pipelines.work.handlers.time_limits import DataCallback, TimeIsUp, cancelled_outcome, limiting_time
from pipelines.work.language_models import conversation
from pipelines.work.language_models.completion import CompletionRequest, NoAnswer, Reply, ask_model
from pipelines.work.language_models.conversation import Conversation, NoConversation
from pipelines.work.results import output
from pipelines.work.spec.handler_io import Outcome, Sink, Spec

# The words of the protocol, as dialect B has them
EVALS = {"tool_calls": "tool-call", "function_call": "tool-call"}
SUMMARY_CHARACTERS = 500


async def run(spec: Spec, sink: Sink) -> Outcome:
    """The text streams into the log. Output: the text, or the JSON in it; with `history` an object that also holds the
    conversation under that key, which the context keeps for whoever goes on with it."""
    return await ask_with_limits(spec, sink, ask_chat)


async def ask_with_limits(
    spec: Spec, sink: Sink, ask: Callable[[Spec, Sink, DataCallback], Awaitable[Outcome]]
) -> Outcome:
    """Return the outcome of asking a model, with its duration; also where it gave no answer, or not in time."""
    began = time.monotonic()
    try:
        async with limiting_time(spec.limits) as on_data:
            outcome = await ask(spec, sink, on_data)
    except TimeIsUp as late:
        outcome = await cancelled_outcome(late, sink)
    except NoAnswer as why:
        await sink.note(f"[gateline] {why}")
        outcome = {"result": "failure", "failure_type": why.failure_type, "summary": str(why)}
    usage = {**outcome.get("usage", {}), "duration_sec": round(time.monotonic() - began, 3)}
    return {**outcome, "usage": usage}


async def ask_chat(spec: Spec, sink: Sink, on_data: DataCallback) -> Outcome:
    work, history = spec.work, str(spec.work.get("history") or "")
    try:
        before = conversation.parsed_conversation(
            conversation.value_in_context_or_variable(history, spec.data) if history else None
        )
    except NoConversation as error:
        raise NoAnswer("bad_history", f"“{history}” {error}.") from error
    dialog = conversation.next_conversation(
        before, str(work.get("system") or ""), spec.prompt or "", spec.feedback
    )
    if not dialog.messages:
        raise NoAnswer("bad_history", "There is nothing to say: neither a prompt nor a conversation.")
    reply = await ask_model(
        completion_request(spec, dialog), spec.outgoing, text_callback_to_log(sink, on_data)
    )
    await sink.write("out", b"\n")
    for call in reply.calls:
        await sink.note(f"[gateline] The model calls {call.name}({call.arguments[:500]})")
    return completion_outcome(spec, dialog, reply, history)


def completion_request(spec: Spec, dialog: Conversation) -> CompletionRequest:
    work = spec.work
    return CompletionRequest(
        dialog.messages,
        model=str(work.get("model") or ""),
        temperature=work.get("temperature"),
        max_tokens=work.get("max_tokens"),
        tools=spec.offered,
        stream=bool(work.get("stream", True)),
    )


def text_callback_to_log(sink: Sink, on_data: DataCallback) -> Any:
    async def append_text_to_log(text: str) -> None:
        # An empty piece shows as well that the server is there.
        on_data()
        if text:
            await sink.write("out", text.encode(errors="backslashreplace"))

    return append_text_to_log


def completion_outcome(spec: Spec, dialog: Conversation, reply: Reply, history: str) -> Outcome:
    outcome: Outcome = {
        "result": "success",
        "eval": "tool-call" if reply.calls else EVALS.get(reply.finish, reply.finish),
        "usage": reply.usage,
    }
    if reply.finish == "content_filter":
        outcome |= {"result": "failure", "failure_type": "content_filter"}
    if reply.text.strip() or reply.refusal:
        outcome["summary"] = (reply.text.strip() or reply.refusal)[:SUMMARY_CHARACTERS]
    text_output = reply_output(reply, spec.output_keys, spec.prompt or "")
    outcome = output.outcome_with_output_facts(outcome, {**text_output.facts, **answer_facts(reply)})
    value = text_output.value
    if not history and not reply.calls:
        return outcome if value is MISSING else {**outcome, "output": value}
    full_output = dict(value) if isinstance(value, dict) else {"text": reply.text}
    if history:
        full_output[history] = dialog.with_messages(assistant_message(reply)).to_dict(reply.model)
    # An empty list, too: what the context holds of an earlier answer is over.
    full_output["tool_calls"] = [call.to_dict() for call in reply.calls]
    return {**outcome, "output": full_output}


def reply_output(reply: Reply, output_keys: tuple[str, ...], prompt: str = "") -> output.TextOutput:
    """The JSON in the text, else, where no keys are wanted, the text (law §2)."""
    cut = "the model stopped at its limit of tokens" if reply.finish == "length" else ""
    text_output = output.output_in_text(reply.text, output_keys, prompt, reply.unreadable or cut)
    # Where keys are wanted a text is no output
    if text_output.value is not MISSING or output_keys:
        return text_output
    if reply.unreadable and not reply.text:
        return output.TextOutput(unreadable=reply.unreadable)
    return output.TextOutput(reply.text, reply.unreadable)


def answer_facts(reply: Reply) -> dict[str, Any]:
    """Return the facts observed in a model's answer, besides whether it could be read (law §13)."""
    filtered = "The filter of the model's server refused." if reply.finish == "content_filter" else ""
    if reply.refusal or filtered:
        return {"refused": output.shortened_reason(reply.refusal or filtered)}
    there = reply.text.strip() or reply.calls or reply.unreadable
    return {} if there else {"empty": True}


def assistant_message(reply: Reply) -> dict[str, Any]:
    """The model's own message, for the conversation."""
    fields: dict[str, Any] = {"role": "assistant", "content": reply.text}
    return {**fields, "tool_calls": [call.message() for call in reply.calls]} if reply.calls else fields
