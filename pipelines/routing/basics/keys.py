"""Keys that are made, not typed."""

from __future__ import annotations

from collections.abc import Container
from itertools import count
from typing import Any


def first_unused_key(stem: str, used_keys: Container[Any]) -> str:
    """`stem`, else `stem-2`, `stem-3` …: the first that is not taken."""
    return (
        stem
        if stem not in used_keys
        else next(key for n in count(2) if (key := f"{stem}-{n}") not in used_keys)
    )
