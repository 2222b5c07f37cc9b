"""A script: a scenario that the real engine plays. It may say besides who plays what, and that
time passes; a scenario as it is is a script too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.routing.basics import values
from pipelines.routing.basics.durations import DurationError, parse_seconds
from pipelines.routing.basics.problems import Malformed, member_path
from pipelines.routing.simulate.scenario import ScenarioScript, ScenarioStep, read_scenario, read_step

AFTER = "after"
"""The kind of step that only the engine has: time passes."""

AGENTS = ("available", "busy", "suspended", "no_contract", "unknown")
"""How an agent may be; busy: without room for another job; unknown: it is not registered."""


@dataclass(frozen=True, slots=True)
class ScriptedPerson:
    """Made up for the script. `roles`: in the project."""

    roles: tuple[str, ...] = ("operator",)
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """One step. `kind`: of the scenario's, or AFTER. `by`: who plays it, "" for whoever may; `step`: what happens, None
    where only time does; `seconds`: that pass."""

    kind: str
    by: str = ""
    at: str | None = None
    step: ScenarioStep | None = None
    seconds: float = 0


@dataclass(frozen=True, slots=True)
class Script:
    """`scenario`: key, name, inputs, task and what is expected; its own steps are those of `played` that it knows.
    `agents`: how the agents that the stations name are, one of AGENTS, "available" where nothing is said."""

    scenario: ScenarioScript
    people: Mapping[str, ScriptedPerson]
    agents: Mapping[str, str]
    played: tuple[ScriptStep, ...]


def read_scripts(data: Any) -> tuple[Script, ...]:
    """One script, or a list of them. Raises Malformed with the place of the first fault."""
    if type(data) is dict:
        return (read_script(data),)
    found: dict[str, Script] = {}
    for index, each in enumerate(values.read_sequence(data, "")):
        script = read_script(each, f"[{index}]")
        if script.scenario.key in found:
            raise Malformed(f"[{index}].key", f"the key {script.scenario.key} appears twice")
        found[script.scenario.key] = script
    if not found:
        raise Malformed("", "has to be a script, or a list of them")
    return tuple(found.values())


def read_script(data: Any, at: str = "") -> Script:
    if type(data) is not dict:
        raise Malformed(at, "has to be an object")
    own = {key: value for key, value in data.items() if key not in ("people", "agents", "steps")}
    steps = values.read_sequence(data.get("steps"), member_path(at, "steps"))
    played = tuple(
        _played(step, member_path(member_path(at, "steps"), index)) for index, step in enumerate(steps)
    )
    known = [each.step.to_dict() for each in played if each.step is not None]
    people = values.read_mapping(data.get("people"), member_path(at, "people"))
    agents = values.read_mapping(data.get("agents"), member_path(at, "agents"))
    return Script(
        scenario=read_scenario({**own, "steps": known}, at),
        people={
            name: _person(said, member_path(member_path(at, "people"), name)) for name, said in people.items()
        },
        agents={
            key: values.read_word(said, member_path(member_path(at, "agents"), key), AGENTS) or AGENTS[0]
            for key, said in agents.items()
        },
        played=played,
    )


def _person(data: Any, at: str) -> ScriptedPerson:
    """`reviewer`, `{role: reviewer, groups: [security]}` or `{roles: [designer, reviewer]}`."""
    if type(data) is str:
        return ScriptedPerson((data,))
    found = values.read_mapping(data, at)
    values.check_keys(found, at, ("role", "roles", "groups"))
    role = values.read_text(found.get("role"), member_path(at, "role"))
    roles = ((role,) if role else ()) + _texts(found, at, "roles")
    return ScriptedPerson(roles or ScriptedPerson().roles, _texts(found, at, "groups"))


def _texts(found: Mapping[str, Any], at: str, key: str) -> tuple[str, ...]:
    place = member_path(at, key)
    members = values.read_sequence(found.get(key), place)
    return tuple(values.read_text(each, member_path(place, i)) or "" for i, each in enumerate(members))


def _played(data: Any, at: str) -> ScriptStep:
    if type(data) is not dict:
        raise Malformed(at, "has to be an object")
    by = values.read_text(data.get("by"), member_path(at, "by")) or ""
    rest = {key: value for key, value in data.items() if key != "by"}
    if rest.get(AFTER) is None:
        step = read_step(rest, at)
        return ScriptStep(step.kind, by, step.at, step)
    values.check_keys(rest, at, (AFTER,))
    return ScriptStep(AFTER, by, seconds=_seconds(rest[AFTER], member_path(at, AFTER)))


def _seconds(value: Any, at: str) -> float:
    try:
        return float(parse_seconds(value))
    except DurationError as fault:
        raise Malformed(at, str(fault)) from None
