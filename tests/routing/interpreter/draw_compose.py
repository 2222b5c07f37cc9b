"""Drawn strategies of `compose`, and the outputs and variables that they merge."""

from random import Random
from typing import Any

from .values import Json

STRATEGIES = ("override", "merge_chat_histories", "append_string_to_chat_history")
VARS = ("chat", "text", "data", "v", "nobody")


def with_strategies(seed: int, document: dict[str, Any], situation: dict[str, Any]) -> None:
    """Rules that merge something into a variable; drawn apart from everything else, so that a seed keeps its case."""
    random = Random(f"compose {seed}")
    [here] = [each for each in document["stations"] if each["key"] == situation["station"]]
    for rule in here.get("rules") or []:
        if random.random() < 0.7:
            rule["compose"] = [_entry(random) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    facts, outcome = situation["facts"], situation["outcome"]
    facts["variables"] = {name: _value(random) for name in VARS[:4] if random.random() < 0.9}
    if "output_error" not in outcome and random.random() < 0.9:
        outcome["output"] = _value(random)
    elif random.random() < 0.3:
        outcome["output_error"] = random.choice([False, True, ""])


def plainly(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A line on which nothing but merging can go wrong, and a situation."""
    random = Random(f"plain {seed}")
    rules = [{"id": "r1", "to": "b"}, {"id": "r2", "to": "a"}][: random.randint(1, 2)]
    policy = {
        "on_failure": random.choice(["halt", "stuck", "fallback", "station:b"]),
        "condition_scope": random.choice(["current", "current", "merged"]),
    }
    stations = [
        {"key": "a", "rules": rules, "work": {"kind": "noop"}},
        {"key": "b", "work": {"kind": "noop"}},
    ]
    document = {"gateline": 1, "key": "line", "stations": stations, "policy": policy}
    context = {"model": "m", "messages": []} if random.random() < 0.5 else {}
    situation = {"station": "a", "outcome": {"result": "success"}, "facts": {"context": context}}
    with_strategies(seed, document, situation)
    return document, situation


def _entry(random: Random) -> dict[str, Json]:
    entry: dict[str, Json] = {"var": random.choice(VARS)}
    if random.random() < 0.4:
        return {"var": "v", "strategy": random.choice(STRATEGIES)}
    if random.random() < 0.85:
        entry["strategy"] = random.choice(STRATEGIES)
    if "strategy" not in entry or random.random() < 0.5:
        entry["path"] = random.choice(["$", "$", "$.messages", "$.messages[*].content", "a", "$.a", "model"])
    return entry


def _value(random: Random) -> Json:
    """Histories most often, with a model or without; else a text, an object, or something else."""
    kind = random.random()
    if kind < 0.6:
        history: dict[str, Any] = {"messages": [_message(random) for _ in range(random.randint(0, 2))]}
        history |= {"model": random.choice(["m", "n", None])} if random.random() < 0.6 else {}
        return history | ({"a": "Hello."} if random.random() < 0.3 else {})
    if kind < 0.75:
        return random.choice(["Hello.", ""])
    if kind < 0.9:
        return {key: random.choice([1, None, "x", {"b": 1}]) for key in "ab" if random.random() < 0.7}
    return random.choice([None, 0, [1], {"messages": "none"}, True])


def _message(random: Random) -> dict[str, Json]:
    return {"role": random.choice(["user", "assistant"]), "content": random.choice(["Hi", "Bye"])}
