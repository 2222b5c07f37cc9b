"""The log of a station visit over HTTP: from a position on, so that it can be followed while the work runs."""

from __future__ import annotations

from dataclasses import replace

from ninja import Query
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.lookup import TASK, Operations
from pipelines.errors import NotFound
from pipelines.models import Job, Task
from pipelines.queries.retention import refuse_deleted_files
from pipelines.routing.basics.hidden_characters import escape_hidden
from pipelines.work import logs

router = Operations("tasks")


class LogOut(BaseModel):
    """`next`: where to go on, as `from`; `complete`: nothing more will come."""

    attempt: int
    lines: list[logs.LogLine]
    next: int
    complete: bool


@router.get(
    TASK + "/visits/{visit}/log",
    response=LogOut,
    summary="The log of a station visit",
)
def read_log_of_visit(
    request: Request,
    task: Task,
    visit: int,
    attempt: int = 0,
    position: int = Query(0, alias="from"),
) -> LogOut:
    """Return the log of the last attempt, or of the `attempt` with this number: the lines from the position
    `from` on, as many as are sent at once. Signs that steer a terminal are spelt out."""
    refuse_deleted_files(task)
    # Beyond a bigint PostgreSQL would refuse the number.
    job = Job.objects.filter(task=task, pk=visit).first() if 0 < visit < 2**63 else None
    if job is None or not 0 <= attempt <= job.attempt:
        raise NotFound
    # Far behind any end there is nothing new yet, which is an answer and no fault
    piece = logs.read_log_part(job, attempt or job.attempt, min(max(position, 0), 2**62))
    return LogOut(
        attempt=attempt or job.attempt,
        lines=[replace(log_line, text=escape_hidden(log_line.text)) for log_line in piece.lines],
        next=piece.next,
        complete=piece.complete,
    )
