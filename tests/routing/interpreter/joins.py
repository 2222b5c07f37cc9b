"""§7: when a join is decided, what it decides, and the context of who passes it. One fork that holds no other.

A token: `{"id", "at": station}`, or, delivered to a join and waiting there, `{"id", "at": the join, "from": the
station that it left, "as": passed | failed | blocked}`.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from . import facts as read
from .values import Json, equal

Token = Mapping[str, Any]
Merge = dict[str, Json]


def joins_due(document: Mapping[str, Any], tokens: Sequence[Token]) -> list[Merge]:
    """Every join that may be decided now, by the order of the stations."""
    found = (merge_at(document, station, tokens) for station in document["stations"] if station.get("join"))
    return [merge for merge in found if merge is not None]


def merge_at(
    document: Mapping[str, Any], station: Mapping[str, Any], tokens: Sequence[Token]
) -> Merge | None:
    """ "When all are accounted for, exactly these tokens merge"; None while one is not."""
    delivered = {
        token["from"]: token for token in tokens if "from" in token and token["at"] == station["key"]
    }
    if not delivered:
        return None
    counted: dict[str, str] = {}
    never: list[str] = []
    for wanted in station["join"]["wait_for"]:
        if wanted in delivered:  # "Each `wait_for` station delivers the token that left it for the join"
            counted[wanted] = delivered[wanted]["as"]
        elif any(can_reach(document, token, wanted, station["key"]) for token in tokens):
            return None
        else:  # "it counts as failed once no living token of this fork can still reach it"
            counted[wanted] = "failed"
            never.append(wanted)
    verdict = aggregated(station["join"].get("aggregation") or "all-pass", list(counted.values()))
    merged = sorted(token["id"] for token in delivered.values())
    return {
        "station": station["key"],
        "tokens": merged,
        "verdict": verdict,
        "counted": counted,
        "never": never,
    }


def aggregated(aggregation: str, standings: Sequence[str]) -> str:
    """ "`none` ⇒ pass; else any blocked ⇒ blocked; majority = strictly more than half" """
    passed = standings.count("passed")
    if aggregation == "none":
        return "pass"
    if "blocked" in standings:
        return "blocked"
    enough = {
        "all-pass": passed == len(standings),
        "any-pass": passed > 0,
        "majority-pass": passed * 2 > len(standings),
    }
    return "pass" if enough[aggregation] else "fail"


def can_reach(document: Mapping[str, Any], token: Token, wanted: str, join: str) -> bool:
    """Whether it may still come to that station. Who waits at the join comes there by the join alone, which is what
    is decided; who stands at the station has yet to leave it."""
    if "from" in token and token["at"] == join:
        return False
    seen, ahead = set(), [token["at"]]
    while ahead:
        here = ahead.pop()
        if here in seen or here not in {station["key"] for station in document["stations"]}:
            continue
        seen.add(here)
        ahead += ways(document, here)
    return wanted in seen


def ways(document: Mapping[str, Any], here: str) -> list[str]:
    """Where a token may go from a station: by its rules, and by the policies."""
    order = [station["key"] for station in document["stations"]]
    station = document["stations"][order.index(here)]
    knobs = read.knobs(document)
    found: list[str] = []
    for rule in station.get("rules") or []:
        found += rule["to"] if isinstance(rule["to"], list) else [rule["to"]]
        if "when" not in rule:  # "`when` absent = always": nothing comes after it, no policy either
            return found
    onwards = knobs["no_match"] == "default" if station.get("rules") else knobs["no_rules"] == "advance"
    if onwards:  # "next station in order"
        found += order[order.index(here) + 1 :][:1]
    if knobs["on_failure"].startswith("station:"):
        found.append(knobs["on_failure"].removeprefix("station:"))
    return found


def contradictions(branches: Sequence[Sequence[Mapping[str, Json]]]) -> list[str]:
    """ "Two branches that wrote different values under one key". What a branch wrote is what it left there: "later
    overwrites earlier"."""
    left = [{key: value for written in branch for key, value in written.items()} for branch in branches]
    found = {
        key
        for one, other in combinations(left, 2)
        for key in one
        if key in other and not equal(one[key], other[key])
    }
    return sorted(found)
