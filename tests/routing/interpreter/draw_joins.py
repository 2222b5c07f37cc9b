"""Random lines with a fork and joins, and places where its branches may stand."""

from random import Random
from typing import Any

from .values import Json

AGGREGATIONS = ("all-pass", "any-pass", "majority-pass", "none")
STANDINGS = ("passed", "passed", "failed", "blocked")


def joined(seed: int) -> tuple[dict[str, Json], list[dict[str, Json]]]:
    """A document, and the living tokens of its one fork. Ways lead forwards only, but for failures, and into a join
    only from stations that it waits for; no two tokens came to a join from the same station."""
    random = Random(seed)
    keys = [f"s{number}" for number in range(random.randint(5, 8))]
    stations: dict[str, dict[str, Any]] = {key: {"key": key} for key in keys}
    joins = sorted(random.sample(keys[3:], random.randint(1, 2)))
    for join in joins:
        before = [key for key in keys[1 : keys.index(join)] if key not in joins or random.random() < 0.5]
        wait_for = random.sample(before, random.randint(1, min(3, len(before))))
        stations[join]["join"] = {"wait_for": wait_for}
        if random.random() < 0.8:
            stations[join]["join"]["aggregation"] = random.choice(AGGREGATIONS)
    for number, key in enumerate(keys[1:], 1):
        stations[key]["rules"] = _rules(random, key, keys[number + 1 :], stations)
    branches = random.sample(keys[1:], random.randint(2, 3))
    stations["s0"]["rules"] = [{"id": "fork", "to": branches}]
    policy = {"no_rules": random.choice(["advance", "end"]), "no_match": random.choice(["default", "fail"])}
    if random.random() < 0.2:
        policy["on_failure"] = f"station:{random.choice(keys[1:])}"
    document = {"gateline": 1, "key": "line", "stations": list(stations.values()), "policy": policy}
    return document, _tokens(random, stations, joins)


def _rules(random: Random, key: str, later: list[str], stations: dict[str, dict[str, Any]]) -> list[Json]:
    """Up to two ways, and always those into the joins that wait for it."""
    asked = [other for other in later if key in stations[other].get("join", {}).get("wait_for", [])]
    free = [other for other in later if "join" not in stations[other]]
    ways = [*asked, *random.sample(free, min(len(free), random.randint(0, 1)))]
    rules: list[Json] = [
        {"id": f"{key}-{to}", "when": {"eval": {"op": "equals", "value": to}}, "to": to} for to in ways
    ]
    return rules if random.random() < 0.5 else [*rules, {"id": f"{key}-end", "to": "completed"}]


def _tokens(random: Random, stations: dict[str, dict[str, Any]], joins: list[str]) -> list[dict[str, Json]]:
    free = [key for key in stations if key not in joins and key != "s0"]
    taken: set[tuple[str, str]] = set()
    tokens: list[dict[str, Json]] = []
    for number in range(random.randint(1, 4)):
        token: dict[str, Json] = {"id": number + 2}
        join = random.choice(joins)
        source = random.choice(stations[join]["join"]["wait_for"])
        if random.random() < 0.65 and (join, source) not in taken:
            taken.add((join, source))
            token |= {"at": join, "from": source, "as": random.choice(STANDINGS)}
        else:
            token["at"] = random.choice(free or joins)
        tokens.append(token)
    return tokens
