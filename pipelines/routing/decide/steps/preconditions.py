"""Preconditions of a forward move (law §8, AEEF E14); each missing one is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pipelines.routing.basics.values import MISSING
from pipelines.routing.decide.decisions import Wait
from pipelines.routing.decide.steps.routing_context import RoutingContext, TransitionCandidate
from pipelines.routing.document import handoffs
from pipelines.routing.document.preconditions import AGENT, GATE_PASSED, HANDOFF, METADATA

NO_ESCALATION = "no_open_escalation"
Missing = tuple[str, str]
"""The name, and why."""


def wait_with_unmet_preconditions_or_none(
    routing: RoutingContext, candidate: TransitionCandidate
) -> Wait | None:
    """Return the wait for the unmet preconditions of a forward move, or None. They are the requirements of the
    station in its order, what the facts report as unmet, then `no_open_escalation`."""
    facts = routing.of_now.facts
    if not (
        facts.preconditions or facts.open_escalations or routing.line.requirements_of(routing.station.key)
    ):
        return None
    # The way back is always open: a precondition guards what comes next
    forward = [target for target in candidate.targets if _is_forward(routing, target)]
    if not forward:
        return None
    unmet_requirements = [*_unmet_requirements(routing, forward), *_unmet_facts(routing)]
    if facts.open_escalations:
        unmet_requirements.append((NO_ESCALATION, ""))
    if not unmet_requirements:
        return None
    names = tuple(dict.fromkeys(name for name, _ in unmet_requirements))
    whys = ", ".join(f"{name} ({why})" if why else name for name, why in dict(unmet_requirements).items())
    routing.add_trace_entry("target", candidate.rule, False, f"missing: {whys}")
    return Wait("held", to=candidate.targets, rule=candidate.rule_id, missing=names)


def _is_forward(routing: RoutingContext, target: str) -> bool:
    """Return whether the move leads to a station later in the order, or to a completed end."""
    if target in routing.line.stations_by_key:
        return routing.line.index_of_station(target) > routing.line.index_of_station(routing.station.key)
    return target in routing.line.ends_by_key and routing.line.end(target).kind == "completed"


def _unmet_facts(routing: RoutingContext) -> Iterator[Missing]:
    """Yield the unmet preconditions that the facts report and nobody checks here."""
    yield from ((name, "") for name, satisfied in routing.of_now.facts.preconditions.items() if not satisfied)


def _unmet_requirements(routing: RoutingContext, forward: list[str]) -> Iterator[Missing]:
    """A fact that says so settles it, one way or the other; else it is looked up."""
    for name in routing.line.requirements_of(routing.station.key):
        if routing.of_now.facts.preconditions.get(name) is None:
            yield from _unmet_requirement(routing, name, forward)


def _unmet_requirement(routing: RoutingContext, name: str, forward: list[str]) -> Iterator[Missing]:
    into = [target for target in forward if target in routing.line.stations_by_key]
    if name == GATE_PASSED:
        if routing.station.gate is not None and not routing.gate_passed:
            yield name, f"{routing.station.gate} was not passed"
    elif name == HANDOFF:
        faults = _handoff_faults(routing) if into else ()
        if faults:
            yield name, "; ".join(map(str, faults[:3]))
    elif name == AGENT:
        yield from _unavailable_agents(routing, into)
    elif not _is_present(routing, name.removeprefix(METADATA)):
        yield name, "is not given"


def _handoff_faults(routing: RoutingContext) -> tuple[Any, ...]:
    """Return the faults of the handoff of the station; at an end there is no recipient."""
    schema = routing.line.handoff_schema(routing.station.key)
    return handoffs.handoff_faults(routing.situation.outcome.handoff, schema)


def _unavailable_agents(routing: RoutingContext, into: list[str]) -> Iterator[Missing]:
    """Yield the agents of the targets that are not registered, have no valid contract, are suspended, or have no
    capacity for all branches where they work. A token that waits at a join needs none."""
    source = routing.station.key
    entered = [
        routing.line.station(target)
        for target in into
        if not routing.line.does_token_wait_at_join(target, source)
    ]
    # The second agent of a station does no job there, and takes no place.
    agent_counts = Counter({agent: 0 for station in entered for agent in station.agents})
    agent_counts.update(station.agent for station in entered if station.agent)
    # `n`: jobs that this move begins for the agent
    for key, n in agent_counts.items():
        fact = routing.of_now.facts.agents.get(key)
        if fact is None:
            yield f"agent:{key}", "is not registered"
        elif fact.state != "available":
            yield f"agent:{key}", STATES[fact.state]
        elif fact.free is not None and fact.free < n:
            yield f"agent:{key}", "has no free capacity"


STATES = {"suspended": "is suspended", "no_contract": "has no valid contract"}


def _is_present(routing: RoutingContext, name: str) -> bool:
    """Return whether `name` is present: in the output or its `ai_metadata`, the handoff, the trailers of all
    new commits (`git.ai_metadata`), the data of the task, or as a label `name` or `name: value`."""
    outcome, facts = routing.situation.outcome, routing.of_now.facts
    places = (outcome.output, outcome.handoff, outcome.git, facts.context, facts.variables, facts.inputs)
    if any(_has_value(place, name) for place in places):
        return True
    labels = facts.task.get("labels") or ()
    return any(type(label) is str and label.partition(":")[0].strip() == name for label in labels)


def _has_value(place: Any, name: str) -> bool:
    if place is MISSING or not hasattr(place, "get"):
        return False
    value = place.get(name)
    # What is empty is not given; False and 0 are.
    if value in (None, "", [], {}):
        inner = place.get("ai_metadata")
        value = inner.get(name) if hasattr(inner, "get") else None
    return value not in (None, "", [], {})
