"""Joins (law §7): which branches have arrived, which no longer can, and what follows. Pure.

Which fork a token belongs to at a join: the innermost one whose branches can fill the join, without going back
through the fork itself; where none can, the outermost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.routing.decide.branch_joins.branches import (
    BLOCKED,
    FAILED,
    PASSED,
    VERDICTS,
    WORST_FIRST,
    Arrival,
    Branch,
    Fork,
)
from pipelines.routing.decide.branch_joins.reachability import (
    NextStations,
    cached_per_line,
    drawn_next_stations,
    next_stations_by_station,
    reachable_stations,
    routes_replacing_forks,
)
from pipelines.routing.document.model import ParsedLine
from pipelines.routing.document.stations import Join

PASS = "pass"


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Tokens of one fork that wait at one join. `missing`: stations that have not delivered; `may`: of each of those
    the tokens that can still reach it."""

    station: str
    fork: Fork | None
    arrived: tuple[Branch, ...]
    delivered: Mapping[str, str]
    missing: tuple[str, ...]
    may: Mapping[str, tuple[int, ...]]

    @property
    def is_complete(self) -> bool:
        return not any(self.may.values())

    @property
    def missing_stations_still_reachable(self) -> tuple[str, ...]:
        """Stations that are still waited for."""
        return tuple(key for key in self.missing if self.may[key])


