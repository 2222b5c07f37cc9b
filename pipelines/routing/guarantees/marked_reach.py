"""Search whether something can be entered while a mark forbids it, over every way out of every station, token
by token.

Limits are ignored: they only remove ways, so what is impossible without them is impossible with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import ORIGIN
from pipelines.routing.guarantees.marks import Mark, reaches_guarded_gate
from pipelines.routing.guarantees.rule_outcomes import PASSED
from pipelines.routing.guarantees.ways_out import WayOut


@dataclass(frozen=True, slots=True)
class MarkedPlace:
    """`judged`: at a join whose branches did not pass, so that its work does not run."""

    station: str
    origin: str
    mark: bool
    judged: bool = False


Spot = tuple[str, bool]
"""A station and the mark of a token there."""


class MarkedReach:
    """`broken`: the first way that enters what is guarded with the mark; None: there is none, which proves it."""

    def __init__(self, line: ParsedLine, ways: Mapping[str, tuple[WayOut, ...]], mark: Mark) -> None:
        self._line, self._ways, self._mark = line, ways, mark
        self._returns = any(way.target == ORIGIN for own in ways.values() for way in own)
        self._seen: set[MarkedPlace] = set()
        self._todo: list[MarkedPlace] = []
        self._arrived: dict[str, set[tuple[str, bool, bool]]] = {}
        self._leads: dict[Spot, set[Spot]] = {}
        self._breaking: set[Spot] = set()
        self.broken: WayOut | None = None
        self.begins = mark.is_initially_set and mark.reach == line.start
        self._visit_later_once(MarkedPlace(line.start, "", mark.is_initially_set))
        while self._todo:
            self._follow_ways_out(self._todo.pop())

    @property
    def is_proved(self) -> bool:
        return self.broken is None and not self.begins

    def _record_break(self, marked_place: MarkedPlace, way_out: WayOut) -> None:
        self.broken = self.broken or way_out
        self._breaking.add((marked_place.station, marked_place.mark))

    def moves_to_break_by_spot(self) -> dict[Spot, int]:
        """Count how many moves it takes from there at least to break it."""
        return moves_to_break_by_spot(self._leads, self._breaking)

    def _visit_later_once(self, marked_place: MarkedPlace) -> None:
        if marked_place not in self._seen:
            self._seen.add(marked_place)
            self._todo.append(marked_place)

    def _follow_ways_out(self, marked_place: MarkedPlace) -> None:
        for way in self._ways[marked_place.station]:
            # What a join reports of branches that did not pass is no success, and brings no signal.
            if marked_place.judged and (way.standing == PASSED or way.needs_signal):
                continue
            if reaches_guarded_gate(self._line, self._mark, marked_place.mark, way):
                self._record_break(marked_place, way)
            mark = self._mark.mark_after(marked_place.mark, way.source, way.passed, way.words)
            for target in [marked_place.origin] if way.target == ORIGIN else [way.target]:
                if target:
                    self._enter_target(marked_place, way, target, mark)

    def _enter_target(self, marked_place: MarkedPlace, way_out: WayOut, target: str, mark: bool) -> None:
        if target not in self._line.stations_by_key:
            if target == self._mark.reach and mark:
                self._record_break(marked_place, way_out)
            return
        self._leads.setdefault((target, mark), set()).add((marked_place.station, marked_place.mark))
        # What waits at a join has not entered the station yet.
        if self._line.does_token_wait_at_join(target, way_out.source):
            self._arrive_at_station(marked_place, target, way_out, mark)
            return
        if target == self._mark.reach and mark:
            self._record_break(marked_place, way_out)
        if self._returns:
            origin = way_out.source if target != way_out.source else marked_place.origin
        else:
            origin = ""
        self._visit_later_once(MarkedPlace(target, origin, mark))

    # Joins

    def _arrive_at_station(
        self, marked_place: MarkedPlace, station: str, way_out: WayOut, mark: bool
    ) -> None:
        arrived = self._arrived.setdefault(station, set())
        new = (way_out.source, way_out.standing == PASSED, mark)
        if new in arrived:
            return
        arrived.add(new)
        join = self._line.station(station).join
        assert join is not None
        origins = sorted({source for source, _, _ in arrived}) if self._returns else [""]
        for merged in {mark for _, _, mark in arrived}:
            for origin in origins:
                self._visit_later_once(MarkedPlace(station, origin, merged, judged=True))
        for merged in set(self._merged_marks(join.aggregation, join.wait_for, arrived)):
            if station == self._mark.reach and merged:
                self._record_break(marked_place, way_out)
            for origin in origins:
                self._visit_later_once(MarkedPlace(station, origin, merged))

    def _merged_marks(
        self, aggregation: str, sources: tuple[str, ...], arrived: set[tuple[str, bool, bool]]
    ) -> Iterator[bool]:
        """The marks of what can be when the join passes."""
        if aggregation != "all-pass":
            yield from (mark for _, _, mark in arrived)
            return
        marks = [{mark for at, passed, mark in arrived if at == source and passed} for source in sources]
        if all(marks):
            # Each branch with the mark wherever it may have it, then without wherever it may not
            yield self._mark.mark_of_merged_branches([True in branch_marks for branch_marks in marks])
            yield self._mark.mark_of_merged_branches([False not in branch_marks for branch_marks in marks])


def moves_to_break_by_spot(
    origins_by_spot: Mapping[Spot, Iterable[Spot]], breaking: Iterable[Spot]
) -> dict[Spot, int]:
    """`origins_by_spot`: from where each is entered."""
    by_spot, level = dict.fromkeys(breaking, 1), set(breaking)
    while level:
        level = {
            spot for entered in level for spot in origins_by_spot.get(entered, ()) if spot not in by_spot
        }
        by_spot |= dict.fromkeys(level, max(by_spot.values()) + 1)
    return by_spot
