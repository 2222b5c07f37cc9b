"""A task as it was at one moment of its past, over HTTP: what its page shows there."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from pydantic import BaseModel

from pipelines.api.auth import Request
from pipelines.api.forks import EventNumber
from pipelines.api.lookup import TASK, Operations, costly_operation
from pipelines.errors import Invalid
from pipelines.models import ENDED, Task
from pipelines.queries.task_view import TaskView
from pipelines.web.tasks.task_moment import DisplayedMoment, PastFiles, displayed_moment

router = Operations("tasks")


class PastPositionOut(BaseModel):
    """Position of then: the token, where it stood, and the gates that asked there. `end`: where it had ended."""

    position: int
    station: str
    status: str
    gates: list[str]
    end: str | None


class PastFactOut(BaseModel):
    fact: str
    by: str


class PastFileOut(BaseModel):
    path: str
    change: str
    added: int | None
    removed: int | None


class PastFilesOut(BaseModel):
    """Files of a branch. `changed`: since it began; `more`: how many are not listed."""

    station: str
    tree: str
    changed: list[PastFileOut]
    more: int


class MomentOut(BaseModel):
    """Task at one moment: after the event number `at`, and all others of that instant. `before` and `after`: where the
    moments beside it are; `visits`: {station: how often it was visited by then}; `cost` in dollars, null where nothing
    had a price; `commit`: the last one of its branch."""

    at: int
    moment: datetime
    before: int | None
    after: int | None
    version: int
    status: str
    display_status: str
    positions: list[PastPositionOut]
    visits: dict[str, int]
    context: dict[str, Any]
    cost: float | None
    facts: list[PastFactOut]
    commit: str | None
    files: list[PastFilesOut]


@router.get(TASK + "/moment", response=MomentOut, summary="Look at a task as it was")
@costly_operation
def show_task_at_moment(request: Request, task: Task, at: EventNumber | None = None) -> MomentOut:
    """Return the task as it was right after the event number `at`, now where that is left out: folded from its events,
    so that it is what anybody saw then."""
    view = TaskView(task, timezone.now())
    view.read_rows()
    last = len(view.events)
    if at is not None and at > last:
        raise Invalid.at("at", f"is not an event of {task.name}", f"Use a number from 1 to {last}.")
    return _moment_out(displayed_moment(view, at or last))


def _moment_out(displayed: DisplayedMoment) -> MomentOut:
    past, place = displayed.view, displayed.step - 1
    return MomentOut(
        at=displayed.number,
        moment=displayed.at,
        before=displayed.steps[place - 1] if place else None,
        after=displayed.steps[place + 1] if place + 1 < len(displayed.steps) else None,
        version=past.task.pinned.number,
        status=past.task.status,
        display_status=past.task.display_status,
        positions=_positions_out(past),
        visits=past.task.visits,
        context=past.task.context,
        cost=None if past.spending.cost is None else float(past.spending.cost),
        facts=[PastFactOut(fact=row.words, by=row.by) for row in displayed.facts],
        commit=displayed.commit.head if displayed.commit else None,
        files=[_files_out(files) for files in displayed.files],
    )


def _positions_out(task_view: TaskView) -> list[PastPositionOut]:
    """Return the positions that lived then; where none did, those that had ended."""
    # A forked position lives in its branches, and a joined one in what they became
    positions = [token for token in task_view.tokens if not token.forked and not token.joined_id]
    living = [token for token in positions if token.status not in ENDED]
    return [
        PastPositionOut(
            position=token.pk,
            station=token.station,
            status=token.status,
            gates=[visit.gate for visit in task_view.open_visits if visit.token_id == token.pk],
            end=token.end or None,
        )
        for token in living or positions
    ]


def _files_out(files: PastFiles) -> PastFilesOut:
    return PastFilesOut(
        station=files.station,
        tree=files.digest,
        changed=[
            PastFileOut(path=file.path, change=file.change.change, added=file.added, removed=file.removed)
            for file in files.changed
        ],
        more=files.more,
    )