@dataclass(frozen=True, slots=True)
class Merge:
    """A join that is decided. `standings`: of every station that it waits for, in its order; `never`: those that
    delivered nothing and count as failed. `arrived`: the tokens that merge, in the order of arriving; `passed`: those
    whose station passed, in the order of the join. `alone`: no sibling lives, so that they take the place of the
    forked one; `emptied`: forks between it and them that are over. `circular`: it waited for a join that waits for
    it."""

    station: str
    fork: Fork | None
    arrived: tuple[int, ...]
    sources: tuple[str, ...]
    aggregation: str
    standings: Mapping[str, str]
    never: tuple[str, ...]
    verdict: str
    failure_type: str = ""
    passed: tuple[int, ...] = ()
    alone: bool = True
    emptied: tuple[int, ...] = ()
    circular: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The merge as plain JSON."""
        return {
            "aggregation": self.aggregation,
            "branches": {key: VERDICTS[outcome_state] for key, outcome_state in self.standings.items()},
            "never": list(self.never),
            "verdict": self.verdict,
            **({"circular": True} if self.circular else {}),
        }

    def outcome(self) -> dict[str, Any]:
        """The outcome that is routed from the join station if the branches did not pass (law §7)."""
        outcome: dict[str, Any] = {
            "verdict": self.verdict,
            "output": {"branches": self.to_dict()["branches"], "never": list(self.never)},
            "summary": self.sentence,
        }
        return {**outcome, "failure_type": self.failure_type} if self.failure_type else outcome

    @property
    def sentence(self) -> str:
        arrivals = [
            f"{key} {'never arrived' if key in self.never else s}" for key, s in self.standings.items()
        ]
        return f"{', '.join(arrivals)}; the join wants {self.aggregation}."


def first_decidable_merge_or_none(line: ParsedLine, branches: Sequence[Branch]) -> Merge | None:
    """The first join that can be decided now. Ask again after applying it, because its token may reach another join.
    Of joins that only wait for each other, the one that has waited longest is decided as if the others could not
    arrive."""
    join_groups = join_groups_with_waiting_tokens(line, branches)
    for group in join_groups:
        if group.is_complete:
            return _decided_merge(line, branches, group)
    # Nothing that still moves can complete these: they wait for each other.
    stale = [group for group in join_groups if not _can_complete(group, join_groups)]
    return _decided_merge(line, branches, stale[0], circular=True) if stale else None


def join_groups_with_waiting_tokens(line: ParsedLine, branches: Sequence[Branch]) -> list[JoinGroup]:
    """Every join at which tokens wait, the longest waiting first."""
    together: dict[tuple[str, int | None], list[Branch]] = {}
    waiting = [branch for branch in branches if branch.arrival]
    # In the order of arriving, so that the group that waits longest comes first.
    for branch in sorted(waiting, key=_arrival_order):
        home = fork_joined_at_or_none(line, branch, branch.station)
        together.setdefault((branch.station, home.id if home else None), []).append(branch)
    return [_join_group(line, branches, key, arrived) for (key, _), arrived in together.items()]


def _arrival_order(branch: Branch) -> int:
    assert branch.arrival is not None
    return branch.arrival.order


def _can_complete(group: JoinGroup, all_groups: Sequence[JoinGroup]) -> bool:
    """Return whether a token that is not waiting can still reach a missing station, or release a token that
    can."""
    waiting_groups = {branch.id: other for other in all_groups for branch in other.arrived}
    visited, todo = {id(group)}, [group]
    while todo:
        for tokens in todo.pop().may.values():
            for token in tokens:
                other = waiting_groups.get(token)
                if other is None or other.is_complete:
                    return True
                # Joins may wait for each other in a circle
                if id(other) not in visited:
                    visited.add(id(other))
                    todo.append(other)
    return False


def accounted_branches_and_replaces_fork(
    line: ParsedLine, merge: Merge, over: Mapping[int, tuple[str, str]]
) -> tuple[tuple[int, ...], bool]:
    """Return the ended branches of the fork whose end the join accounts for, and whether the merged token takes
    the place of the forked one.

    `over`: {id: (station, status)} of branches that ended by themselves. The join accounts for those that were
    on their way to a station that never arrived. The merged token takes the place if no sibling lives and no
    other branch ended in a way that still counts.
    """
    counted = tuple(
        pk
        for pk, (at, _) in over.items()
        if set(merge.never) & reachable_stations(next_stations_by_station(line), [at])
    )
    untold = any(status != "completed" for pk, (_, status) in over.items() if pk not in counted)
    return counted, merge.fork is not None and merge.alone and not untold


# Which fork


def fork_joined_at_or_none(line: ParsedLine, branch: Branch, station: str) -> Fork | None:
    """The fork whose branches meet with this one at the join before `station`."""
    join, after = _station_join(line, station), drawn_next_stations(line)
    for place in range(len(branch.within) - 1, -1, -1):
        if _innermost_fork_reaches_all_awaited(after, branch.within[: place + 1], station, join):
            return branch.within[place]
    return branch.within[0] if branch.within else None


def _innermost_fork_reaches_all_awaited(
    next_stations: NextStations, forks: Sequence[Fork], station: str, join: Join
) -> bool:
    """Return whether the innermost of these forks leads to every awaited station without going back to a
    fork."""
    avoiding = {station, *(fork.station for fork in forks)} - set(forks[-1].to)
    return set(join.wait_for) <= reachable_stations(next_stations, forks[-1].to, avoiding)


def _station_join(line: ParsedLine, station: str) -> Join:
    """The stations awaited there; none if the version no longer has a join there."""
    parsed_station = line.stations_by_key.get(station)
    return parsed_station.join if parsed_station and parsed_station.join else Join((), "none")


# Who has delivered, and who still can


def _join_group(
    line: ParsedLine, branches: Sequence[Branch], station: str, arrived: list[Branch]
) -> JoinGroup:
    join, fork = _station_join(line, station), fork_joined_at_or_none(line, arrived[0], station)
    delivered = _worst_delivered_states(join, [branch.arrival for branch in arrived if branch.arrival])
    missing = tuple(key for key in join.wait_for if key not in delivered)
    ids = {branch.id for branch in arrived}
    others = [
        # Only tokens of this fork count; without a fork all do.
        branch
        for branch in branches
        if branch.id not in ids and (fork is None or fork in branch.within)
    ]
    may = (
        _tokens_reaching_missing_stations(line, station, fork, others, missing)
        if missing and others
        else dict.fromkeys(missing, ())
    )
    return JoinGroup(station, fork, tuple(arrived), delivered, missing, may)


def _worst_delivered_states(join: Join, arrivals: Sequence[Arrival]) -> dict[str, str]:
    """Return the result that each station delivered; of several deliveries the worst counts."""
    delivered: dict[str, str] = {}
    for arrival in arrivals:
        if arrival.source in join.wait_for:
            both = (arrival.standing, delivered.get(arrival.source, arrival.standing))
            delivered[arrival.source] = next(
                outcome_state for outcome_state in WORST_FIRST if outcome_state in both
            )
    return delivered


def _tokens_reaching_missing_stations(
    line: ParsedLine, station: str, fork: Fork | None, others: Sequence[Branch], missing: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return, by missing station, the tokens that can still reach it. A fork further on that fills the join by
    itself has its own join there and comes back as one token."""
    places = {branch.id: _station_to_go_on_from(line, branch, station, fork) for branch in others}
    reach = {key: _reachable_stations(line, station, key) for key in set(places.values())}
    return {key: tuple(pk for pk, place in places.items() if key in reach[place]) for key in missing}


