"""§8a, `strategy` of a compose: "as in `dialects.md` §1 B", whose strategies "keep native meaning" (B15)."""

from collections.abc import Mapping

from .values import Json


class NotMerged(Exception):
    """The two cannot be merged so."""


def merged(strategy: str, current: Json, existing: list[Json]) -> Json:
    """ "merges the CURRENT output with EXISTING variable"; `existing` is empty where there is no such variable."""
    if not existing:  # "unknown var or strategy ⇒ chain error"
        raise NotMerged
    (variable,) = existing
    if strategy == "merge_chat_histories":
        return both_histories(current, variable)
    if strategy == "append_string_to_chat_history":
        return with_text(current, variable)
    objects = [value for value in (variable, current) if isinstance(value, Mapping)]
    if (
        not objects
    ):  # natively: of two that are no maps the current one, of one map and something else the map
        return current
    return {key: value for each in objects for key, value in each.items()}  # "maps: current keys win"


def messages(value: Json) -> list[Json]:
    """Of a chat history: an object with a list of messages."""
    found = value.get("messages") if isinstance(value, Mapping) else None
    if not isinstance(found, list):
        raise NotMerged
    return found


def both_histories(current: Json, variable: Json) -> Json:
    """ "with_var's first" """
    told = [*messages(variable), *messages(current)]
    whole = {**variable, **current, "messages": told}
    # natively the model of both, if it is one and the same
    return {key: whole[key] for key in whole if key != "model" or variable.get(key) == current.get(key)}


def with_text(current: Json, variable: Json) -> Json:
    """A text and a history, whichever is which: natively the text becomes the last message, the assistant's."""
    text, history = (current, variable) if isinstance(current, str) else (variable, current)
    if not isinstance(text, str):
        raise NotMerged
    if isinstance(history, str):  # "a text is the history of one message, the user's"
        history = {"messages": [{"role": "user", "content": history}]}
    told = [*messages(history), {"role": "assistant", "content": text}]
    return {**history, "messages": told}
