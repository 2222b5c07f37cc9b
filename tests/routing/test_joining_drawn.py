"""Drawn lines and branches: whatever waits at a join is waited for by nobody in vain, and is decided in the end."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.routing.decide.branch_joins.branches import BLOCKED, FAILED, PASSED, Arrival, Branch, Fork
from pipelines.routing.decide.branch_joins.join_decision import (
    Merge,
    aggregate_verdict,
    first_decidable_merge_or_none,
    join_groups_with_waiting_tokens,
)
from pipelines.routing.decide.branch_joins.reachability import next_stations_by_station, reachable_stations
from pipelines.routing.document.line import ParsedLine
from tests.routing.support import line

KEYS = ("a", "b", "c", "d", "e")
JOINS = ("d", "e")
AGGREGATIONS = ("all-pass", "any-pass", "majority-pass", "none")


@st.composite
def lines(draw: st.DrawFn) -> ParsedLine:
    stations: list[dict[str, Any]] = []
    for key in KEYS:
        targets = st.sampled_from([*KEYS, "completed", "@origin"])
        to = [draw(targets) for _ in range(draw(st.integers(1, 3)))]
        rules: list[dict[str, Any]] = [
            {"id": f"{key}{i}", "when": {"eval": {"op": "equals", "value": str(i)}}, "to": each}
            for i, each in enumerate(to)
        ]
        if draw(st.booleans()):
            pair = draw(st.lists(st.sampled_from(KEYS), min_size=2, max_size=3, unique=True))
            rules.append({"id": f"{key}-fork", "to": pair})
        said: dict[str, Any] = {"rules": rules}
        if key in JOINS:
            others = st.sampled_from([each for each in KEYS if each != key])
            wait_for = draw(st.lists(others, min_size=1, max_size=3, unique=True))
            said["join"] = {"wait_for": wait_for, "aggregation": draw(st.sampled_from(AGGREGATIONS))}
        stations.append(said)
    return line(*stations, policy={"no_match": draw(st.sampled_from(["default", "fail"]))})


@st.composite
def standing(draw: st.DrawFn, of: ParsedLine) -> list[Branch]:
    outer = Fork(1, draw(st.sampled_from(KEYS)), tuple(draw(st.permutations(KEYS))[:3]))
    inner = Fork(2, draw(st.sampled_from(KEYS)), tuple(draw(st.permutations(KEYS))[:2]))
    found = []
    for pk in range(3, 3 + draw(st.integers(1, 5))):
        within = draw(st.sampled_from([(outer,), (outer, inner)]))
        if draw(st.booleans()):
            found.append(Branch(pk, draw(st.sampled_from(KEYS)), within))
            continue
        station = of.station(draw(st.sampled_from(JOINS)))
        assert station.join is not None
        source = draw(st.sampled_from(station.join.wait_for))
        arrival = Arrival(source, draw(st.sampled_from([PASSED, FAILED, BLOCKED])), pk)
        found.append(Branch(pk, station.key, within, arrival))
    return found


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_join_is_decided_by_exactly_what_arrived_and_in_the_end_nobody_waits_in_vain(
    data: st.DataObject,
) -> None:
    of = data.draw(lines())
    branches = data.draw(standing(of))
    for _ in range(len(branches) + 1):
        merge = first_decidable_merge_or_none(of, branches)
        if merge is None:
            break
        _sound(of, branches, merge)
        branches = _followed(branches, merge)
    else:
        raise AssertionError("it never comes to rest")
    _waits_for_somebody(of, branches)


def _sound(of: ParsedLine, branches: list[Branch], merge: Merge) -> None:
    join = of.station(merge.station).join
    assert join is not None
    arrived = [each for each in branches if each.id in merge.arrived]
    assert arrived
    assert all(each.station == merge.station and each.arrival for each in arrived)
    assert all(merge.fork is None or merge.fork in each.within for each in arrived)
    assert tuple(merge.standings) == join.wait_for
    assert merge.verdict == aggregate_verdict(join.aggregation, list(merge.standings.values()))
    delivered = {each.arrival.source for each in arrived if each.arrival}
    assert set(merge.never) == set(join.wait_for) - delivered


def _followed(branches: list[Branch], merge: Merge) -> list[Branch]:
    """The merged token works at the join station, and can go wherever it leads."""
    first = next(each for each in branches if each.id == merge.arrived[0])
    place = first.within.index(merge.fork) if merge.fork else 0
    outer = first.within[: place if merge.alone else place + 1]
    left = [each for each in branches if each.id not in merge.arrived]
    return [*left, Branch(min(merge.arrived) * 100, merge.station, outer)]


def _waits_for_somebody(of: ParsedLine, branches: list[Branch]) -> None:
    free = {each.station for each in branches if each.arrival is None}
    for group in join_groups_with_waiting_tokens(of, branches):
        assert group.missing_stations_still_reachable
        assert free, "only those that wait are left"
        everywhere = reachable_stations(next_stations_by_station(of), {each.station for each in branches})
        assert set(group.missing_stations_still_reachable) <= everywhere
