"""The routing difference between two versions of a line: what goes elsewhere, or the proof that nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.routing.analysis.difference.change import Change
from pipelines.routing.analysis.difference.routing_effects import LinePair
from pipelines.routing.analysis.difference.samples import shared_station_keys
from pipelines.routing.analysis.difference.station_changes import station_changes_and_cost
from pipelines.routing.analysis.difference.structure import StructuralDifference, structural_differences
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.sentences import definitions, differences

WORK = 30_000_000
"""Units of `satisfiability.effort` for all stations together, each about a microsecond."""
NONE, SOME, UNKNOWN = "none", "some", "unknown"


@dataclass(frozen=True, slots=True)
class Difference:
    """`changes`: regions of situations that are decided otherwise, each with a sample that was run under both
    versions. `unknown`: regions of which that is not known, with the reason. `structure`: what else routes."""

    pair: LinePair
    changes: tuple[Change, ...]
    unknown: tuple[Change, ...]
    structure: tuple[StructuralDifference, ...]

    @property
    def verdict(self) -> str:
        """`none` is proved; `unknown`: nothing was found, and not everything could be proved."""
        if self.changes or self.structure:
            return SOME
        return UNKNOWN if self.unknown else NONE

    def sentences(self) -> list[str]:
        return [
            *(definitions.structural_sentence(self.pair, structural) for structural in self.structure),
            *(
                differences.region_change_sentence(self.pair, change)
                for change in (*self.changes, *self.unknown)
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        pair = self.pair
        return {
            "difference": self.verdict,
            "structure": [
                {**e.to_dict(), "sentence": definitions.structural_sentence(pair, e)} for e in self.structure
            ],
            "changes": [
                {**e.to_dict(), "sentence": differences.region_change_sentence(pair, e)} for e in self.changes
            ],
            "unknown": [
                {**e.to_dict(), "sentence": differences.region_change_sentence(pair, e)} for e in self.unknown
            ],
        }


def line_difference(old: ParsedLine, new: ParsedLine) -> Difference:
    """Return the difference from `old` to `new`; stations, gates and ends are matched by key."""
    pair, all_changes, left = LinePair(old, new), list[Change](), WORK
    for key in shared_station_keys(pair):
        more, cost = station_changes_and_cost(pair, key, left)
        all_changes += more
        left -= cost
    known = tuple(change for change in all_changes if change.is_known)
    return Difference(
        pair, known, tuple(c for c in all_changes if not c.is_known), structural_differences(pair)
    )
