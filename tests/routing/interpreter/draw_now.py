"""Drawn facts of the moment, and gates of which revision 2 of the law says something else; drawn apart from everything
else, so that a seed keeps its case."""

from random import Random
from typing import Any

from .values import Json

WARNING: dict[str, Json] = {"field": "exit_code", "operator": "equals", "value": 0, "severity": "warn"}
LISTS: tuple[list[Json], ...] = ([7], ["7", 6.5], [-3, 100], ["ok", 7], [7.0, "fail"], [True, "07"])


def with_now(seed: int, document: dict[str, Any], situations: list[dict[str, Any]]) -> None:
    """What moved since a gate asked or an evaluation was answered, in every third case; groups of warnings and lists of
    evals in some of the gates."""
    random = Random(f"now {seed}")
    for gate in document["gates"]:
        if random.random() < 0.12:
            gate["checks"] = _checks(random, gate.get("checks"))
    for rule in (rule for each in document["stations"] for rule in each.get("rules") or ()):
        # The same gates before rules that a demanded failure may take.
        if rule.get("gates") and random.random() < 0.15:
            rule["when"] = {"result": random.choice(["failure", "any", "blocked"])}
    for situation in situations:
        if random.random() < 0.35:
            situation["facts"]["now"] = _now(random, document, situation["facts"])


def _checks(random: Random, given: dict[str, Json] | None) -> dict[str, Json]:
    group: dict[str, Json] = {
        random.choice(["all", "any"]): [dict(WARNING) for _ in range(random.randint(1, 2))]
    }
    if random.random() < 0.3:
        return group
    listed = {"field": "eval", "operator": "in", "value": random.choice(LISTS)}
    listed["action"] = random.choice(["hold", "rework", "abort"])
    members = [group, listed, *([given] if given and random.random() < 0.4 and _depth(given) < 3 else [])]
    return {random.choice(["all", "any"]): members}


def _depth(item: dict[str, Any]) -> int:
    members = item.get("all") or item.get("any") or []
    return 1 + max(map(_depth, members), default=0) if members else 0


def _now(random: Random, document: dict[str, Any], facts: dict[str, Any]) -> dict[str, Json]:
    keys = [station["key"] for station in document["stations"]]
    ids = [f"r{number}" for number in range(1, 9)]
    drawn: dict[str, Json] = {
        "visits": {key: random.randint(0, 5) for key in keys if random.random() < 0.7},
        "edges": {f"{random.choice(keys)}->{random.choice(keys)}": random.randint(0, 5) for _ in range(6)},
        "rules": {rule: random.randint(0, 5) for rule in ids if random.random() < 0.7},
        "failures": {f"{random.choice(keys)}:{random.choice(['license', 'code'])}": random.randint(0, 3)},
        "visited": [key for key in keys if random.random() < 0.5],
        "open_escalations": random.choice([0, 0, 0, 1]),
        "beside": [random.choice(keys)],
        "context": {"a": random.choice([1, 7, None]), "high": random.choice([0, ""])},
        "variables": {"v": random.choice([1, "x"]), "chat": {"messages": []}},
        "inputs": {"mode": random.choice(["a", ""]), "AI-Usage": "yes"},
        "task": {"labels": random.choice([[], ["high: 3", "AI-Usage"]])},
        "unreadable": {key: random.choice(["plan", ""]) for key in ("a", "high") if random.random() < 0.5},
    }
    likely = {"visited": 0.15, "unreadable": 0.15, "open_escalations": 0.3}
    now = {name: value for name, value in drawn.items() if random.random() < likely.get(name, 0.5)}
    if random.random() < 0.1:
        now["visits"] = None
    return now
