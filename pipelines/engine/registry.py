"""The registry of agents: adding one, changing it, suspending it and restoring it; each with its line in the audit.

Who is suspended gets no new work; what it has begun goes on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection

from pipelines.engine import payload
from pipelines.engine.agents import wake
from pipelines.engine.errors import Conflict, Invalid, NotFound
from pipelines.engine.transaction import run
from pipelines.engine.values import Actor
from pipelines.models import Agent, AgentEvent, Project

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
    """`values`: fields of `FIELDS`, checked by whoever asks. Who waits for it is decided again. Raises Conflict (there
    is one of this key)."""
    return run(partial(_register, project, key, values, actor))


def _register(project: Project, key: str, values: Mapping[str, Any], actor: Actor) -> Agent:
    agent, made = Agent.objects.get_or_create(
        project=project, key=key, defaults={**values, "created_at": _now()}
    )
    if not made:
        raise Conflict("There is an agent with this key already.")
    audit(agent, actor, "added", **{name: _said(getattr(agent, name)) for name in FIELDS})
    wake(project.pk, key)
    return agent


def change_agent(agent_id: int, values: Mapping[str, Any], *, actor: Actor) -> Agent:
    """Raises NotFound."""
    return run(partial(_change, agent_id, values, actor))


def _change(agent_id: int, values: Mapping[str, Any], actor: Actor) -> Agent:
    agent = locked(agent_id)
    changed = {name: value for name, value in values.items() if getattr(agent, name) != value}
    if changed:
        for name, value in changed.items():
            setattr(agent, name, value)
        agent.save(update_fields=[name.removesuffix("_id") for name in changed])
        audit(agent, actor, "changed", **{name: _said(value) for name, value in changed.items()})
        wake(agent.project_id, agent.key)
    return agent


def _said(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def suspend(agent_id: int, *, actor: Actor, reason: str) -> Agent:
    """Raises NotFound, Invalid (path `reason`), Conflict (suspended already)."""
    if not payload.text(reason, "reason").strip():
        raise Invalid.at("reason", "A reason is needed.", "Say why; it is stored and shown.")
    return run(partial(_suspend, agent_id, actor, reason))


def _suspend(agent_id: int, actor: Actor, reason: str) -> Agent:
    agent = locked(agent_id)
    if agent.suspended_at is not None:
        raise Conflict("This agent is suspended already.", by=agent.suspended_by, at=agent.suspended_at)
    agent.suspended_at = _now()
    agent.suspended_by, agent.suspended_why = (actor.name or str(actor))[:200], reason
    _keep(agent, actor, "suspended", reason=reason)
    return agent


def restore(agent_id: int, *, actor: Actor) -> Agent:
    """It gets work again, and who waits for it goes on. Raises NotFound, Conflict (not suspended)."""
    return run(partial(_restore, agent_id, actor))


def _restore(agent_id: int, actor: Actor) -> Agent:
    agent = locked(agent_id)
    if agent.suspended_at is None:
        raise Conflict("This agent is not suspended.")
    agent.suspended_at, agent.suspended_by, agent.suspended_why = None, "", ""
    _keep(agent, actor, "restored")
    wake(agent.project_id, agent.key)
    return agent


def locked(agent_id: int) -> Agent:
    agent = Agent.objects.select_for_update(no_key=True).filter(pk=agent_id).first()
    if agent is None:
        raise NotFound()
    return agent


def _keep(agent: Agent, actor: Actor, kind: str, **data: str) -> None:
    agent.save(update_fields=["suspended_at", "suspended_by", "suspended_why"])
    audit(agent, actor, kind, **data)


def audit(agent: Agent, actor: Actor, kind: str, **data: object) -> None:
    """Who changed what; in the transaction of the change."""
    AgentEvent.objects.create(agent=agent, kind=kind, actor=str(actor), data=data, at=_now())


def _now() -> datetime:
    """The database's clock only (house §4)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now
