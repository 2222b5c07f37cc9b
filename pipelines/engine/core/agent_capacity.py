"""The agents of the tasks that one transaction moves: how much more each takes, and who waits for one that is free.

Capacity is taken by an open job, so it is reserved by the move that opens the job. The agent's row is locked, after
the tasks', by whoever reads what is free and by whoever frees some: of two moves only one gets the last place, and
nobody who waits is overlooked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Count

from pipelines.engine.core.transaction import LockedTasks
from pipelines.engine.statements import WAKE_WAITING
from pipelines.models import Agent, Deadlock, Job, Status, Task
from pipelines.models.plumbing.compiled_queries import execute
from pipelines.ports import due_notices, queue
from pipelines.queries import versions

Name = tuple[int, str]
"""Project and key."""
FACTS = "facts"
"""The kind of due time at which a token that is held is decided again."""
MISSING = "agent:"
# Jobs that are offered at once, at most
# The workers' sweep finds the rest without a ticket (claimable.unattended_jobs)
TICKETS = 100


class Agents:
    """Agents of one batch. Nothing is read for tasks whose lines name no agent."""

    def __init__(self, batch: LockedTasks) -> None:
        self.batch = batch
        self._rows: dict[Name, Agent | None] = {}
        self._elsewhere: dict[Name, int] = {}
        self._freed: set[Name] = set()

    def facts_by_agent_key(self, task: Task, keys: Iterable[str]) -> dict[str, Any]:
        """Return the facts of the registered agents, as a decision reads them (docs/rules.md, Facts)."""
        names = [(task.project_id, key) for key in keys]
        self._load_agents(names)
        rows = {name: agent for name in names if (agent := self._rows[name]) is not None}
        return {
            key: self._availability_fact_of_agent((project, key), agent)
            for (project, key), agent in rows.items()
        }

    def _availability_fact_of_agent(self, name: Name, agent: Agent) -> dict[str, Any]:
        state = "available"
        if agent.suspended_at is not None:
            state = "suspended"
        elif not agent.has_contract(self.batch.now):
            state = "no_contract"
        # Without a limit nothing has to be counted
        if agent.capacity is None:
            return {"state": state}
        return {"state": state, "free": max(0, agent.capacity - self._count_open_jobs(name))}

    def agent_may_start_job(self, task: Task, job: Job) -> bool:
        """Return whether the job's agent may begin another job: not while it is suspended or party to a
        deadlock (AEEF E23), nor beyond its capacity."""
        if not job.agent:
            return True
        name = (task.project_id, job.agent)
        if _is_agent_in_open_deadlock(*name):
            return False
        self._load_agents([name])
        agent = self._rows[name]
        # Whether it is registered is a precondition (law §8), which not every line has
        if agent is None:
            return True
        if agent.suspended_at is not None:
            return False
        return agent.capacity is None or self._count_running_jobs(name) < agent.capacity

    def give_back_agent_place(self, task: Task, job: Job) -> None:
        """Give back the place that the job took at its agent: somebody else may have it."""
        if job.agent:
            name = (task.project_id, job.agent)
            self._load_agents([name])
            # Only noted: who waits for it is decided at the end, when this move may have taken the place
            # again
            self._freed.add(name)

    def mark_agents_freed_from_deadlock(self, project: int, keys: Iterable[str]) -> None:
        """Mark agents as free whose deadlock is resolved; they got no work while it was open."""
        self._freed.update((project, key) for key in keys)

    def registered_agents_by_key(self, task: Task, keys: Iterable[str]) -> dict[str, Agent]:
        """Return the locked agents of the task's project that have one of these keys."""
        names = [(task.project_id, key) for key in keys]
        self._load_agents(names)
        return {key: agent for _project, key in names if (agent := self._rows[_project, key]) is not None}

    def trust_level(self, task: Task, key: str, station: str) -> int | None:
        """Return how far the agent is trusted at this station; None where there is no such agent."""
        if not key:
            return None
        name = (task.project_id, key)
        self._load_agents([name])
        agent = self._rows[name]
        return agent.trust_level_at(station) if agent is not None else None

    def wake_waiters_of_freed_agents(self, opened: Collection[int]) -> None:
        """Decide again for everybody who waits for an agent that is free now, branches of the same task
        included.

        `opened`: jobs of this batch, which are offered already.
        """
        # Sorted, so that two moves which free the same agents write in one order
        for project, key in sorted(self._freed):
            wake_tokens_and_jobs_of_agent(project, key, opened)

    def _count_open_jobs(self, name: Name) -> int:
        project, key = name
        here = (job for job in self.batch.jobs.values() if job.agent == key and job.state != Job.State.DONE)
        return self._elsewhere[name] + sum(
            self.batch.tasks[job.task_id].project_id == project for job in here
        )

    def _count_running_jobs(self, name: Name) -> int:
        project, key = name
        running = Job.objects.filter(agent=key, task__project=project, state=Job.State.RUNNING)
        here = (
            job for job in self.batch.jobs.values() if job.agent == key and job.state == Job.State.RUNNING
        )
        # Those of this batch are counted in memory, where they may have changed since.
        return running.exclude(task__in=self.batch.tasks).count() + sum(
            self.batch.tasks[job.task_id].project_id == project for job in here
        )

    def _load_agents(self, names: Iterable[Name]) -> None:
        """Load, at the first need, all that the tasks of the batch could need, in one order, so that no two
        wait for each other."""
        if all(name in self._rows for name in names):
            return
        missing = {*names, *self._names_of_agents_in_lines_of_tasks()} - self._rows.keys()
        projects, keys = {project for project, _ in missing}, {key for _, key in missing}
        rows = Agent.objects.filter(project__in=projects, key__in=keys).order_by("pk")
        # FOR NO KEY UPDATE, so that rows which refer to an agent can be written meanwhile
        by_name = {(agent.project_id, agent.key): agent for agent in rows.select_for_update(no_key=True)}
        # Without those of this batch: they are counted in memory (`_count_open_jobs`), where they may have changed
        counted = (
            Job.objects.filter(agent__in=keys, task__project__in=projects)
            .exclude(state=Job.State.DONE)
            .exclude(task__in=self.batch.tasks)
            .values_list("task__project", "agent")
            .annotate(n=Count("pk"))
        )
        open_jobs = {(project, key): n for project, key, n in counted.order_by()}
        for name in missing:
            self._rows[name] = by_name.get(name)
            self._elsewhere[name] = open_jobs.get(name, 0)

    def _names_of_agents_in_lines_of_tasks(self) -> Iterable[Name]:
        for task in self.batch.tasks.values():
            for key in versions.parsed_line_by_version_id(task.pinned_id).agents:
                yield task.project_id, key


def _is_agent_in_open_deadlock(project: int, key: str) -> bool:
    deadlocks = Deadlock.objects.filter(state=Deadlock.State.OPEN, agents__contains=[key])
    return deadlocks.filter(task__project=project).exists()


def wake_tokens_and_jobs_of_agent(project: int, key: str, opened: Collection[int] = ()) -> None:
    """Decide the tokens again that are held for this agent, and offer its queued jobs again. `opened`: jobs
    that are offered already."""
    if execute(WAKE_WAITING, {"kind": FACTS, "project": project, "missing": f"{MISSING}{key}"}):
        due_notices.announce_due_times_on_commit()
    queued = Job.objects.filter(agent=key, task__project=project, state=Job.State.QUEUED)
    offered = queued.filter(token__status=Status.QUEUED).exclude(pk__in=opened).order_by("pk")
    queue.enqueue_token_tickets(offered.values_list("token_id", flat=True)[:TICKETS])
