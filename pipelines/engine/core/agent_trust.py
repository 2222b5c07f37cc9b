"""Trust levels of agents at stations: raised by a person, lowered by the engine once something went wrong (law §15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.engine.core.agent_capacity import Agents
from pipelines.engine.core.values import ENGINE, Actor
from pipelines.models import Agent, AgentEvent, Job, Purpose, Task
from pipelines.ports import observers
from pipelines.routing.sentences.trust import lowered_trust_sentence

LOWERED, RAISED = "lowered", "raised"
Work = Sequence[tuple[str, str]]
"""Keys of agents, each with a station where it worked."""


def set_trust_level(
    agent: Agent, station: str, level: int, kind: str, actor: Actor, now: datetime, **evidence: Any
) -> None:
    """Store the level and its event. The caller has locked the agent."""
    agent.trust = {**agent.trust, station: level}
    agent.save(update_fields=["trust"])
    data = {"trust": agent.trust, "station": station, **evidence}
    AgentEvent.objects.create(agent=agent, kind=kind, actor=str(actor), at=now, data=data)


def agents_and_stations_of(task: Task) -> Work:
    """Return the agents that have ended a run for the task, with their stations, in one order."""
    runs = Job.objects.filter(task=task, purpose=Purpose.STATION, state=Job.State.DONE).exclude(agent="")
    return list(runs.order_by("agent", "station").values_list("agent", "station").distinct())


def lower_trust_after(agents: Agents, task: Task, work: Work, cause: str, now: datetime) -> None:
    """Let those who did this work on the task fall back by one level where they did it."""
    if work:
        registered = agents.registered_agents_by_key(task, {agent for agent, _station in work})
        _lower_levels(task, work, registered, cause, now)


def lower_trust_after_revert(tasks: Iterable[Task], cause: str, now: datetime) -> None:
    """Let those who worked on these tasks, whose changes were reverted, fall back by one level where they did."""
    for task in tasks:
        if work := agents_and_stations_of(task):
            rows = Agent.objects.filter(project=task.project_id, key__in={agent for agent, _station in work})
            # In the order in which moves lock agents
            agents = {agent.key: agent for agent in rows.order_by("pk").select_for_update(no_key=True)}
            _lower_levels(task, work, agents, cause, now)


def _lower_levels(task: Task, work: Work, agents: Mapping[str, Agent], cause: str, now: datetime) -> None:
    for key, station in work:
        agent = agents.get(key)
        level = agent.trust_level_at(station) if agent else 0
        if not agent or not level or _has_lowered(task, agent, station):
            continue
        reason = lowered_trust_sentence(station, level, cause, task.name)
        evidence = {"task": task.name, "cause": cause, "reason": reason}
        set_trust_level(agent, station, level - 1, LOWERED, ENGINE, now, **evidence)
        observers.emit_consequences(
            observers.TrustLowered(agent.pk, str(agent), agent.project_id, agent.owner_id, reason, now)
        )


def _has_lowered(task: Task, agent: Agent, station: str) -> bool:
    """A task lowers a level once, however many causes it gives."""
    known = {"station": station, "task": task.name}
    return agent.events.filter(kind=LOWERED, data__contains=known).exists()
