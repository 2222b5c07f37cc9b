"""A task as an execution of Vibe Factory. It ends for good here and is retried as a linked task (law §12): the number
of the first leads to the latest, and its station executions are those of all of them, in order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel

from pipelines.formats.foreign.vibe_factory.reader import REVIEW
from pipelines.models import ENDED, Job, Purpose, Status, Task, Token
from pipelines.queries import versions

RUNNING: Final = "running"
COMPLETED: Final = "completed"
IN_REVIEW: Final = [REVIEW["key"]]
OF_JOB: Final = {Job.State.QUEUED: "pending", Job.State.RUNNING: RUNNING}
OF_RESULT: Final = {"success": "completed"}


class ExecutionOut(BaseModel):
    """`task_id`: the task that was begun. `task_attempt_id`: the one that goes on with it; another after a retry."""

    id: str
    workflow_id: str
    task_id: str
    task_attempt_id: str
    current_station_id: str | None
    status: str
    error: str | None
    started_at: datetime
    completed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class StationExecutionOut(BaseModel):
    """`output_data`: JSON, as text."""

    id: str
    workflow_execution_id: str
    station_id: str
    station_name: str
    status: str
    output_data: str | None
    attempt_number: int
    started_at: datetime | None
    completed_at: datetime | None


@dataclass(frozen=True)
class Execution:
    """`chain`: the task, and what retried it, one after the other."""

    asked: str
    chain: tuple[Task, ...]

    @classmethod
    def of(cls, task: Task) -> Execution:
        return cls(task.name, tuple(_retry_chain(task)))

    @property
    def task(self) -> Task:
        """The latest: what happens now happens to it."""
        return self.chain[-1]

    @property
    def status(self) -> str:
        """Status of the execution. A task that waits for somebody still runs there (C17), but a task in
        review has an execution that is over (C16)."""
        if self.task.status in ENDED:
            return str(self.task.status)
        living = self._living_tokens()
        return (
            COMPLETED if living and all(token.wait.get("gates") == IN_REVIEW for token in living) else RUNNING
        )

    def _living_tokens(self) -> list[Token]:
        tokens = self.task.tokens.order_by("pk")
        return [token for token in tokens if token.ended_at is None and not token.forked]

    def jobs(self) -> list[Job]:
        station_jobs = Job.objects.filter(task__in=[task.pk for task in self.chain], purpose=Purpose.STATION)
        return list(station_jobs.select_related("token").order_by("pk"))

    def find_job(self, job_id: str) -> Job | None:
        return next((job for job in self.jobs() if str(job.pk) == job_id), None)

    def to_out(self) -> ExecutionOut:
        task, first = self.task, self.chain[0]
        living, status = self._living_tokens(), self.status
        last = task.jobs.filter(purpose=Purpose.STATION).order_by("-pk").first()
        at = living[0].station if living else last.station if last else ""
        return ExecutionOut(
            id=self.asked,
            workflow_id=workflow_id(task),
            task_id=first.name,
            task_attempt_id=task.name,
            current_station_id=station_id(task.pinned_id, at) if at else None,
            status=status,
            error=task.error or next((token.error for token in living if token.error), None),
            started_at=first.created_at,
            # In review an execution is over (C16), and its task has not ended yet
            completed_at=task.ended_at or (task.changed_at if status == COMPLETED else None),
            created_at=first.created_at,
            updated_at=task.changed_at,
        )

    def station_executions(self) -> list[StationExecutionOut]:
        return [
            StationExecutionOut(
                id=str(job.pk),
                workflow_execution_id=self.asked,
                station_id=station_id(job.pinned_id, job.station),
                station_name=_station_name(job),
                status=self.job_status(job),
                output_data=_output_text_or_none(job.outcome),
                attempt_number=number,
                started_at=job.started_at,
                completed_at=job.ended_at,
            )
            for number, job in enumerate(self.jobs(), start=1)
        ]

    def job_status(self, job: Job) -> str:
        if job.state != Job.State.DONE:
            return OF_JOB[Job.State(job.state)]
        # By somebody alone: a time-out or a lost worker is a failure for its clients, which they may retry
        by_hand = job.result == "cancelled" and (job.outcome or {}).get("reason") == "manual"
        return "cancelled" if by_hand else OF_RESULT.get(job.result, "failed")


def _retry_chain(task: Task) -> list[Task]:
    chain = [task]
    while True:
        after = Task.objects.filter(follows=chain[-1], retry_of__isnull=False, fork_event=None)
        # Of several retries of one task the latest counts.
        last = after.select_related("project__owner", "line", "pinned").order_by("-pk").first()
        if last is None:
            return chain
        chain.append(last)


def workflow_id(task: Task) -> str:
    project = task.line.project
    return f"{project.owner.key}:{project.key}:{task.line.key}"


def station_id(pinned: int, key: str) -> str:
    """Return the station's id in the imported document, if there was one."""
    station = versions.parsed_line_by_version_id(pinned).stations_by_key.get(key)
    source_id = station.extra.get("id") if station and isinstance(station.extra, dict) else None
    return source_id if isinstance(source_id, str) and source_id else key


def _station_name(job: Job) -> str:
    station = versions.parsed_line_by_version_id(job.pinned_id).stations_by_key.get(job.station)
    return station.name if station else job.station


def _output_text_or_none(outcome: dict[str, Any] | None) -> str | None:
    output = (outcome or {}).get("output")
    return None if output is None else json.dumps(output, ensure_ascii=False)


def is_task_failed(task: Task) -> bool:
    return task.status == Status.FAILED
