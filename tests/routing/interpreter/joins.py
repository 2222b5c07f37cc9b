"""§7: when a join is decided, what it decides, and the context of who passes it.

A token: `{"id", "at": station}`, or, delivered to a join and waiting there, `{"id", "at": the join, "from": the
station that it left, "as": passed | failed | blocked}`. `"forks"`: those that it is a branch of, the outermost first,
each `{"id", "station", "to": targets}`; without them all tokens are branches of one fork.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from . import facts as read
from .values import Json, equal

Token = Mapping[str, Any]
Merge = dict[str, Json]

WORST = ("blocked", "failed", "passed")


def joins_due(document: Mapping[str, Any], tokens: Sequence[Token]) -> list[Merge]:
    """Every join that may be decided now, by the order of the stations, fork by fork."""
    found = []
    for station in document["stations"]:
        if station.get("join"):
            waiting = [token for token in tokens if "from" in token and token["at"] == station["key"]]
            forks = [fork_of(document, token, station) for token in waiting]
            for fork in dict.fromkeys(forks):
                here = [token for token, own in zip(waiting, forks, strict=True) if own == fork]
                found.append(merge_at(document, station, here, of_fork(tokens, fork), fork))
    return [merge for merge in found if merge is not None]


def fork_of(document: Mapping[str, Any], token: Token, station: Mapping[str, Any]) -> int | None:
    """ "this fork": forks nest, so of those that the token is a branch of the innermost whose branches can deliver
    from every station that is waited for. (docs/rules.md: "without going back to a fork".)"""
    forks = token.get("forks") or []
    for depth in range(len(forks) - 1, -1, -1):
        barred = {station["key"], *(fork["station"] for fork in forks[: depth + 1])}
        if set(station["join"]["wait_for"]) <= ahead_of(document, forks[depth]["to"], barred, drawn=True):
            return int(forks[depth]["id"])
    return int(forks[0]["id"]) if forks else None


def of_fork(tokens: Sequence[Token], fork: int | None) -> list[Token]:
    """The living tokens of a fork, those of forks within it among them."""
    if fork is None:
        return list(tokens)
    return [token for token in tokens if any(each["id"] == fork for each in token["forks"])]


def merge_at(
    document: Mapping[str, Any],
    station: Mapping[str, Any],
    waiting: Sequence[Token],
    living: Sequence[Token],
    fork: int | None,
) -> Merge | None:
    """ "When all are accounted for, exactly these tokens merge"; None while one is not."""
    delivered: dict[str, str] = {}
    for token in waiting:  # docs/rules.md: "Of several deliveries of one station the worst counts."
        said = (token["as"], delivered.get(token["from"], token["as"]))
        delivered[token["from"]] = min(said, key=WORST.index)
    gone = {token["id"] for token in waiting}
    others = [token for token in living if token["id"] not in gone]
    counted: dict[str, str] = {}
    never: list[str] = []
    for wanted in station["join"]["wait_for"]:
        if wanted in delivered:  # "Each `wait_for` station delivers the token that left it for the join"
            counted[wanted] = delivered[wanted]
        elif any(can_reach(document, token, wanted) for token in others):
            return None
        else:  # "it counts as failed once no living token of this fork can still reach it"
            counted[wanted] = "failed"
            never.append(wanted)
    verdict = aggregated(station["join"].get("aggregation") or "all-pass", list(counted.values()))
    return {
        "station": station["key"],
        "fork": fork,
        "tokens": sorted(token["id"] for token in waiting),
        "verdict": verdict,
        "counted": counted,
        "never": never,
        # "takes the place of the forked one once no sibling lives, else it stays their sibling"
        "alone": not others,
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


def can_reach(document: Mapping[str, Any], token: Token, wanted: str) -> bool:
    """Whether it may still come to that station. Who waits at a join goes on from there; who stands at the station
    has yet to leave it."""
    return wanted in ahead_of(document, [token["at"]])


def ahead_of(
    document: Mapping[str, Any], begin: Sequence[str], barred: set[str] | None = None, drawn: bool = False
) -> set[str]:
    """Where somebody at these stations may come to, themselves included. `drawn`: only by rules and by the order."""
    keys = [station["key"] for station in document["stations"]]
    known = set(keys) - (barred or set())
    silent = "all" if document.get("preset") == "flux" else []
    allowed = [] if drawn else document.get("jumps", silent)  # "reach … include the declared ones"
    jumps = keys if allowed == "all" else list(allowed)
    seen: set[str] = set()
    ahead = list(begin)
    while ahead:
        here = ahead.pop()
        if here in known and here not in seen:
            seen.add(here)
            ahead += [*ways(document, here, drawn), *jumps]
    return seen


def ways(document: Mapping[str, Any], here: str, drawn: bool = False) -> list[str]:
    """Where a token may go from a station: by its rules, and by the policies. `drawn`: by rules, and by the order of
    stations without any."""
    order = [station["key"] for station in document["stations"]]
    station = document["stations"][order.index(here)]
    knobs = read.knobs(document)
    found: list[str] = []
    for rule in station.get("rules") or []:
        found += rule["to"] if isinstance(rule["to"], list) else [rule["to"]]
        if "when" not in rule:  # "`when` absent = always": nothing comes after it, no policy either
            return found
    if drawn and station.get("rules"):
        return found
    onwards = knobs["no_match"] == "default" if station.get("rules") else knobs["no_rules"] == "advance"
    if onwards:  # "next station in order"
        found += order[order.index(here) + 1 :][:1]
    if knobs["on_failure"].startswith("station:") and not drawn:
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
