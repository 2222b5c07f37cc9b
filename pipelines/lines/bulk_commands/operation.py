"""Commands for many tasks, as operations of a person: made, confirmed, stopped, looked up, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from pipelines import access
from pipelines.access import Who
from pipelines.engine import SUCCESS
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound, first_row_or_raise_not_found
from pipelines.lines.bulk_commands.selection import BulkSelection
from pipelines.models import ApiToken, BulkCommand, BulkEntry, Project, Task, Token, User
from pipelines.ports import clock, queue
from pipelines.ports.queue_tasks import BULK, WORK_ON_BULK

Action, State, Result = BulkCommand.BulkAction, BulkCommand.BulkState, BulkEntry.BulkResult
UNDER_WAY = (State.PLANNING, State.PLANNED, State.RUNNING)
RETENTION = timedelta(days=90)
"""For how long the results of a command stay readable."""
EXPIRED_AT_ONCE = 20
REASON = 2_000
NO_PERMISSION = "You don’t have permission to do this in its project."


@dataclass(frozen=True)
class BulkRequest:
    """Request of a command. `to`: of a move, a station or SUCCESS; `stops`: of a pause, whether running work is taken
    back."""

    action: str
    to: str = ""
    reason: str = ""
    stops: bool = False


def create_bulk_command(who: Who, user: User, request: BulkRequest, selection: BulkSelection) -> BulkCommand:
    """Note what is to be done, and have it planned. Nothing happens to a task before it is started. `who`: the person,
    or a token of theirs: where that may not change a task, it is refused. Raises Invalid (path `action`, `to`,
    `reason`)."""
    _check_request(request)
    now = clock.now()
    with transaction.atomic():
        command = BulkCommand.objects.create(
            by=user,
            action=request.action,
            to=request.to,
            reason=request.reason.strip(),
            stops=request.stops and request.action == Action.PAUSE,
            left_out=selection.left_out,
            created_at=now,
        )
        entries = _unsaved_entries(command, selection)
        may = {
            pk: access.is_permitted(who, "operate", project)
            for pk, project in _project_by_id_of_selection(selection).items()
        }
        for entry in entries:
            if not may[entry.task.project_id]:
                entry.result, entry.detail, entry.at = Result.REFUSED, NO_PERMISSION, now
        BulkEntry.objects.bulk_create(entries)
        _enqueue_work_on_bulk(command)
    return command


def start_bulk_command(command: BulkCommand, who: Who, reason: str | None = None) -> BulkCommand:
    """Begin what was planned. `reason`: in place of the one that it was planned with. Raises Conflict (it is still
    being planned; it was started or stopped already; nothing of it can be done), Forbidden (a token that may not
    change all of these tasks)."""
    _require_token_reaches_all_tasks(command, who)
    payload.checked_text(reason or "", "reason", REASON)
    with transaction.atomic():
        row = BulkCommand.objects.select_for_update(of=("self",)).get(pk=command.pk)
        if row.state == State.PLANNING:
            raise Conflict("It is still being planned.")
        if row.state != State.PLANNED:
            raise Conflict("It was started or stopped already.")
        if not row.entries.filter(result=Result.PLANNED).exists():
            raise Conflict("Nothing of it can be done. The list says why.")
        row.state = State.RUNNING
        row.reason = row.reason if reason is None else reason.strip()
        row.save(update_fields=["state", "reason"])
        _enqueue_work_on_bulk(row)
    return row


def stop_bulk_command(command: BulkCommand, who: Who) -> BulkCommand:
    """Do no more of it; what is done stays done. Raises Conflict (it has ended), Forbidden (a token that may not change
    all of these tasks)."""
    _require_token_reaches_all_tasks(command, who)
    now = clock.now()
    with transaction.atomic():
        stopped = BulkCommand.objects.filter(pk=command.pk, state__in=UNDER_WAY).update(
            state=State.STOPPED, ended_at=now
        )
        if not stopped:
            raise Conflict("It has already ended.")
        # What is under way now is waited for, and keeps its result
        command.entries.filter(result__in=(Result.CHOSEN, Result.PLANNED)).update(result=Result.LEFT, at=now)
    command.refresh_from_db()
    return command


def delete_unstarted_bulk_command(command: BulkCommand) -> None:
    """Forget a plan that nobody started. Raises Conflict (it was started)."""
    with transaction.atomic():
        row = BulkCommand.objects.select_for_update().filter(pk=command.pk).first()
        if row is None or row.state not in (State.PLANNING, State.PLANNED):
            raise Conflict("It was started or stopped already.")
        row.entries.all().delete()
        row.delete()


def own_bulk_commands_newest_first(user: User) -> QuerySet[BulkCommand]:
    """Return the commands of a person, newest first, with how many entries of each ended how."""
    counts = {
        f"{result}_count": Count("entries", filter=Q(entries__result=result)) for result in Result.values
    }
    rows = BulkCommand.objects.filter(by=user).annotate(entry_count=Count("entries"), **counts)
    return rows.order_by("-created_at", "-pk")


def readable_bulk_commands(who: Who, user: User, most: int) -> list[BulkCommand]:
    """Return the newest commands of this person; for a token, of those that it sees whole."""
    rows = list(own_bulk_commands_newest_first(user)[:most])
    if not isinstance(who, ApiToken):
        return rows
    visible = {
        project.pk
        for project in access.visible_projects_with_owner(who)
        if access.is_permitted(who, "view", project)
    }
    entries = BulkEntry.objects.filter(command__in=[row.pk for row in rows]).order_by()
    hidden = set(entries.exclude(task__project__in=visible).values_list("command", flat=True))
    return [row for row in rows if row.pk not in hidden]


def get_bulk_command(who: Who, user: User, command_id: UUID) -> BulkCommand:
    """Return a command of this person. Raises NotFound, also where a token may not see all that it is about."""
    command = first_row_or_raise_not_found(own_bulk_commands_newest_first(user).filter(pk=command_id))
    if isinstance(who, ApiToken) and not all(
        access.is_permitted(who, "view", project) for project in _projects_of_command(command)
    ):
        raise NotFound
    return command


def delete_some_old_commands(now: datetime) -> int:
    """Delete some commands that were given more than RETENTION ago; how many."""
    old = BulkCommand.objects.filter(created_at__lt=now - RETENTION).order_by("created_at")
    ids = list(old.values_list("pk", flat=True)[:EXPIRED_AT_ONCE])
    BulkEntry.objects.filter(command__in=ids).delete()
    BulkCommand.objects.filter(pk__in=ids).delete()
    return len(ids)


def _check_request(request: BulkRequest) -> None:
    if request.action not in Action.values:
        raise Invalid.at("action", "is no command for many tasks", f"Use one of {', '.join(Action.values)}.")
    payload.checked_text(request.to, "to")
    payload.checked_text(request.reason, "reason", REASON)
    if request.action == Action.MOVE and not request.to:
        raise Invalid.at("to", "is missing", f"Name a station, or {SUCCESS} for where success leads.")
    if request.action != Action.MOVE and request.to:
        raise Invalid.at("to", "is only for a move")


def _unsaved_entries(command: BulkCommand, selection: BulkSelection) -> list[BulkEntry]:
    """Return an entry for each position that is meant; of a command about whole tasks, one for each task."""
    if not command.moves_positions:
        tasks = dict.fromkeys(task for task, _position in selection.rows)
        return [BulkEntry(command=command, task=task) for task in tasks]
    living = _living_position_ids_by_task([task for task, position in selection.rows if not position])
    rows: dict[tuple[int, int], BulkEntry] = {}
    for task, position in selection.rows:
        for token_id in [position] if position else living.get(task.pk, [0]):
            rows.setdefault((task.pk, token_id), BulkEntry(command=command, task=task, position=token_id))
    return list(rows.values())


def _living_position_ids_by_task(tasks: Sequence[Task]) -> dict[int, list[int]]:
    """Return the positions of each task that has any: whoever names a task means all of them."""
    rows = Token.objects.filter(task__in=[task.pk for task in tasks], forked=False, ended_at=None)
    positions: dict[int, list[int]] = {}
    for task_id, pk in rows.order_by("pk").values_list("task_id", "pk"):
        positions.setdefault(task_id, []).append(pk)
    return positions


def _project_by_id_of_selection(selection: BulkSelection) -> dict[int, Project]:
    return {task.project_id: task.project for task, _position in selection.rows}


def _projects_of_command(command: BulkCommand) -> list[Project]:
    ids = command.entries.order_by().values("task__project").distinct()
    return list(Project.objects.filter(pk__in=ids).select_related("owner"))


def _require_token_reaches_all_tasks(command: BulkCommand, who: Who) -> None:
    """A person is asked about each task when its turn comes; a token of theirs may reach less."""
    if isinstance(who, ApiToken) and not all(
        access.is_permitted(who, "operate", project) for project in _projects_of_command(command)
    ):
        raise Forbidden("This token may not change all of these tasks.")


def _enqueue_work_on_bulk(command: BulkCommand) -> None:
    queue.enqueue_queue_jobs(WORK_ON_BULK, BULK, {"command_id": str(command.pk)})
