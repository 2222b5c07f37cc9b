"""The routing difference between two versions of a line: what goes elsewhere, or the proof that nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.difference.change import Change
from pipelines.routing.analysis.difference.effects import Pair
from pipelines.routing.analysis.difference.samples import shared
from pipelines.routing.analysis.difference.station import changes
from pipelines.routing.analysis.difference.structure import Structural, structure
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import definitions, differences

WORK = 30_000_000
"""Units of `regions.effort` for all stations together, each about a microsecond."""
NONE, SOME, UNKNOWN = "none", "some", "unknown"


@dataclass(frozen=True, slots=True)
class Difference:
    """`changes`: regions of situations that are decided otherwise, each with a sample that was run under both
    versions. `unknown`: regions of which that is not known, with the reason. `structure`: what else routes."""

    pair: Pair
    changes: tuple[Change, ...]
    unknown: tuple[Change, ...]
    structure: tuple[Structural, ...]

    @property
    def verdict(self) -> str:
        """`none` is proved; `unknown`: nothing was found, and not everything could be proved."""
        if self.changes or self.structure:
            return SOME
        return UNKNOWN if self.unknown else NONE

    def sentences(self) -> list[str]:
        return [
            *(definitions.of_structural(self.pair, structural) for structural in self.structure),
            *(differences.of_change(self.pair, change) for change in (*self.changes, *self.unknown)),
        ]

    def to_dict(self) -> dict[str, Any]:
        pair = self.pair
        return {
            "difference": self.verdict,
            "structure": [
                {**e.to_dict(), "sentence": definitions.of_structural(pair, e)} for e in self.structure
            ],
            "changes": [{**e.to_dict(), "sentence": differences.of_change(pair, e)} for e in self.changes],
            "unknown": [{**e.to_dict(), "sentence": differences.of_change(pair, e)} for e in self.unknown],
        }


def difference(old: ParsedLine, new: ParsedLine) -> Difference:
    """Return the difference from `old` to `new`; stations, gates and ends are matched by key."""
    pair, all_changes, left = Pair(old, new), list[Change](), WORK
    for key in shared(pair):
        more, cost = changes(pair, key, left)
        all_changes += more
        left -= cost
    known = tuple(change for change in all_changes if change.is_known)
    return Difference(pair, known, tuple(c for c in all_changes if not c.is_known), structure(pair))
