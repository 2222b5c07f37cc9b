"""Long texts in a sentence: the part in which two of them begin to differ, or the beginning of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MAX_VALUE: Final = 120
"""Characters of a value in a sentence."""
BEFORE: Final = 40
"""Characters that lead up to the first difference."""

Cut = Callable[[str], str]


def text_excerpt(text: str, start: int = 0) -> str:
    """Return at most MAX_VALUE characters of the text from `start` on; “…” marks what is left out."""
    # Room for “…” on one side, or on both
    most = MAX_VALUE - (2 if start else 1)
    lead = "…" if start else ""
    if len(text) - start <= MAX_VALUE - len(lead):
        return f"{lead}{text[start:]}"
    return f"{lead}{text[start : start + most]}…"


def both_texts_cut_where_they_differ(one: str, other: str) -> Cut:
    """Cuts both of them at the same place: where they begin to differ, if that is not in sight of the beginning."""
    start = _first_difference_index(one, other) - BEFORE
    if start <= 0 or max(len(one), len(other)) <= MAX_VALUE:
        return text_excerpt
    # At the beginning of a word, where there is one nearby.
    space = one.find(" ", start, start + BEFORE)
    at = space + 1 if space >= 0 else start
    return lambda text: text_excerpt(text, at)


def _first_difference_index(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
