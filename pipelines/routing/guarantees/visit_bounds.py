"""Upper bounds for the entries of a station and the length of a path, from the limits that bind every decided
move.

Two methods, both never below the true number: a sum over what leads into each station, which also holds
for parallel branches; and for one token a walk over everything that limits count, as long as it stays
small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from pipelines.routing.analysis.lint.visits import (
    increase_bounds_until_stable,
    strong_components,
    visit_limit,
)
from pipelines.routing.decide.budget_usage import MoveTarget, consumes_budget
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.rules import ORIGIN, Rule
from pipelines.routing.guarantees.marks import Mark, reaches_guarded_gate
from pipelines.routing.guarantees.ways_out import SEND_BACK, WayOut

MOST_PLACES = 12_000
"""Places with counts that are looked at for one guarantee: some seconds."""
UNLIMITED = 1_000_000
Limit = tuple[str, str]
"""What is counted: its kind and its key."""
Ways = Mapping[str, tuple[WayOut, ...]]


class TooManyPlaces(Exception):
    """More places than MOST_PLACES."""


@dataclass(frozen=True, slots=True)
class CountedPlace:
    station: str
    origin: str
    counts: tuple[int, ...]


class LineCounts:
    def __init__(self, line: ParsedLine, ways: Ways) -> None:
        self.line, self.ways = line, ways

    @cached_property
    def has_forks(self) -> bool:
        return any(way.rule and len(way.rule.to) > 1 for own in self.ways.values() for way in own)

    # The sum

    @cached_property
    def max_entries(self) -> dict[str, int]:
        """An upper bound of the entries of each station, of all branches together."""
        into: dict[str, dict[str, int | None]] = {station.key: {} for station in self.line.stations}
        after: dict[str, set[str]] = {station.key: set() for station in self.line.stations}
        for source, target, own in self._moves_with_limits():
            so_far = into[target].get(source, 0)
            into[target][source] = None if own is None or so_far is None else so_far + own
            after[source].add(target)
        most = dict.fromkeys(into, 0)
        for group in reversed(strong_components(after)):
            increase_bounds_until_stable(
                sorted(group, key=self.line.index_of_station),
                most,
                partial(entry_limit, self.line),
                lambda key: self._max_entry_sum(key, into[key], most),
            )
        return most

    def _max_entry_sum(self, key: str, into: Mapping[str, int | None], most: Mapping[str, int]) -> int:
        """A visit is left once, so that it leads to each station at most once."""
        total = int(key == self.line.start)
        total += sum(most[source] if own is None else min(own, most[source]) for source, own in into.items())
        # Each entry may be followed by as many reruns by `rework` signals.
        return total * (1 + self.line.station(key).limits.signal_retries)

    def _moves_with_limits(self) -> Iterator[tuple[str, str, int | None]]:
        """Yield each move with its own limit, except for `rework` signals; the moves of a rule count once for
        each of its targets."""
        moves: set[tuple[str, str, int | None, str]] = set()
        for own in self.ways.values():
            for way in own:
                # `_max_entry_sum` counts these with each entry.
                if way.by == "signal":
                    continue
                rule = f"{way.by}:{way.rule.id}" if way.rule and way.by != "gate" else f"{way.by}:{way.at}"
                for target in self._station_targets(way):
                    moves.add((way.source, target, self._move_limit_or_none(way), rule))
        for source, target, limit, _ in sorted(moves, key=str):
            yield source, target, limit

    def _station_targets(self, way_out: WayOut) -> tuple[str, ...]:
        if way_out.target == ORIGIN:
            return tuple(key for key in self.line.stations_by_key if key != way_out.source)
        return (way_out.target,) if way_out.target in self.line.stations_by_key else ()

    def _move_limit_or_none(self, way_out: WayOut) -> int | None:
        if way_out.by == "gate":
            rounds = self.line.gate(way_out.at).approval.max_rounds
            return rounds if way_out.words.get(way_out.at) == SEND_BACK else None
        if way_out.by != "rule" or way_out.rule is None:
            return None
        waits = self.line.does_token_wait_at_join(way_out.target, way_out.source)
        limits = [
            limit for (kind, _), limit in rule_limits(self.line, way_out) if kind == "rules" or not waits
        ]
        return min(limits) if limits else None

    # The walk

    def may_exceed_entries_or_moves(self, bound: int, station: str = "") -> bool:
        """Return whether a token could enter `station` more than `bound` times; without a station: make more
        than `bound` moves. Raises TooManyPlaces."""
        keys = self._counted_limits(station)
        at = {key: index for index, key in enumerate(keys)}
        begin = self._start_counts(keys)
        if station == self.line.start and bound < 1:
            return True
        level, looked = {CountedPlace(self.line.start, "", begin)}, 0
        visited, depth = set(level), 0
        while level:
            depth += 1
            after: set[CountedPlace] = set()
            for place in level:
                looked += 1
                if looked > MOST_PLACES:
                    raise TooManyPlaces
                for new in self._next_places(place, at):
                    if not station and depth > bound:
                        return True
                    if new is None:
                        continue
                    if station == new.station and new.counts[at["visits", station]] > bound:
                        return True
                    # Moves are counted: coming to the same place again makes the path longer, too.
                    if not station:
                        after.add(new)
                    elif new not in visited:
                        after.add(new)
                        visited.add(new)
            level = after
        return False

    def _counted_limits(self, station: str) -> list[Limit]:
        limits: dict[Limit, None] = {("visits", station): None} if station else {}
        for own in self.ways.values():
            for way in own:
                for key, _ in self._limits_with_allowance(way):
                    limits[key] = None
        return list(limits)

    def may_enter_marked(self, mark: Mark) -> bool:
        """Return whether a token could enter what the mark guards while the mark forbids it; True where the
        line forks, since no counts are tracked for branches. Raises TooManyPlaces."""
        if self.has_forks or (mark.is_initially_set and mark.reach == self.line.start):
            return True
        at = {key: index for index, key in enumerate(self._counted_limits(""))}
        begin = CountedPlace(self.line.start, "", self._start_counts(at))
        todo, entered = [(begin, mark.is_initially_set)], {(begin, mark.is_initially_set)}
        while todo:
            # Counters multiply the places: beyond the bound the answer is unknown, which is said
            if len(entered) > MOST_PLACES:
                raise TooManyPlaces
            place, forbidden = todo.pop()
            if any(reaches_guarded_gate(self.line, mark, forbidden, way) for way in self.ways[place.station]):
                return True
            for way, target, new in self._open_ways_from(place, at):
                after = mark.mark_after(forbidden, way.source, way.passed, way.words)
                if after and target == mark.reach:
                    return True
                if new is not None and (new, after) not in entered:
                    entered.add((new, after))
                    todo.append((new, after))
        return False

    def _start_counts(self, keys: Iterable[Limit]) -> tuple[int, ...]:
        """Count the station at which a task begins as entered."""
        entered = (("visits", self.line.start), ("revisit", self.line.start))
        return tuple(int(key in entered) for key in keys)

    def _next_places(
        self, counted_place: CountedPlace, at: Mapping[Limit, int]
    ) -> Iterator[CountedPlace | None]:
        return (new for _, _, new in self._open_ways_from(counted_place, at))

    def _open_ways_from(
        self, counted_place: CountedPlace, at: Mapping[Limit, int]
    ) -> Iterator[tuple[WayOut, str, CountedPlace | None]]:
        """List ways that no limit holds, with where each leads; to an end without a place."""
        for way in self.ways[counted_place.station]:
            target = counted_place.origin if way.target == ORIGIN else way.target
            if not target or self._lacks_origin(counted_place, way):
                continue
            limits = self._limits_with_allowance(way, target)
            if any(counted_place.counts[at[key]] >= most for key, most in limits if key in at):
                continue
            # With branches another token may have used the limit up, and its counts are not kept.
            if (
                way.by == "exhausted"
                and not self.has_forks
                and not self._may_be_used_up(counted_place, way, at)
            ):
                continue
            if target not in self.line.stations_by_key:
                yield way, target, None
                continue
            counts = list(counted_place.counts)
            for key in dict.fromkeys([*(key for key, _ in limits), ("visits", target), ("revisit", target)]):
                if key in at:
                    counts[at[key]] += 1
            inside = ("signals", counted_place.station)
            for key, index in at.items():
                # `rework` signals count in a row: any other move ends it.
                if key[0] == "signals" and (way.by != "signal" or key != inside):
                    counts[index] = 0
            origin = counted_place.origin if target == counted_place.station else counted_place.station
            # Where nothing leads back the origin would only multiply the places.
            yield way, target, CountedPlace(target, origin if self._has_origin_moves else "", tuple(counts))

    def _lacks_origin(self, counted_place: CountedPlace, way_out: WayOut) -> bool:
        """Tell of a rule that leads back before the token came from anywhere: it is stuck, whatever its limits say."""
        leads_back = (
            way_out.by in ("rule", "exhausted") and way_out.rule is not None and way_out.rule.to == (ORIGIN,)
        )
        return leads_back and self._has_origin_moves and not counted_place.origin

    @cached_property
    def _has_origin_moves(self) -> bool:
        return any(way.target == ORIGIN for own in self.ways.values() for way in own)

    def _may_be_used_up(self, counted_place: CountedPlace, way_out: WayOut, at: Mapping[Limit, int]) -> bool:
        """Return whether the limit that leads to this target may be reached."""
        if way_out.rule is None:
            return True
        targets = [counted_place.origin if target == ORIGIN else target for target in way_out.rule.to]
        limits = [limit for target in targets for limit in rule_limits(self.line, way_out, target)]
        return any(key not in at or counted_place.counts[at[key]] >= most for key, most in limits)

    def _limits_with_allowance(self, way_out: WayOut, target: str = "") -> list[tuple[Limit, int]]:
        """Everything that holds this move, with how much it allows."""
        target = target or way_out.target
        limits: list[tuple[Limit, int]] = []
        station = self.line.stations_by_key.get(target)
        if way_out.by == "signal":
            if station is None:
                return []
            limits.append((("signals", way_out.source), station.limits.signal_retries))
        if way_out.by == "rule" and way_out.rule is not None:
            limits += rule_limits(self.line, way_out, target)
        if way_out.by == "gate" and way_out.words.get(way_out.at) == SEND_BACK:
            limits.append((("rounds", way_out.at), self.line.gate(way_out.at).approval.max_rounds))
        if station is not None and station.limits.max_visits is not None:
            limits.append((("visits", target), station.limits.max_visits))
        if way_out.by != "exhausted":
            limits += self._budget_limits_of_move(
                way_out.source, target, way_out.rule if way_out.by == "rule" else None
            )
        return limits

    def _budget_limits_of_move(
        self, source: str, target: str, rule: Rule | None
    ) -> Iterator[tuple[Limit, int]]:
        """Named ones that every such move spends of, whatever its type of failure."""
        for budget in self.line.named_budgets_in_force:
            step = MoveTarget(source, target, rule.id if rule else None)
            if (
                budget.kind in ("rules", "edges", "cross_stage", "restart", "loop")
                and budget.most is not None
            ):
                if consumes_budget(self.line, budget, step):
                    yield ("budget", budget.key), budget.most
            elif (
                budget.kind == "same_stage"
                and budget.most is not None
                and consumes_budget(self.line, budget, step)
            ):
                yield ("budget", f"{budget.key} {self.line.stage_key(source)}"), budget.most


def entry_limit(line: ParsedLine, key: str) -> int:
    """Return the limit of every decided entry. At a join several groups of branches may have arrived before
    the first is counted, so there is no limit."""
    if line.station(key).join is not None:
        return UNLIMITED
    # The start is entered once, even where its limit is 0.
    return max(visit_limit(line, key), int(key == line.start))


def rule_limits(line: ParsedLine, way_out: WayOut, target: str = "") -> list[tuple[Limit, int]]:
    """Return the limits of the rule that is taken: its own and those of the revisit policy."""
    rule, target = way_out.rule, target or way_out.target
    assert rule is not None
    limits: list[tuple[Limit, int]] = []
    if rule.max_retries is not None:
        limits.append((("rules", rule.id), rule.max_retries))
    if rule.max_visits is not None:
        limits.append((("visits", target), rule.max_visits))
    free = rule.max_retries is None and rule.max_visits is None
    if free and line.policy.self_loop_limit is not None and way_out.source in (target, *rule.to):
        limits.append((("rules", rule.id), line.policy.self_loop_limit))
    if target in line.stations_by_key and rule.allow_revisit is not True:
        if rule.allow_revisit is False or line.policy.forbids_revisits:
            limits.append((("visits", target), 1))
        elif line.policy.revisit_limit is not None:
            limits.append((("visits", target), line.policy.revisit_limit + 1))
    return limits
