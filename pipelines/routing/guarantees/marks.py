"""A guarantee's memory of a token's past: whether it may not enter what is guarded (law §14).

A mark is true while entering would break the promise. *Without Y*: until Y was passed; the last visit counts, so a
word other than approve at a gate, or a visit of a station that did not pass, takes it back. *After a word*: from the
word on, until the gate is approved.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pipelines.routing.document.guarantees import Guarantee
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.guarantees.ways_out import APPROVE, WayOut, Words


@dataclass(frozen=True, slots=True)
class Mark:
    """`reach`: what is guarded. `station` or `gate`: what has to be passed, or after which; `word`: the one that
    forbids it, "" where everything before does."""

    reach: str
    station: str = ""
    gate: str = ""
    word: str = ""

    @property
    def is_initially_set(self) -> bool:
        """Return the mark of a task that begins: True where everything is forbidden until something was passed."""
        return not self.word

    def mark_after(self, mark: bool, source: str, passed: bool, words: Words) -> bool:
        """Return the mark once the token has left `source`. `passed`: whether that visit passed."""
        if self.station:
            return not passed if source == self.station else mark
        word = words.get(self.gate)
        if word == APPROVE:
            return False
        if self.word:
            return mark or word == self.word
        return mark or word is not None

    def mark_of_merged_branches(self, marks: Collection[bool]) -> bool:
        """Mark of what branches become together."""
        # The past is that of all branches: one that passed is enough, and so is one word (law §14).
        return any(marks) if self.word else all(marks)


def mark_of_guarantee(line: ParsedLine, guarantee: Guarantee) -> Mark:
    """Read the mark of one with `never`."""
    never = guarantee.never
    assert never is not None
    if guarantee.after is not None:
        return Mark(never.reach, gate=guarantee.after.gate, word=guarantee.after.word)
    if never.without in line.stations_by_key:
        return Mark(never.reach, station=never.without)
    return Mark(never.reach, gate=never.without)


def reaches_guarded_gate(line: ParsedLine, mark: Mark, forbidden: bool, way_out: WayOut) -> bool:
    """Tell whether the way comes to the guarded gate while the mark forbids it."""
    for gate, words in way_out.opened:
        if gate == mark.reach and gate not in line.stations_by_key:
            return mark.mark_after(forbidden, way_out.source, way_out.passed, dict(words))
    return False
