"""Stations of questions as the typed conditions of ALP that they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.alp.typed_conditions import OPERATORS, answer_tests
from pipelines.formats.foreign.paths import path_of
from pipelines.formats.foreign.writer_helpers import Json, extra

SHORT: Final = {"equals": "eq", "not_equals": "ne"}


def write_typed_rules(line: Json, names: Mapping[str, str], gates: Mapping[str, str]) -> dict[str, Json]:
    """Return {key of a question station: what the rule that leads to it says in ALP, with its condition}. Left
    out are stations to which several rules lead, or whose rules compare something other than answers."""
    typed_rules = {}
    for station in line["stations"]:
        stored = extra(station).get("typed")
        condition = stored.get("condition") if isinstance(stored, Mapping) else None
        leading = [
            rule
            for other in line["stations"]
            for rule in other.get("rules") or ()
            if rule["to"] == station["key"]
        ]
        if (
            isinstance(stored, Mapping)
            and isinstance(condition, Mapping)
            and len(leading) == 1
            and _result(leading[0])
        ):
            written = _typed_condition(station, condition, _result(leading[0]), names, gates)
            if written is not None:
                typed_rules[station["key"]] = {**stored, "condition": written}
    return typed_rules


def _result(rule: Json) -> str:
    when = rule.get("when")
    result = when.get("result") if isinstance(when, dict) and len(when) == 1 else None
    return result if isinstance(result, str) and result in ("success", "failure", "cancelled", "any") else ""


def _typed_condition(
    station: Json,
    condition: Mapping[str, Any],
    result: str,
    names: Mapping[str, str],
    gates: Mapping[str, str],
) -> Json | None:
    questions = condition.get("questions")
    rules = station.get("rules") or []
    # The fallback is read as a rule without a condition, behind all others.
    if not isinstance(questions, Mapping) or not rules or rules[-1].get("when") is not None:
        return None
    paths = {path_of(str(question_id)): str(question_id) for question_id in questions}
    ways = [_route(rule, names, gates) for rule in rules]
    needed = answer_tests(condition)
    tests = [_comparisons(rule.get("when"), needed, paths) for rule in rules[:-1]]
    if None in ways or None in tests:
        return None
    # There is one way more than tests: the last is the fallback.
    routes = [{**test, **way} for test, way in zip(tests, ways, strict=False)]  # type: ignore[dict-item]
    when = {"when": result} if result != condition.get("when", "success") else {}
    return {**condition, **when, "route": routes, "fallback": ways[-1]}


def _route(rule: Json, names: Mapping[str, str], gates: Mapping[str, str]) -> Json | None:
    to, gate_ids = rule["to"], [gates[key] for key in rule.get("gates") or () if key in gates]
    if not isinstance(to, str) or to not in names:
        return None
    return {
        **extra(rule),
        "to": names[to],
        **({"gateId": gate_ids[0]} if gate_ids else {}),
        **({"_alsoEnforce": gate_ids[1:]} if gate_ids[1:] else {}),
    }


def _comparisons(when: Any, needed: list[Json], paths: Mapping[str, str]) -> Json | None:
    parts = when.get("all") if isinstance(when, dict) else None
    if not isinstance(parts, list) or parts[: len(needed)] != needed:
        return None
    # All questions are answered, and nothing is compared.
    if parts == needed:
        return {"else": True}
    comparisons: dict[str, Json] = {}
    for part in parts[len(needed) :]:
        test = part.get("output") if isinstance(part, dict) else None
        if not isinstance(test, dict) or test.keys() != {"path", "op", "value"}:
            return None
        path, op = test["path"], test["op"]
        if path not in paths or op not in OPERATORS.values():
            return None
        comparisons.setdefault(paths[path], {})[SHORT.get(str(op), str(op))] = test["value"]
    return {"if": comparisons} if comparisons else None
