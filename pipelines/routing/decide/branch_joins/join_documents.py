"""The join decision over plain JSON, for the decision tool (docs/rules.md, Forks and joins)."""

from __future__ import annotations

from typing import Any

from pipelines.routing.basics import values
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.basics.values import check_storable
from pipelines.routing.decide.branch_joins.branches import WORST_FIRST, Arrival, Branch, Fork, Write
from pipelines.routing.decide.branch_joins.context_merge import contradicting_keys
from pipelines.routing.decide.branch_joins.join_decision import (
    JoinGroup,
    Merge,
    first_decidable_merge_or_none,
    join_groups_with_waiting_tokens,
)
from pipelines.routing.document.model import ParsedLine


def join_answer(line: ParsedLine, data: Any) -> dict[str, Any]:
    """Return the join decision as `{"waiting": […], "merge": {…} or null}`. Raises Malformed with the place."""
    if type(data) is not dict:
        raise Malformed("", "has to be an object")
    values.check_keys(data, "", ("branches",))
    branches: list[Branch] = []
    wrote: dict[int, list[Write]] = {}
    for index, raw_branch in enumerate(values.read_sequence(data.get("branches"), "branches")):
        at = member_path("branches", index)
        check_storable(raw_branch, at)
        # Writes of one number are one write: those of all branches are counted through.
        branch, writes = _read_branch_and_writes(line, raw_branch, at, index, sum(map(len, wrote.values())))
        if branch.id in wrote:
            raise Malformed(member_path(at, "id"), f"two branches have the id {branch.id}")
        branches.append(branch)
        wrote[branch.id] = writes
    merge = first_decidable_merge_or_none(line, branches)
    gone = set(merge.arrived) if merge else set()
    waiting = [
        _group_document(group)
        for group in join_groups_with_waiting_tokens(line, branches)
        if not gone & {b.id for b in group.arrived}
    ]
    return {"waiting": waiting, "merge": _merge_document(merge, wrote) if merge else None}


def _group_document(group: JoinGroup) -> dict[str, Any]:
    return {
        "station": group.station,
        "arrived": [branch.id for branch in group.arrived],
        "waits_for": {key: list(group.may[key]) for key in group.missing_stations_still_reachable},
    }


def _merge_document(merge: Merge, wrote: dict[int, list[Write]]) -> dict[str, Any]:
    document = {"station": merge.station, "arrived": list(merge.arrived), **merge.to_dict()}
    keys = contradicting_keys([wrote[token] for token in merge.arrived])
    if merge.verdict == "pass":
        return {**document, "contradict": list(keys)}
    return {**document, "contradict": list(keys), "outcome": merge.outcome()}


def _read_branch_and_writes(
    line: ParsedLine, data: Any, at: str, index: int, first_write: int
) -> tuple[Branch, list[Write]]:
    members = _read_object(data, at, ("id", "station", "within", "arrival", "wrote"))
    forks = values.read_sequence(members.get("within"), member_path(at, "within"))
    within = tuple(
        _read_fork(line, fork, member_path(member_path(at, "within"), i)) for i, fork in enumerate(forks)
    )
    arrival = None
    if members.get("arrival") is not None:
        arrival = _read_arrival(line, members["arrival"], member_path(at, "arrival"), index)
    wrote = values.read_sequence(members.get("wrote"), member_path(at, "wrote"))
    writes = [
        Write(first_write + i, values.read_mapping(write, member_path(member_path(at, "wrote"), i)))
        for i, write in enumerate(wrote)
    ]
    return Branch(_read_id(members, at), _read_station(line, members, "station", at), within, arrival), writes


def _read_fork(line: ParsedLine, data: Any, at: str) -> Fork:
    members = _read_object(data, at, ("id", "station", "to"))
    to = values.read_sequence(members.get("to"), member_path(at, "to"))
    for index, key in enumerate(to):
        _checked_station_key(line, key, member_path(member_path(at, "to"), index))
    return Fork(_read_id(members, at), _read_station(line, members, "station", at), tuple(to))


def _read_arrival(line: ParsedLine, data: Any, at: str, index: int) -> Arrival:
    members = _read_object(data, at, ("from", "standing", "order", "failure_type"))
    outcome_state = values.read_word(members.get("standing"), member_path(at, "standing"), WORST_FIRST)
    order = values.read_count(members.get("order", index), member_path(at, "order"))
    failure_type = values.read_text(members.get("failure_type"), member_path(at, "failure_type"))
    return Arrival(
        _read_station(line, members, "from", at), outcome_state or "passed", order or 0, failure_type or ""
    )


def _read_object(data: Any, at: str, known: tuple[str, ...]) -> dict[str, Any]:
    if type(data) is not dict:
        raise Malformed(at, "has to be an object")
    values.check_keys(data, at, known)
    return data


def _read_id(data: dict[str, Any], at: str) -> int:
    if data.get("id") is None:
        raise Malformed(member_path(at, "id"), "is missing")
    return int(values.read_count(data["id"], member_path(at, "id")) or 0)


def _read_station(line: ParsedLine, data: dict[str, Any], name: str, at: str) -> str:
    return _checked_station_key(line, data.get(name), member_path(at, name))


def _checked_station_key(line: ParsedLine, key: Any, at: str) -> str:
    if type(key) is not str:
        raise Malformed(at, "has to be the key of a station")
    if key not in line.stations_by_key:
        raise Malformed(at, f"the line has no station {key}")
    return key