def _station_to_go_on_from(line: ParsedLine, branch: Branch, station: str, fork: Fork | None) -> str:
    """Return the station from which the branch goes on. Branches of a fork further in are joined first, at
    `station`."""
    return branch.station if fork_joined_at_or_none(line, branch, station) == fork else station


@cached_per_line
def _reachable_stations(line: ParsedLine, station: str, place: str) -> frozenset[str]:
    """Return the stations that a token at this place can reach, as the join before `station` counts."""
    return frozenset(reachable_stations(_onward_routes_around_own_forks(line, station), [place]))


@cached_per_line
def _onward_routes_around_own_forks(line: ParsedLine, station: str) -> NextStations:
    return routes_replacing_forks(line, _own_forks_by_rule(line, station))


def _own_forks_by_rule(line: ParsedLine, station: str) -> dict[str, str]:
    """Return, by rule, the forks from which every awaited station is reached without another fork on the way."""
    join, after = _station_join(line, station), drawn_next_stations(line)
    forks = [(source.key, rule) for source in line.stations for rule in source.rules if len(rule.to) > 1]
    # Behind another fork, or behind the join itself, there would be other branches
    avoiding = {station, *(key for key, _ in forks)}
    return {
        rule.id: station
        for _, rule in forks
        if set(join.wait_for) <= reachable_stations(after, rule.to, avoiding - set(rule.to))
    }


# The result


def aggregate_verdict(aggregation: str, standings: Sequence[str]) -> str:
    """The verdict: pass, fail or blocked (law §7)."""
    passed = sum(outcome_state == PASSED for outcome_state in standings)
    if aggregation == "none":
        return PASS
    # Before the count: one blocked branch blocks whatever the aggregation (law §7).
    if BLOCKED in standings:
        return "blocked"
    enough = {
        "all-pass": passed == len(standings),
        "any-pass": passed > 0,
        # Strictly more than half (law §7)
        "majority-pass": 2 * passed > len(standings),
    }
    return PASS if enough[aggregation] else "fail"


def _decided_merge(
    line: ParsedLine, branches: Sequence[Branch], group: JoinGroup, circular: bool = False
) -> Merge:
    join = _station_join(line, group.station)
    # What no living token of the fork can still reach counts as failed (law §7).
    standings = {key: group.delivered.get(key, FAILED) for key in join.wait_for}
    ids = {branch.id for branch in group.arrived}
    others = [branch for branch in branches if branch.id not in ids]
    inside = {fork.id for branch in group.arrived for fork in _forks_within(branch, group.fork)}
    return Merge(
        group.station,
        group.fork,
        tuple(branch.id for branch in group.arrived),
        tuple(branch.arrival.source for branch in group.arrived if branch.arrival),
        join.aggregation,
        standings,
        group.missing,
        aggregate_verdict(join.aggregation, list(standings.values())),
        _first_failure_type_or_empty(join, group),
        # In the order of `wait_for`, in which their trees are merged (law §15, Git)
        passed=tuple(
            branch.id
            for key in join.wait_for
            for branch in group.arrived
            if standings[key] == PASSED and branch.arrival and branch.arrival.source == key
        ),
        alone=not any(group.fork in branch.within for branch in others),
        emptied=tuple(sorted(inside - {fork.id for branch in others for fork in branch.within})),
        circular=circular,
    )


def _forks_within(branch: Branch, fork: Fork | None) -> tuple[Fork, ...]:
    return branch.within[branch.within.index(fork) + 1 :] if fork else branch.within


def _first_failure_type_or_empty(join: Join, group: JoinGroup) -> str:
    """Return the failure type of the first station, in the order of the join, that failed and reports one."""
    for key in join.wait_for:
        for branch in group.arrived:
            arrival = branch.arrival
            if arrival and arrival.source == key and arrival.standing != PASSED and arrival.failure_type:
                return arrival.failure_type
    return ""
