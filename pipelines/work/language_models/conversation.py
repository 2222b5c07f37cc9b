"""A conversation with a model, as the context keeps it: `{model, messages}`, the form that `merge_chat_histories` and
its like know (dialect B, drift 4). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool")
KEYS = ("role", "content", "name", "tool_calls", "tool_call_id")
NOT_RUN = "This call was not run."


class NoConversation(Exception):
    """Error: the value in the context under the key is not a conversation."""


@dataclass(frozen=True)
class ToolCall:
    """A call that a model asks for. `arguments`: the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str

    def message(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}

    def to_dict(self) -> dict[str, Any]:
        """Return the call as an output contains it: arguments as a value where they are one."""
        return {"id": self.id, "name": self.name, "arguments": json_or_text(self.arguments)}


def json_or_text(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True)
class Conversation:
    messages: tuple[Message, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def with_messages(self, *messages: Message) -> Conversation:
        return Conversation((*self.messages, *messages), self.more)

    def to_dict(self, model: str = "") -> dict[str, Any]:
        model_field = {"model": model} if model else {}
        return {**self.more, **model_field, "messages": list(self.messages)}

    @property
    def waits_for_tools(self) -> bool:
        """Return whether the last message is the answer of a tool, which the model has not seen yet."""
        return bool(self.messages) and self.messages[-1].get("role") == "tool"

    def unanswered_tool_calls(self) -> list[ToolCall]:
        """Calls that the model asked for last, and that nobody answered."""
        last = next(
            (i for i in reversed(range(len(self.messages))) if _asks_for_tools(self.messages[i])), None
        )
        if last is None:
            return []
        answered = {message.get("tool_call_id") for message in self.messages[last + 1 :]}
        calls = tool_calls_in(self.messages[last]["tool_calls"])
        return [call for call in calls if call.id not in answered]


def _asks_for_tools(message: Message) -> bool:
    return message.get("role") == "assistant" and bool(message.get("tool_calls"))


def parsed_conversation(value: Any) -> Conversation:
    """:raises NoConversation: with what is wrong with it"""
    if value is None:
        return Conversation()
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise NoConversation("is no conversation: an object with a list of messages")
    for index, message in enumerate(value["messages"]):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise NoConversation(f"messages[{index}] has no role that a model knows")
    messages = tuple({key: entry[key] for key in KEYS if key in entry} for entry in value["messages"])
    return Conversation(messages, {key: entry for key, entry in value.items() if key != "messages"})


def value_in_context_or_variable(key: str, data: Mapping[str, Any]) -> Any:
    """Look up a key: in the context, where stations store it, else in a variable that a rule composed."""
    for family in ("context", "variables"):
        value = (data.get(family) or {}).get(key)
        if value is not None:
            return value
    return None


def next_conversation(before: Conversation, system: str, prompt: str, feedback: str) -> Conversation:
    """The conversation as the model gets it next. After the answers of tools the model goes on by itself, else the
    prompt is what is said. A call that nobody answered is told so: servers refuse one that hangs in the air."""
    answered = before.with_messages(
        *(
            {"role": "tool", "tool_call_id": call.id, "content": NOT_RUN}
            for call in before.unanswered_tool_calls()
        )
    )
    text = feedback if before.waits_for_tools else prompt
    extended = answered.with_messages(*([{"role": "user", "content": text.rstrip()}] if text.strip() else []))
    if not system:
        return extended
    # The system message of an earlier station does not stay beside this one's
    others = [message for message in extended.messages if message.get("role") != "system"]
    return Conversation(({"role": "system", "content": system}, *others), extended.more)


def tool_calls_in(values: Any) -> list[ToolCall]:
    """Return the calls in the messages of a model, or in an output that contains them."""
    calls: list[ToolCall] = []
    for value in values if isinstance(values, Sequence) and not isinstance(values, str) else ():
        if not isinstance(value, dict):
            continue
        function = value.get("function")
        call = function if isinstance(function, dict) else value
        arguments = call.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        calls.append(
            ToolCall(str(value.get("id") or f"call_{len(calls)}"), str(call.get("name") or ""), text)
        )
    return calls
