"""Commands for many tasks over HTTP (law §17): planned, started by a call of its own, done in the background."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.utils import timezone
from pydantic import BaseModel, Field

from pipelines.api.auth import Request, require_person
from pipelines.api.lookup import CHANGES, Operations
from pipelines.api.schemas import StrictBody
from pipelines.errors import Invalid
from pipelines.lines import bulk_commands
from pipelines.lines.bulk_commands import BulkRequest, BulkSelection, BulkSummary, Chosen, EntryRow, Match
from pipelines.models import BulkCommand
from pipelines.queries.board import MOST_CHOSEN, SHOWS, Filters

router = Operations("bulk", CHANGES)
BULK = "/bulk-commands"
LISTED = 50


class ChosenTaskIn(StrictBody):
    """`task`: such as WI-app-42, or acme/WI-app-42 where several owners have such a project. `position`: the id of one
    of its positions; without it a move or retry is of all of them."""

    task: Annotated[str, Field(max_length=200)]
    position: Annotated[int, Field(ge=1, lt=2**63)] | None = None


class MatchingIn(StrictBody):
    """Filters of a board; without any: every open task that the caller may change. `project`: owner/project;
    `line`: its key, or owner/project/line; `q`: part of the title, or a number; `show`: running, queued, waiting,
    review, input, blocked, held, stuck or late; `requester`: "me"."""

    project: str = ""
    line: str = ""
    q: Annotated[str, Field(max_length=200)] = ""
    show: str = ""
    requester: str = ""


class BulkCommandIn(StrictBody):
    """`action`: move, retry, pause, resume or cancel. `to`: of a move, a station, or `@success` for where success
    leads. `stops`: of a pause, whether running work is taken back. Either `tasks` or `matching`."""

    action: str
    to: Annotated[str, Field(max_length=64)] = ""
    reason: str = ""
    stops: bool = False
    tasks: Annotated[list[ChosenTaskIn], Field(max_length=MOST_CHOSEN)] = []
    matching: MatchingIn | None = None


class BulkEntryOut(BaseModel):
    """Entry of the command for a task. `result`: chosen (not planned yet), planned, done, refused, or left (stopped
    before its turn). `detail`: why it was refused. `station`: where a move or retry brings it; `votes`: how many fall
    with it."""

    owner: str
    task: str
    position: int | None
    result: str
    detail: str
    station: str
    votes: int
    at: datetime | None

    @classmethod
    def of(cls, row: EntryRow) -> BulkEntryOut:
        entry = row.entry
        places = entry.plan.get("places") or [[""]]
        return cls(
            owner=entry.task.project.owner.key,
            task=entry.task.name,
            # 0 stands for the whole task: in a unique constraint NULL would be no value
            position=entry.position or None,
            result=entry.result,
            detail=entry.detail,
            station=places[0][0],
            votes=entry.plan.get("votes", 0),
            at=entry.at,
        )


class BulkCommandOut(BaseModel):
    """A command for many tasks. `state`: planning, planned (it waits to be started), running, stopped or finished.
    `counts`: its entries by result; `left_out`: how many matched besides. `plan`: what it does, in sentences."""

    id: UUID
    action: str
    to: str
    reason: str
    stops: bool
    state: str
    counts: dict[str, int]
    left_out: int
    created_at: datetime
    ended_at: datetime | None
    plan: list[str] = []
    entries: list[BulkEntryOut] | None = None

    @classmethod
    def of(cls, command: BulkCommand, summary: BulkSummary | None = None) -> BulkCommandOut:
        counts = (
            dict(summary.counts)
            if summary
            else {
                name: number
                for name in ("chosen", "planned", "done", "refused", "left")
                if (number := getattr(command, f"{name}_count"))
            }
        )
        return cls(
            id=command.pk,
            action=command.action,
            to=command.to,
            reason=command.reason,
            stops=command.stops,
            state=command.state,
            counts=counts,
            left_out=command.left_out,
            created_at=command.created_at,
            ended_at=command.ended_at,
            plan=[sentence for _icon, sentence in summary.sentences] if summary else [],
            entries=[BulkEntryOut.of(row) for row in summary.rows] if summary else None,
        )


@router.post(BULK, response={201: BulkCommandOut}, summary="Plan a command for many tasks")
def create_bulk_command(request: Request, payload: BulkCommandIn) -> BulkCommandOut:
    """Nothing happens to a task before the command is started. A runner plans it in the background; ask again until its
    `state` is planned."""
    user = require_person(request.auth)
    bulk_request = BulkRequest(payload.action, payload.to, payload.reason, payload.stops)
    command = bulk_commands.create_bulk_command(
        request.auth, user, bulk_request, _requested_selection(request, payload)
    )
    return _command_out(request, command.pk)


@router.get(BULK, response=list[BulkCommandOut], summary="List your commands for many tasks, newest first")
def list_bulk_commands(request: Request) -> list[BulkCommandOut]:
    """The newest 50, without their tasks."""
    user = require_person(request.auth)
    rows = bulk_commands.readable_bulk_commands(request.auth, user, LISTED)
    return [BulkCommandOut.of(row) for row in rows]


@router.get(BULK + "/{bulk}", response=BulkCommandOut, summary="Look at a command for many tasks")
def show_bulk_command(request: Request, bulk: UUID) -> BulkCommandOut:
    """Its plan, how far it is, and what became of each task; kept for 90 days."""
    return _command_out(request, bulk)


@router.post(BULK + "/{bulk}/start", response=BulkCommandOut, summary="Start what was planned")
def start_bulk_command(request: Request, bulk: UUID) -> BulkCommandOut:
    """Begins with what was planned: each task by a command of its own, in the background. One that somebody else
    moved since the plan is refused."""
    command = bulk_commands.get_bulk_command(request.auth, require_person(request.auth), bulk)
    bulk_commands.start_bulk_command(command, request.auth)
    return _command_out(request, bulk)


@router.post(BULK + "/{bulk}/stop", response=BulkCommandOut, summary="Stop a command for many tasks")
def stop_bulk_command(request: Request, bulk: UUID) -> BulkCommandOut:
    """Does no more of it; what is done stays done."""
    command = bulk_commands.get_bulk_command(request.auth, require_person(request.auth), bulk)
    bulk_commands.stop_bulk_command(command, request.auth)
    return _command_out(request, bulk)


def _requested_selection(request: Request, payload: BulkCommandIn) -> BulkSelection:
    # With both nobody could tell whether the filter adds to the names or narrows them
    if bool(payload.tasks) == (payload.matching is not None):
        raise Invalid.at("tasks", "Name tasks, or what they match: one of both.")
    if payload.matching is None:
        chosen = [Chosen(one.task, one.position or 0) for one in payload.tasks]
        return bulk_commands.named_selection(request.auth, chosen)
    matching = payload.matching
    shows = (*SHOWS, "late")
    if matching.show and matching.show not in shows:
        raise Invalid.at("matching.show", "is no filter", f"Use one of {', '.join(shows)}.")
    if matching.requester not in ("", "me"):
        raise Invalid.at("matching.requester", "is no filter", "Use “me”.")
    filters = Filters(matching.q.strip(), matching.show, matching.requester)
    match = Match(matching.project, matching.line, filters)
    return bulk_commands.matching_selection(request.auth, require_person(request.auth), match, timezone.now())


def _command_out(request: Request, bulk: UUID) -> BulkCommandOut:
    command = bulk_commands.get_bulk_command(request.auth, require_person(request.auth), bulk)
    return BulkCommandOut.of(command, bulk_commands.bulk_summary(command, request.auth))
