"""Invariants of agents: what they do at once (I18), what events tell of them (I11), and who waits for them
(I17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from pipelines.engine.core.agent_capacity import FACTS, MISSING
from pipelines.engine.core.unassigned import UNLEASED
from pipelines.engine.invariants.record_reading import task_records
from pipelines.models import Agent, AgentEvent, Deadlock, Job, Status
from pipelines.models.plumbing.compiled_queries import server_prepared
from pipelines.ports.clock import now
from pipelines.ports.observers import Violation


def agent_capacity_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I18: no agent has more jobs running than its capacity, unless the work is a person's or the capacity was lowered
    since they began."""
    counted = {(project, key): n for project, key, n in _running_job_counts()}
    # Most installations have no agent with a job: then nothing else is read
    if not counted:
        return
    for agent in Agent.objects.filter(
        capacity__isnull=False, project__in={project for project, _ in counted}
    ):
        n = counted.get((agent.project_id, agent.key), 0)
        if agent.capacity is not None and n > agent.capacity and not _was_capacity_ever_changed(agent):
            yield Violation(
                "I18", f"agent {agent.pk}", f"has {n} jobs running, its capacity is {agent.capacity}"
            )


@server_prepared()
def _running_job_counts() -> QuerySet[Job, tuple[Any, ...]]:
    work = Job.objects.filter(state=Job.State.RUNNING).exclude(agent="").exclude(kind__in=UNLEASED)
    return work.values_list("task__project", "agent").annotate(n=Count("pk")).order_by()


def _was_capacity_ever_changed(agent: Agent) -> bool:
    return agent.events.filter(kind="changed", data__has_key="capacity").exists()


def idle_agent_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I18: an agent that is suspended, or party to a deadlock, began no work since (AEEF E18, E23). People's is not
    given to it."""
    for record in task_records(task_ids, "jobs"):
        for job in record.jobs:
            if job.state != Job.State.RUNNING or not job.agent or job.kind in UNLEASED:
                continue
            suspended = Agent.objects.filter(
                project=record.task.project_id, key=job.agent, suspended_at__lt=job.started_at
            )
            if suspended.exists():
                yield record.violation("I18", f"job {job.pk} began while {job.agent} was suspended")
            locked = Deadlock.objects.filter(
                Q(resolved_at__isnull=True) | Q(resolved_at__gt=job.started_at),
                task__project=record.task.project_id,
                agents__contains=[job.agent],
                found_at__lt=job.started_at,
            )
            if locked.exists():
                yield record.violation("I18", f"job {job.pk} began during a deadlock of {job.agent}")


def suspension_audit_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I11: an agent is suspended exactly if the last entry of its audit record says so."""
    for event in _last_suspension_events():
        if (event.kind == "suspended") != (event.agent.suspended_at is not None):
            yield Violation(
                "I11", f"agent {event.agent_id}", f"was {event.kind} last, its row says otherwise"
            )


@server_prepared()
def _last_suspension_events() -> QuerySet[AgentEvent]:
    events = AgentEvent.objects.filter(kind__in=("suspended", "restored")).order_by("agent", "-pk")
    # DISTINCT ON keeps the first row of each agent, which is the newest event.
    return events.distinct("agent").select_related("agent")


def unwoken_agent_wait_violations(task_ids: Sequence[int] | None) -> Iterable[Violation]:
    """I17: a token that is held only for an agent which is free has a due time that decides it again."""
    for record in task_records(task_ids, "tokens", "dues"):
        notified = {due.token_id for due in record.dues if due.kind == FACTS}
        for token in record.tokens:
            missing: list[str] = token.wait.get("missing", []) if token.status == Status.HELD else []
            if len(missing) != 1 or not missing[0].startswith(MISSING) or token.pk in notified:
                continue
            if len(token.wait.get("to", ())) == 1 and _is_missing_agent_free(
                record.task.project_id, missing[0]
            ):
                yield record.violation("I17", f"token {token.pk} is held for {missing[0]}, which is free")


def _is_missing_agent_free(project: int, missing: str) -> bool:
    agent = Agent.objects.filter(project=project, key=missing.removeprefix(MISSING)).first()
    if agent is None or agent.suspended_at is not None or not agent.has_contract(now()):
        return False
    open_jobs = Job.objects.filter(task__project=project, agent=agent.key).exclude(state=Job.State.DONE)
    return agent.capacity is None or open_jobs.count() < agent.capacity
