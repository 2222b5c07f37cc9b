"""The registry of agents: adding, changing and trusting one, each recorded in the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.engine.commands.unanimous import decide_gates_all_have_approved_on_commit
from pipelines.engine.core.agent_capacity import wake_tokens_and_jobs_of_agent
from pipelines.engine.core.agent_trust import RAISED, set_trust_level
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor
from pipelines.engine.moves.agent_suspension import lock_agent, record_agent_event
from pipelines.errors import Conflict
from pipelines.models import Agent, Project
from pipelines.ports import observers
from pipelines.ports.clock import now

FIELDS = (
    "name",
    "owner_id",
    "contract_version",
    "allowed_inputs",
    "allowed_outputs",
    "forbidden_actions",
    "required_checks",
    "escalates_to",
    "valid_until",
    "capacity",
    "trust",
)


def register_agent(project: Project, key: str, values: Mapping[str, Any], *, actor: Actor) -> Agent:
    """`values`: fields of `FIELDS`, already checked by the caller. Tokens that wait for the agent are decided again.
    Raises Conflict (the key is taken)."""
    return run_in_transaction(partial(_register_agent, project, key, values, actor))


def _register_agent(project: Project, key: str, values: Mapping[str, Any], actor: Actor) -> Agent:
    agent, made = Agent.objects.get_or_create(
        project=project, key=key, defaults={**values, "created_at": now()}
    )
    if not made:
        raise Conflict("An agent with this key already exists.")
    record_agent_event(
        agent, actor, "added", **{name: _value_with_time_as_iso_text(getattr(agent, name)) for name in FIELDS}
    )
    _notify_agent_owner_unless_actor(agent, actor)
    # Tokens may be held because nobody of this name was registered
    wake_tokens_and_jobs_of_agent(project.pk, key)
    return agent


def change_agent(agent_id: int, values: Mapping[str, Any], *, actor: Actor) -> Agent:
    """Raises NotFound."""
    return run_in_transaction(partial(_change_agent, agent_id, values, actor))


def _change_agent(agent_id: int, values: Mapping[str, Any], actor: Actor) -> Agent:
    agent = lock_agent(agent_id)
    # A form that was saved as it was makes no event
    changed = {name: value for name, value in values.items() if getattr(agent, name) != value}
    if changed:
        for name, value in changed.items():
            setattr(agent, name, value)
        agent.save(update_fields=[name.removesuffix("_id") for name in changed])
        record_agent_event(
            agent,
            actor,
            "changed",
            **{name: _value_with_time_as_iso_text(value) for name, value in changed.items()},
        )
        if "owner_id" in changed:
            _notify_agent_owner_unless_actor(agent, actor)
            decide_gates_all_have_approved_on_commit(agent.project_id, now())
        wake_tokens_and_jobs_of_agent(agent.project_id, agent.key)
    return agent


def raise_trust_level(agent_id: int, station: str, level: int, *, reason: str, actor: Actor) -> Agent:
    """Let the agent have this level at the station, one above the one that it has. `reason`: the evidence, which the
    audit keeps. Raises NotFound, Conflict (it has another level meanwhile)."""
    return run_in_transaction(partial(_raise_trust_level, agent_id, station, level, reason, actor))


def _raise_trust_level(agent_id: int, station: str, level: int, reason: str, actor: Actor) -> Agent:
    agent = lock_agent(agent_id)
    if agent.trust_level_at(station) != level - 1:
        raise Conflict(f"{agent} has level {agent.trust_level_at(station)} at {station} now.")
    set_trust_level(agent, station, level, RAISED, actor, now(), reason=reason)
    return agent


def _notify_agent_owner_unless_actor(agent: Agent, actor: Actor) -> None:
    """Tell the owner, unless they assigned the agent to themselves."""
    if str(actor) != f"person:{agent.owner_id}":
        name = agent.name or agent.key
        observers.emit_consequences(
            observers.AgentHandedOver(agent.pk, name, agent.project_id, agent.owner_id, now())
        )


def _value_with_time_as_iso_text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
