"""The transitions of a state machine of AEEF (E2…E16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pipelines.formats.foreign.aeef.contracts import TITLES
from pipelines.formats.foreign.aeef.reader import (
    ENDS,
    FOLLOW_UPS,
    READ_OF_MACHINE,
    REWORKS,
    is_single_work_record,
)
from pipelines.formats.foreign.aeef.transitions import REWORK, StateTransition
from pipelines.formats.foreign.import_notes import key_slug, unread_parts
from pipelines.formats.foreign.writer_helpers import Json, stations_in_order, stored_extra
from pipelines.routing.document.preconditions import METADATA

RECORDS: Final = (
    *("records", "agent", "gate_results", "stage_history", "event_id"),
    *("agent_id", "contract_version", "current_state", "current_agent", *TITLES),
)
"""Of a record by itself that was read before records were kept whole: no part of a list of transitions."""
SIDES: Final = (("agent", "from"), ("target_agent", "to"))
OF_ENDS: Final = {kind: state for state, kind in ENDS.items()}


def write_machine(line: Json) -> Any:
    """Return a list of transitions and, behind it, each record from which the line was read, unchanged."""
    records = stored_extra(line).get("records")
    parts = [record for record in records if isinstance(record, Mapping)] if isinstance(records, list) else []
    made = _machine_document(line)
    for part in parts:
        if not is_single_work_record(part):
            # What the line says now counts before what was stored.
            made = {**unread_parts(part, READ_OF_MACHINE).get("extra", {}), **made}
    return [made, *rest] if (rest := [part for part in parts if is_single_work_record(part)]) else made


def _machine_document(line: Json) -> Json:
    names = {station["key"]: _state_name(station["name"], station["key"]) for station in line["stations"]}
    for end in line.get("ends") or []:
        names[end["key"]] = _state_name(end.get("label"), end["key"], OF_ENDS[end["kind"]])
    # Rules may lead to the built-in ends without the line declaring them.
    names |= {kind: state for kind, state in OF_ENDS.items() if kind not in names}
    gates = {gate["key"]: gate for gate in line.get("gates") or []}
    agents = {names[station["key"]]: station["agent"] for station in line["stations"] if station.get("agent")}
    return {
        **stored_extra(line, *RECORDS),
        "id": line["key"],
        "name": line.get("name") or line["key"],
        **({"description": line["description"]} if line.get("description") else {}),
        "transitions": [
            {**way, **{field: agents[way[side]] for field, side in SIDES if way[side] in agents}}
            for station in stations_in_order(line)
            for way in _station_transitions(station, names, gates)
        ]
        + [
            {"id": f"{end['key']}-feedback", "from": source, "to": target}
            for end in line.get("ends") or []
            for (source, target), mode in FOLLOW_UPS.items()
            if (names[end["key"]], end.get("follow_up")) == (source, mode) and target in names.values()
        ],
    }


def _state_name(name: Any, key: str, otherwise: str = "") -> str:
    """Return the state's own name, where its key is still that name's."""
    return name if isinstance(name, str) and key_slug(name, "state") == key else otherwise or key.upper()


def _station_transitions(
    station: Json, names: Mapping[str, str], gates: Mapping[str, Json]
) -> Iterator[Json]:
    source = names[station["key"]]
    required = _required_conditions(station, gates)
    for rule in station.get("rules") or []:
        if rule["id"] == f"{station['key']}-done" and not stored_extra(rule):
            continue  # A state that nothing leads on from.
        to = rule["to"]
        # There a rework names the stage to which it returns; here that is @origin (E12).
        target = REWORKS.get(source.removeprefix(REWORK)) if to == "@origin" else (
            names.get(to) if isinstance(to, str) else None
        )  # fmt: skip
        if target is None:
            continue
        when = rule.get("when") or {}
        both = when.get("all")
        inner = both if isinstance(both, list) else [when]
        failure = next((test["failure_type"] for test in inner if "failure_type" in test), "")
        requires = stored_extra(rule).get("requires") or (required if {"verdict": "pass"} in inner else {})
        yield {
            **stored_extra(rule, "requires"),
            "id": rule["id"],
            "from": source,
            "to": target,
            **({"requires": requires} if requires else {}),
            **({"failure_type": failure} if isinstance(failure, str) and failure else {}),
            **_result_unless_implied(source, target, failure, inner),
            **({"max": rule["max_retries"]} if rule.get("max_retries") is not None else {}),
        }


def _result_unless_implied(source: str, target: str, failure: Any, tests: list[Any]) -> Json:
    """Return the result, where the target implies another one."""
    usual = StateTransition(
        "", source, target, failure=failure if isinstance(failure, str) else ""
    ).is_forward
    other = "fail" if usual else "pass"
    return {"result": other} if {"verdict": other} in tests else {}


def _required_conditions(station: Json, gates: Mapping[str, Json]) -> Json:
    gate = gates.get(str(station.get("gate")))
    made: Json = {}
    if gate is not None:
        if gate["key"].startswith("gate_"):
            made[f"{gate['key']}_passed"] = True
        for check in (gate.get("checks") or {}).get("all", ()):
            name = str(check.get("field", "")).removeprefix("output.")
            value = check.get("value")
            made[name] = "passing" if isinstance(value, list) else value
    names = [
        requirement.removeprefix(METADATA)
        for requirement in station.get("requires") or []
        if requirement.startswith(METADATA)
    ]
    return {**made, **({"ai_metadata": names} if names else {})}
