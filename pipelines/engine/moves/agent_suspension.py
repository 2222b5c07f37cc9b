"""Suspending and restoring an agent. A suspended agent gets no new work; work that it has started continues."""

from __future__ import annotations

from functools import partial

from pipelines.engine.core import payload
from pipelines.engine.core.agent_capacity import wake_tokens_and_jobs_of_agent
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.models import Agent, AgentEvent
from pipelines.ports.clock import now


def suspend_agent(agent_id: int, *, actor: Actor, reason: str) -> Agent:
    """Raises NotFound, Invalid (path `reason`), Conflict (already suspended)."""
    if not payload.checked_text(reason, "reason").strip():
        raise Invalid.at("reason", "A reason is needed.", "Enter a reason. It is stored and shown.")
    return run_in_transaction(partial(_suspend, agent_id, actor, reason))


def _suspend(agent_id: int, actor: Actor, reason: str) -> Agent:
    agent = lock_agent(agent_id)
    if agent.suspended_at is not None:
        raise Conflict("This agent is already suspended.", by=agent.suspended_by, at=agent.suspended_at)
    agent.suspended_at = now()
    agent.suspended_by, agent.suspended_why = (actor.name or str(actor))[:200], reason
    _save_suspension(agent, actor, "suspended", reason=reason)
    return agent


def restore_agent(agent_id: int, *, actor: Actor) -> Agent:
    """The agent gets work again, and tokens that wait for it continue. Raises NotFound, Conflict (not suspended)."""
    return run_in_transaction(partial(_restore, agent_id, actor))


def _restore(agent_id: int, actor: Actor) -> Agent:
    agent = lock_agent(agent_id)
    if agent.suspended_at is None:
        raise Conflict("This agent is not suspended.")
    agent.suspended_at, agent.suspended_by, agent.suspended_why = None, "", ""
    _save_suspension(agent, actor, "restored")
    wake_tokens_and_jobs_of_agent(agent.project_id, agent.key)
    return agent


def lock_agent(agent_id: int) -> Agent:
    # NO KEY, so that rows which refer to the agent can be written meanwhile
    return first_row_or_raise_not_found(Agent.objects.select_for_update(no_key=True).filter(pk=agent_id))


def _save_suspension(agent: Agent, actor: Actor, kind: str, **data: str) -> None:
    agent.save(update_fields=["suspended_at", "suspended_by", "suspended_why"])
    record_agent_event(agent, actor, kind, **data)


def record_agent_event(agent: Agent, actor: Actor, kind: str, **data: object) -> None:
    """Record who changed what, in the same transaction."""
    AgentEvent.objects.create(agent=agent, kind=kind, actor=str(actor), data=data, at=now())
