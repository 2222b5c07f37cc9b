"""A playbook of Flux (D1…D21)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.flux.reader import LIMITS, META_ROUTE, WAYS
from pipelines.formats.foreign.writer_helpers import (
    Json,
    original_name,
    stations_in_order,
    stored_extra,
    system_and_prompt,
    system_and_prompt_split,
)

MODES: Final = {"manual": "hold", "skip": "skip"}
NEAREST: Final = {
    "pass": {"result": "success"},
    "fail": {"result": "failure"},
    "blocked": {"result": "blocked"},
}
"""What a result is called there; that it is another word is found by reading it back."""
SKILL: Final = "Skill: "


def write_playbook(line: Json) -> Json:
    chosen = [station["key"] for station in line["stations"] if stored_extra(station) == {"id": META_ROUTE}]
    names = {station["key"]: original_name(station) for station in line["stations"]} | dict.fromkeys(
        chosen, META_ROUTE
    )
    names |= {end["key"]: "complete" for end in line.get("ends") or [] if end["kind"] == "completed"}
    names |= {"completed": "complete", "@blocked": "blocked"}
    gates = {gate["key"]: gate for gate in line.get("gates") or []}
    base = stored_extra(line).get("prompt")
    forks = _stage_by_fork(line)
    children = {key for station in line["stations"] if stored_extra(station).get("type") == "parallel"
                for key in (station.get("join") or {}).get("wait_for", ())}  # fmt: skip
    return {
        **stored_extra(line),
        "name": line.get("name") or line["key"],
        "description": line.get("description") or "",
        "prompt": base if isinstance(base, str) else "",
        "stages": [
            _stage_document(_station_without_its_join(station, line), names, gates, base, forks)
            for station in stations_in_order(line)
            if station["key"] not in (*children, *chosen) and not _is_start(station, line)
        ],
    }


def _is_start(station: Json, line: Json) -> bool:
    """The station that a reader put before a fork that begins a playbook."""
    rules = station.get("rules") or []
    return (
        station["work"]["kind"] == "noop"
        and station is stations_in_order(line)[0]
        and len(rules) == 1
        and isinstance(rules[0]["to"], list)
    )


def _station_without_its_join(station: Json, line: Json) -> Json:
    """A stage of a parallel one ends its branch by leading nowhere."""
    joins = [
        other["key"]
        for other in line["stations"]
        if station["key"] in (other.get("join") or {}).get("wait_for", ())
    ]
    rules = [
        rule for rule in station.get("rules") or [] if rule.get("when") is not None or rule["to"] not in joins
    ]
    return {**station, "rules": rules}


def _stage_by_fork(line: Json) -> dict[tuple[str, ...], str]:
    """Return, by the stations that a fork enters, the stage that stands for it."""
    forks: dict[tuple[str, ...], str] = {}
    for station in line["stations"]:
        waits = (station.get("join") or {}).get("wait_for")
        if waits and stored_extra(station).get("type") == "parallel":
            forks[tuple(waits)] = original_name(station)
    for station in line["stations"]:
        waits = (station.get("join") or {}).get("wait_for")
        if waits:
            # A parallel stage stands for the fork before any other that joins it.
            forks.setdefault(tuple(waits), original_name(station))
    return forks


def _stage_document(
    station: Json,
    names: Mapping[str, str],
    gates: Mapping[str, Json],
    base: Any,
    forks: Mapping[tuple[str, ...], str],
) -> Json:
    stored = stored_extra(station)
    _system, prompt = system_and_prompt(station["work"])
    _base, instructions = system_and_prompt_split(prompt, base.strip() if isinstance(base, str) else "")
    skill = instructions.removeprefix(SKILL) if instructions.startswith(SKILL) else stored.get("skill") or ""
    made: Json = {**stored, "id": original_name(station)}
    made["skill"] = skill
    limits = station.get("limits") or {}
    made |= {field: round(limits[ours]) for field, ours in LIMITS.items() if limits.get(ours) is not None}
    # The ways of a loop are its own, and were kept.
    for way, verdict in WAYS if stored.get("type") != "loop" else WAYS[2:]:
        ways = (
            rule["to"]
            for rule in station.get("rules") or []
            if rule.get("when") in (None, {"verdict": verdict}, NEAREST[verdict])
        )
        target = next((_target_name_or_none(to, names, forks) for to in ways), None)
        if target is not None:
            made[way] = target
    gate = gates.get(str(station.get("gate")))
    if gate is not None:
        if gate.get("mode") in MODES:
            made["gateMode"] = MODES[gate["mode"]]
        elif checks := gate.get("checks"):
            made["rules"] = _gate_rules(checks, True)
    return made


def _target_name_or_none(
    to: Any, names: Mapping[str, str], forks: Mapping[tuple[str, ...], str]
) -> str | None:
    if isinstance(to, list):
        return forks.get(tuple(to))
    return names.get(to)


def _gate_rules(group: Json, outermost: bool = False) -> Any:
    if "field" in group:
        check = {
            key: group[key] for key in ("field", "operator", "value", "severity", "label") if key in group
        }
        return {"severity": "required", **check, "onFail": group.get("action", "hold")}
    [(logic, members)] = group.items()
    rules = [_gate_rules(member) for member in members]
    return (
        rules
        if outermost and logic == "all"
        else {"logic": "OR" if logic == "any" else "AND", "rules": rules}
    )
