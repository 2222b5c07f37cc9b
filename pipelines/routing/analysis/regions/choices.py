"""Sets of things that are only ever compared for equality: finite, or all but some."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.regions.effort import spend


@dataclass(frozen=True, slots=True)
class Choice:
    """`only` of them, or all but `but`."""

    only: frozenset[Any] | None = None
    but: frozenset[Any] = frozenset()

    @property
    def is_empty(self) -> bool:
        return self.only is not None and not self.only

    def holds(self, value: Hashable) -> bool:
        return value in self.only if self.only is not None else value not in self.but

    def meet(self, other: Choice) -> Choice:
        if self.only is not None:
            spend(len(self.only) // 8)
            return Choice(frozenset(value for value in self.only if other.holds(value)))
        if other.only is not None:
            return other.meet(self)
        return Choice(None, self.but | other.but)

    def complement(self) -> Choice:
        return Choice(None, self.only) if self.only is not None else Choice(self.but)


ANY = Choice()
NONE = Choice(frozenset())


def only(*values: Hashable) -> Choice:
    return Choice(frozenset(values))
