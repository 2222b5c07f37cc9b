"""A workflow of Vibe Factory (C1…C30)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.import_notes import ImportNotes
from pipelines.formats.foreign.vibe_factory import reader as reader
from pipelines.formats.foreign.writer_helpers import Json, stations_in_order, stored_extra, system_and_prompt
from pipelines.routing.basics import jsontext
from pipelines.routing.basics.keys import first_unused_key

SIGNS: Final = {op: sign for sign, op in reader.OPERATORS.items()}
LOGIC: Final = {"equals": "===", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
# $['a.b']: one key, whatever stands in it
_FLAT = re.compile(r"\$\['((?:[^'\\]|\\.)*)'\]")


def write_workflow(line: Json) -> Json:
    stations = [_station_without_rule_added_by_reader(station) for station in stations_in_order(line)]
    ends = [end for end in line.get("ends") or [] if end["kind"] == "completed"]
    used = {
        rule["to"]
        for station in stations
        for rule in station.get("rules") or []
        if isinstance(rule["to"], str)
    }
    if "completed" in used and all(end["key"] != "completed" for end in ends):
        ends.append({"key": "completed", "kind": "completed", "label": "Completed"})
    ids = _ids_by_key([*stations, *ends])
    workflow = str(stored_extra(line).get("id") or line["key"])
    transitions = [
        made
        for station in stations
        for place, rule in enumerate(station.get("rules") or [])
        if (made := _transition_document_or_none(rule, station, place, ids, workflow)) is not None
    ]
    return {
        "workflow": {
            **stored_extra(line),
            "id": workflow,
            "name": line.get("name") or line["key"],
            **({"description": line["description"]} if line.get("description") else {}),
        },
        "stations": [
            *(_station_document(station, place + 1, ids, workflow) for place, station in enumerate(stations)),
            *(_end_document(end, len(stations) + place + 1, ids, workflow) for place, end in enumerate(ends)),
        ],
        "transitions": transitions,
    }


def _ids_by_key(nodes: list[Json]) -> dict[str, str]:
    """The original ids; of a copied station, which has the id of the other, one of its own."""
    ids: dict[str, str] = {}
    used_ids: set[str] = set()
    for node in nodes:
        identity = first_unused_key(str(stored_extra(node).get("id") or node["key"]), used_ids)
        ids[node["key"]] = identity
        used_ids.add(identity)
    return ids


def _station_without_rule_added_by_reader(station: Json) -> Json:
    """Return the station without the rule that the reader adds to a station without transitions."""
    rules = [
        rule
        for rule in station.get("rules") or []
        if (rule["id"], rule.get("gates")) != (f"{station['key']}-done", [reader.REVIEW["key"]])
    ]
    return {**station, "rules": rules}


def _station_document(station: Json, position: int, ids: Mapping[str, str], workflow: str) -> Json:
    stored = stored_extra(station, "position")
    # What was an end and is a station now must not come back as an end; the first station never is one.
    if position > 1 and stored.get("is_terminator"):
        del stored["is_terminator"]
    _system, prompt = system_and_prompt(station["work"])
    if prompt and prompt == stored.get("description"):
        prompt = ""
    keys = station.get("output_keys")
    return {
        "workflow_id": workflow,
        **stored,
        "id": ids[station["key"]],
        "name": station.get("name") or station["key"],
        "position": position,
        **({"station_prompt": prompt} if prompt else {}),
        **({"output_context_keys": json.dumps(keys, ensure_ascii=False)} if keys else {}),
    }


def _end_document(end: Json, position: int, ids: Mapping[str, str], workflow: str) -> Json:
    return {
        "workflow_id": workflow,
        **stored_extra(end),
        "id": ids[end["key"]],
        "name": end.get("label") or end["key"],
        "position": position,
        "is_terminator": True,
    }


def _transition_document_or_none(
    rule: Json, station: Json, place: int, ids: Mapping[str, str], workflow: str
) -> Json | None:
    target = rule["to"] if isinstance(rule["to"], str) else ""
    condition = _condition_fields_or_none(rule)
    if target not in ids or condition is None:
        return None
    return {
        "workflow_id": workflow,
        **stored_extra(rule, "condition_type", "condition_value", "priority"),
        "source_station_id": ids[station["key"]],
        "target_station_id": ids[target],
        **({"label": rule["label"]} if rule.get("label") else {}),
        **condition,
        # There the greatest priority comes first (C29).
        "priority": -place,
        **({"allow_revisit": True} if rule.get("allow_revisit") else {}),
        **({"max_retries": rule["max_visits"]} if rule.get("max_visits") is not None else {}),
    }


def _condition_fields_or_none(rule: Json) -> Json | None:
    """The condition as it was spelt where that still says it; else spelt anew. None: it has no spelling."""
    when, stored = rule.get("when"), stored_extra(rule)
    kind, value = stored.get("condition_type"), stored.get("condition_value")
    if kind == "conditional" and reader.transition_condition_or_none(value, "", ImportNotes()) == when:
        return {"condition_type": kind, "condition_value": value}
    if when is None:
        return {"condition_type": kind if kind in reader.ALWAYS and kind else "always"}
    if when in ({"result": "success"}, {"result": "failure"}):
        known = isinstance(kind, str) and reader.RESULTS.get(kind) == when["result"]
        return {"condition_type": kind if known else when["result"]}
    if when in ({"verdict": "pass"}, {"verdict": "fail"}):
        # The nearest word there; that it is another one is found by reading it back.
        return {"condition_type": "success" if when["verdict"] == "pass" else "failure"}
    spelt = _condition_value(when)
    return None if spelt is None else {"condition_type": "conditional", "condition_value": spelt}


def _condition_value(when: Json) -> Any:
    test = when.get("output") if len(when) == 1 else None
    if isinstance(test, dict) and isinstance(test.get("path"), str):
        path, op, value = test["path"], test.get("op"), test.get("value")
        flat = _FLAT.fullmatch(path)
        name = re.sub(r"\\(.)", r"\1", flat[1]) if flat else path
        candidates: list[Any] = [name] if op == "exists" else []
        if op == "equals":
            candidates.append(json.dumps({"key": name, "value": value}, ensure_ascii=False, default=float))
        if op in SIGNS:
            left = f"{path}.length" if test.get("of") == "count" else path
            candidates.append(f"{left} {SIGNS[op]} {jsontext.dumps(value)}")
    else:
        candidates = []
    logic = _json_logic_of_condition(when)
    if logic is not None:
        candidates.append(json.dumps(logic, ensure_ascii=False, default=float))
    return next(
        # The first spelling that reads back to the same condition
        (
            candidate
            for candidate in candidates
            if reader.transition_condition_or_none(candidate, "", ImportNotes()) == when
        ),
        None,
    )


def _json_logic_of_condition(when: Any) -> Any:
    if not isinstance(when, dict) or len(when) != 1:
        return None
    [(word, inner)] = when.items()
    if word in ("all", "any") and isinstance(inner, list):
        parts = [_json_logic_of_condition(operand) for operand in inner]
        return None if None in parts else {"and" if word == "all" else "or": parts}
    if word == "not":
        part = _json_logic_of_condition(inner)
        return None if part is None else {"!": part}
    if word == "output" and isinstance(inner, dict) and isinstance(inner.get("path"), str):
        variable = {"var": inner["path"].removeprefix("$.")}
        if inner.get("op") == "in":
            return {"in": [variable, inner.get("value")]}
        if inner.get("op") in LOGIC and "of" not in inner:
            return {LOGIC[inner["op"]]: [variable, inner.get("value")]}
    return None
