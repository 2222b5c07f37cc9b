"""Merge strategies of `compose` for its result and an existing variable (dialect B15, drift 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines.routing.basics.values import MISSING


class ComposeFailed(ValueError):
    """Nothing was found, or what was found cannot be merged so."""


def merged_objects_incoming_wins(incoming: Any, existing: Any) -> Any:
    """Two objects: the keys found win. One object: that one. None: what was found."""
    if type(incoming) is dict and type(existing) is dict:
        return {**existing, **incoming}
    return existing if type(existing) is dict else incoming


def merge_chat_histories(incoming: Any, existing: Any) -> Any:
    """The messages of the variable first, then those found; a model is kept only if both name the same."""
    if not _is_history(incoming) or not _is_history(existing):
        raise ComposeFailed("both have to be chat histories: objects with a list of messages")
    merged = {**existing, **incoming, "messages": [*existing["messages"], *incoming["messages"]]}
    if incoming.get("model") != existing.get("model"):
        merged.pop("model", None)
    return merged


def append_string_to_chat_history(incoming: Any, existing: Any) -> Any:
    """The text becomes the last message, by the assistant, of the chat history. A text that is there is the history of
    one message, by the user."""
    history, text = (existing, incoming) if type(incoming) is str else (incoming, existing)
    if type(history) is str:
        history = {"messages": [{"role": "user", "content": history}]}
    if not _is_history(history) or type(text) is not str:
        raise ComposeFailed(
            "one has to be a text, the other a chat history: an object with a list of messages"
        )
    return {**history, "messages": [*history["messages"], {"role": "assistant", "content": text}]}


STRATEGIES: dict[str, Callable[[Any, Any], Any]] = {
    "override": merged_objects_incoming_wins,
    "merge_chat_histories": merge_chat_histories,
    "append_string_to_chat_history": append_string_to_chat_history,
}


def merge_by_strategy(strategy: str, incoming: Any, existing: Any) -> Any:
    """Raises ComposeFailed, also for a variable that does not exist."""
    if existing is MISSING:
        raise ComposeFailed("the variable does not exist yet")
    return STRATEGIES[strategy](incoming, existing)


def _is_history(value: Any) -> bool:
    return type(value) is dict and type(value.get("messages")) is list
