"""A value in words: JSON as short as it can be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.routing.basics import jsontext

MAX_SHOWN = 200


def shortened_unquoted_json(value: Any) -> str:
    """Like {result: failure, output: {high: 1}}: JSON whose plain keys and words need no quotes."""
    text = unquoted_json(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def unquoted_json(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{_unquoted_if_plain(key)}: {unquoted_json(member)}" for key, member in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(unquoted_json, value)) + "]"
    return _unquoted_if_plain(value) if isinstance(value, str) else jsontext.dumps(value)


def _unquoted_if_plain(text: str) -> str:
    plain = text.replace("_", "a").replace("-", "a").isalnum() and text.isascii() and not text[:1].isdigit()
    # Without quotes these three would be read as values.
    return text if plain and text not in ("true", "false", "null") else json.dumps(text, ensure_ascii=False)


def value_with_names_for_keys(value: Any, called: Callable[[str], str]) -> Any:
    """The same value with names in place of the keys within it: `{"from": ["a"]}`, `[["a", "b"]]`, `"a->b"`.

    `called`: the name of a station, gate or end; any other text as it is. A value that is one text may be a word of the
    law (“fail”) and not a key, so only its edges are said by name."""
    return (
        _value_with_names(value, called)
        if isinstance(value, list | Mapping)
        else _edge_with_names(value, called)
    )


def _value_with_names(value: Any, called: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _value_with_names(member, called) for key, member in value.items()}
    if isinstance(value, list):
        return [_value_with_names(member, called) for member in value]
    return _edge_with_names(called(value) if isinstance(value, str) else value, called)


def _edge_with_names(value: Any, called: Callable[[str], str]) -> Any:
    if not isinstance(value, str) or "->" not in value:
        return value
    source, _arrow, target = value.partition("->")
    return f"{called(source)} → {called(target)}"
