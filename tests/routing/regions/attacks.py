"""Outcomes built to hit what is said to be impossible: everything that the conditions name, and its neighbours.

Nothing of the analysis is used here, but for the situations that it is asked for as starting points.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from tests.routing.regions.drawing import ANSWERS, EVALUATIONS, VALUES, WORDS, When

STATUSES: tuple[dict[str, Any], ...] = (
    *({"result": r, "verdict": v} for r in ("success", "failure", "cancelled") for v in ("pass", "fail")),
    *({"result": r} for r in ("success", "failure", "cancelled", "blocked")),
    {"result": "blocked", "signals": [{"verdict": "rework"}]},
    {"verdict": "blocked"},
    {"result": "success", "blockers": ["b"]},
    {"result": "failure", "signals": [{"verdict": "proceed"}]},
)
TINY = Decimal("0.000000000001")


def atoms(when: When) -> Iterator[tuple[str, Any]]:
    """Kind and body of every condition inside."""
    for form, body in when.items():
        if form in ("all", "any"):
            for member in body:
                yield from atoms(member)
        elif form == "not":
            yield from atoms(body)
        else:
            yield form, body


def near(value: Any) -> list[Any]:
    """The value, what lies beside it, and what only looks like it."""
    found: list[Any] = [value, [value], {"b": value}, None]
    if type(value) is str:
        found += [value + "x", "x" + value, value[:-1], value[1:], value.swapcase(), value + " ", value * 2]
        found += [value + "\n", "x" + value + "x"]
    elif type(value) in (int, float, Decimal):
        exact = Decimal(repr(value)) if type(value) is float else Decimal(value)
        found += [
            exact + 1,
            exact - 1,
            exact + TINY,
            exact - TINY,
            -exact,
            str(value),
            value == 1,
            float(value),
        ]
    elif type(value) is bool:
        found += [not value, int(value), str(value).lower()]
    elif type(value) is list:
        found += [[*value, "x"], ["x", *value], value[1:], value[:-1], value[::-1], *value]
    elif type(value) is dict:
        found += [{**value, "x": 1}, dict(list(value.items())[1:]), *value.values()]
    return found


class Attacker:
    """Draws situations for one station, leaning to what its conditions name; the same for the same seed."""

    def __init__(self, rules: list[When], starts: list[dict[str, Any]], seed: int) -> None:
        self.random = random.Random(seed)
        named = [atom for rule in rules for atom in atoms(rule["when"])]
        self.starts = starts
        self.paths = [body["path"] for form, body in named if form == "output"] or ["k"]
        self.values = [v for form, body in named if form == "output" for v in self._named(body)]
        evals = [n for form, body in named if form == "eval" for n in _near_eval(str(body["value"]))]
        self.evals = [None, None, "ok", "error", *WORDS, *evals]
        types = [
            t
            for form, body in named
            if form == "failure_type"
            for t in ([body] if type(body) is str else body)
        ]
        self.types = [None, "", "v", *types]

    def _named(self, body: dict[str, Any]) -> list[Any]:
        if body["op"] in ("in", "not_in"):
            return [n for member in body["value"] for n in near(member)]
        if body["op"] == "matches":
            return ["", "a", "ab", "b", "aab", "axb", "xa", "bx", "a\nb", "A", "7", "é"]
        return near(body["value"]) if "value" in body else ["x"]

    def situations(self, count: int) -> Iterator[dict[str, Any]]:
        for number in range(count):
            if self.starts and number % 2:
                yield self._mutated(self.random.choice(self.starts))
            else:
                yield self._drawn()

    def _drawn(self) -> dict[str, Any]:
        outcome = dict(self.random.choice(STATUSES))
        outcome["eval"] = self.random.choice(self.evals)
        outcome["failure_type"] = self.random.choice(self.types)
        shape = self.random.random()
        if shape < 0.75:
            outcome["output"] = self._document()
        elif shape < 0.85:
            outcome["output"] = self.random.choice([*VALUES, *self.values, None])
        elif shape < 0.9:
            outcome["output_error"] = True
        return {"station": "a", "outcome": outcome, "facts": self._facts(outcome)}

    def _document(self) -> Any:
        document: Any = {}
        for path in self.random.sample(self.paths, self.random.randint(1, min(4, len(self.paths)))):
            document = put(document, path, self._value(), self.random)
        return document

    def _value(self) -> Any:
        if self.values and self.random.random() < 0.7:
            return self.random.choice(self.values)
        return self.random.choice(VALUES)

    def _facts(self, outcome: dict[str, Any]) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "edges": {"a->b": self.random.randint(0, 3)},
            "gates": {
                "g": {"decision": self.random.choice(("approve", "rework"))},
                "s": {"decision": "approve"},
            },
            "answers": [
                {**asked, "answer": self.random.choice(ANSWERS[next(iter(asked))])} for asked in EVALUATIONS
            ],
        }
        if "signals" in outcome:
            facts["signal_reworks"] = 3
        if self.random.random() < 0.2:
            facts["context"] = {"k": self._value(), "a": self._value()}
        return facts

    def _mutated(self, start: dict[str, Any]) -> dict[str, Any]:
        """One or two steps away from a situation that is known to hit something."""
        situation = {"facts": {}, **copy.deepcopy(start)}
        outcome, facts = situation["outcome"], situation["facts"]
        facts.setdefault("answers", [])
        for _ in range(self.random.randint(0, 2)):
            what = self.random.random()
            if what < 0.6:
                path = self.random.choice(self.paths)
                outcome["output"] = put(outcome.get("output", {}), path, self._value(), self.random)
            elif what < 0.65:
                outcome.pop("output", None)
            elif what < 0.75:
                outcome["eval"] = self.random.choice(self.evals)
            elif what < 0.85:
                for key in ("result", "verdict", "signals"):
                    outcome.pop(key, None)
                outcome.update(self.random.choice(STATUSES))
                facts["signal_reworks"] = 3
            elif what < 0.9:
                outcome["failure_type"] = self.random.choice(self.types)
            else:
                drawn = self._facts(outcome)
                facts.update({(name := self.random.choice(("edges", "answers", "gates"))): drawn[name]})
        known = {str(sorted(each.items())) for each in EVALUATIONS}
        told = {str(sorted((k, v) for k, v in each.items() if k in ANSWERS)) for each in facts["answers"]}
        if known - told:
            facts["answers"] = [*self._facts(outcome)["answers"], *facts["answers"]]
        facts.setdefault("gates", {}).setdefault("s", {"decision": "approve"})
        return situation


_STEPS = re.compile(r"\['([^']*)'\]|\[(-?\d+)\]|\.([a-z]+)|(\[\*\]|\.\*|\.\.|\[[^\]]*\])")


def put(document: Any, path: str, value: Any, chance: random.Random) -> Any:
    """The document with the value at the path, or, now and then, with nothing there; wildcards go anywhere."""
    if not path.startswith("$"):
        steps: list[str | int] = [path] if chance.random() < 0.5 else [*path.split(".")]
    else:
        steps = [_step(found) for found in _STEPS.finditer(path)]
    return _put(copy.deepcopy(document), steps, ... if chance.random() < 0.1 else value)


def _step(found: re.Match[str]) -> str | int:
    quoted, index, name, other = found.groups()
    if other is not None:
        return 0 if other.startswith("[") else "b"
    return int(index) if index is not None else quoted if quoted is not None else name


def _put(document: Any, steps: list[str | int], value: Any) -> Any:
    if not steps:
        return {} if value is ... else copy.deepcopy(value)
    step, rest = steps[0], steps[1:]
    if type(step) is str:
        into = document if type(document) is dict else {}
        if value is ... and not rest:
            into.pop(step, None)
        else:
            into[step] = _put(into.get(step), rest, value)
        return into
    members = document if type(document) is list else []
    while not -len(members) <= step < len(members):
        members.append(1)
    members[step] = _put(members[step], rest, value)
    return members


def _near_eval(said: str) -> list[str]:
    found = [said, said + "x", "x" + said, said[:-1], said[1:], f" {said} ", said.upper()]
    for number in re.findall(r"-?\d+(?:\.\d+)?", said):
        exact = Decimal(number)
        found += [str(exact + step) for step in (-1, -TINY, 0, TINY, 1)] + [
            f"{number}e0",
            f" {number}.0",
            f"{number}0",
        ]
    return found
