"""A value in words: JSON as short as it can be read."""

from __future__ import annotations

import json
from typing import Any

MAX_SHOWN = 200


def brief(value: Any) -> str:
    """Like {result: failure, output: {high: 1}}: JSON whose plain keys and words need no quotes."""
    text = plain(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(key)}: {plain(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(plain, value)) + "]"
    return _word(value) if isinstance(value, str) else json.dumps(value, default=str)


def _word(text: str) -> str:
    plain = text.replace("_", "a").replace("-", "a").isalnum() and text.isascii() and not text[:1].isdigit()
    return text if plain and text not in ("true", "false", "null") else json.dumps(text, ensure_ascii=False)
