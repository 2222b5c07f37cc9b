"""Sets of things that are only ever compared for equality: finite, or all but some."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.satisfiability.effort import spend_effort


@dataclass(slots=True, unsafe_hash=True)
class ValueChoice:
    """`only` of them, or all but `but`."""

    only: frozenset[Any] | None = None
    but: frozenset[Any] = frozenset()

    @property
    def is_empty(self) -> bool:
        return self.only is not None and not self.only

    def contains(self, value: Hashable) -> bool:
        return value in self.only if self.only is not None else value not in self.but

    def intersection(self, other: ValueChoice) -> ValueChoice:
        if self is other or other is ANY:
            return self
        if self is ANY:
            return other
        if self.only is not None:
            spend_effort(len(self.only) // 8)
            # Of an unbounded set only what it leaves out takes anything away.
            return ValueChoice(self.only - other.but if other.only is None else self.only & other.only)
        if other.only is not None:
            return other.intersection(self)
        return ValueChoice(None, self.but | other.but)

    def complement(self) -> ValueChoice:
        return ValueChoice(None, self.only) if self.only is not None else ValueChoice(self.but)


ANY = ValueChoice()
NONE = ValueChoice(frozenset())


def choice_among(*values: Hashable) -> ValueChoice:
    return ValueChoice(frozenset(values))
