"""The one way to say what a page, a mail or a message does not show of a text or a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django import template

from pipelines.routing.basics.plural import singular_or_plural

T = TypeVar("T")
register = template.Library()


@register.filter
def shortened(text: object, most: int) -> str:
    """The beginning of a text, and in words how much of it is left out."""
    full = str(text)
    left = len(full) - most
    if left <= 0:
        return full
    words = singular_or_plural("%(n)s more character", "%(n)s more characters", left) % {"n": left}
    return f"{full[:most].rstrip()}… ({words})"


@dataclass(frozen=True)
class PageSlice(Generic[T]):
    """`rows`: those that a page shows of a list of `total`, from the place `start` on; `next`: the place after them, 0
    at the end."""

    rows: Sequence[T]
    total: int
    start: int = 0

    @property
    def next(self) -> int:
        end = self.start + len(self.rows)
        return end if end < self.total else 0

    @property
    def is_partial(self) -> bool:
        return len(self.rows) < self.total

    @property
    def first(self) -> int:
        return self.start + 1 if self.rows else 0

    @property
    def last(self) -> int:
        return self.start + len(self.rows)


def page_slice_from(rows: Sequence[T], most: int, start: str = "") -> PageSlice[T]:
    """`start`: as an address says it."""
    # `isdigit` alone takes “²”, which `int` refuses; the length bounds the number.
    plain = start.isascii() and start.isdigit() and len(start) < 9
    place = min(int(start) if plain else 0, max(len(rows) - 1, 0))
    return PageSlice(rows[place : place + most], len(rows), place)
