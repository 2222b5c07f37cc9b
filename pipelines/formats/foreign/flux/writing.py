"""A playbook of Flux (D1…D21)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pipelines.formats.foreign.flux.reading import LIMITS, META_ROUTE, WAYS
from pipelines.formats.foreign.parts import Json, extra, in_order, name_in, parted, texts

OF_A_LOOP: Final = ("until", "maxIterations", "onComplete", "onExhausted")
MODES: Final = {"manual": "hold", "skip": "skip"}
NEAREST: Final = {
    "pass": {"result": "success"},
    "fail": {"result": "failure"},
    "blocked": {"result": "blocked"},
}
"""What a result is called there; that it is another word is found by reading it back."""
SKILL: Final = "Skill: "


def write(line: Json) -> Json:
    chosen = [each["key"] for each in line["stations"] if extra(each) == {"id": META_ROUTE}]
    names = {each["key"]: name_in(each) for each in line["stations"]} | dict.fromkeys(chosen, META_ROUTE)
    names |= {each["key"]: "complete" for each in line.get("ends") or [] if each["kind"] == "completed"}
    names |= {"completed": "complete", "@blocked": "blocked"}
    gates = {each["key"]: each for each in line.get("gates") or []}
    base = extra(line).get("prompt")
    forks = _forks(line)
    children = {key for each in line["stations"] if extra(each).get("type") == "parallel"
                for key in (each.get("join") or {}).get("wait_for", ())}  # fmt: skip
    return {
        **extra(line),
        "name": line.get("name") or line["key"],
        "description": line.get("description") or "",
        "prompt": base if isinstance(base, str) else "",
        "stages": [
            _stage(_without_its_join(each, line), names, gates, base, forks)
            for each in in_order(line)
            if each["key"] not in (*children, *chosen) and not _is_start(each, line)
        ],
    }


def _is_start(station: Json, line: Json) -> bool:
    """The station that a reader put before a fork that begins a playbook."""
    rules = station.get("rules") or []
    return (
        station["work"]["kind"] == "noop"
        and station is in_order(line)[0]
        and len(rules) == 1
        and isinstance(rules[0]["to"], list)
    )


def _without_its_join(station: Json, line: Json) -> Json:
    """A stage of a parallel one ends its branch by leading nowhere."""
    joins = [
        each["key"]
        for each in line["stations"]
        if station["key"] in (each.get("join") or {}).get("wait_for", ())
    ]
    rules = [
        rule for rule in station.get("rules") or [] if rule.get("when") is not None or rule["to"] not in joins
    ]
    return {**station, "rules": rules}


def _forks(line: Json) -> dict[tuple[str, ...], str]:
    """Of the stations that a fork enters, the stage that stands for it."""
    found: dict[tuple[str, ...], str] = {}
    for each in line["stations"]:
        waits = (each.get("join") or {}).get("wait_for")
        if waits and extra(each).get("type") == "parallel":
            found[tuple(waits)] = name_in(each)
    for each in line["stations"]:
        waits = (each.get("join") or {}).get("wait_for")
        if waits:
            found.setdefault(tuple(waits), name_in(each))
    return found


def _stage(
    station: Json,
    names: Mapping[str, str],
    gates: Mapping[str, Json],
    base: Any,
    forks: Mapping[tuple[str, ...], str],
) -> Json:
    kept = extra(station)
    _system, prompt = texts(station["work"])
    _base, said = parted(prompt, base.strip() if isinstance(base, str) else "")
    skill = said.removeprefix(SKILL) if said.startswith(SKILL) else kept.get("skill") or ""
    made: Json = {**kept, "id": name_in(station)}
    made["skill"] = skill
    limits = station.get("limits") or {}
    made |= {said: round(limits[ours]) for said, ours in LIMITS.items() if limits.get(ours)}
    # The ways of a loop are its own, and were kept.
    for way, verdict in WAYS if kept.get("type") != "loop" else WAYS[2:]:
        ways = (
            rule["to"]
            for rule in station.get("rules") or []
            if rule.get("when") in (None, {"verdict": verdict}, NEAREST[verdict])
        )
        target = next((_target(to, names, forks) for to in ways), None)
        if target is not None:
            made[way] = target
    gate = gates.get(str(station.get("gate")))
    if gate is not None:
        if gate.get("mode") in MODES:
            made["gateMode"] = MODES[gate["mode"]]
        elif checks := gate.get("checks"):
            made["rules"] = _group(checks, True)
    return made


def _target(to: Any, names: Mapping[str, str], forks: Mapping[tuple[str, ...], str]) -> str | None:
    if isinstance(to, list):
        return forks.get(tuple(to))
    return names.get(to)


def _group(given: Json, outermost: bool = False) -> Any:
    if "field" in given:
        check = {
            key: given[key] for key in ("field", "operator", "value", "severity", "label") if key in given
        }
        return {"severity": "required", **check, "onFail": given.get("action", "hold")}
    [(logic, members)] = given.items()
    rules = [_group(each) for each in members]
    return (
        rules
        if outermost and logic == "all"
        else {"logic": "OR" if logic == "any" else "AND", "rules": rules}
    )
