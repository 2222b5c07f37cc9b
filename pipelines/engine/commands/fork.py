"""Forking a task: a linked task that begins where another one stood at a moment, with its files and data of then, and
with an empty past (law §17)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from pipelines.engine.commands.inputs import expired_file_names
from pipelines.engine.commands.linked_tasks import REQUESTED
from pipelines.engine.commands.move import check_broken_promises_accepted, promises_broken_at_with_sentences
from pipelines.engine.commands.submit import (
    INHERITED,
    create_first_token_and_job,
    repository_protection_problems,
    save_task_with_next_number,
)
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.fold import row_folded_from_events
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor
from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.models import ENDED, Event, Job, Purpose, Task, User
from pipelines.queries import versions
from pipelines.queries.retention import refuse_deleted_files
from pipelines.routing.guarantees.by_hand import MovedPast

FORK = "fork"
"""Trigger of a forked task, and of the event that tells it to the other one."""
LARGEST = 2**31 - 1
"""The largest number of an event that there can be."""


@dataclass(frozen=True)
class ForkPosition:
    """Position of a task at a moment: its token, and the station where it stood."""

    token: int
    station: str


@dataclass(frozen=True)
class TaskMoment:
    """Moment of a task: right after its event `number`. `positions`: where it stood; after its end where it stood
    last. `position`: the one that the event is about, None where that is no position. `data`: context, variables and
    what of them could not be read."""

    number: int
    at: datetime
    kind: str
    positions: tuple[ForkPosition, ...]
    position: ForkPosition | None
    data: Mapping[str, Any] = field(default_factory=dict)
    parents: Mapping[int, int | None] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ForkPlan:
    """Consequences of a fork, worked out by doing it and taking it back. `position`: whose files it has; `alone`: that
    was a branch, and what others would bring to a join counts as failed; `station`: where it begins; `status` then;
    `asks`: the stations to which its rules lead; `cap`: what its first run may cost, in dollars; `breaks`: ids of
    guarantees, and PROTECTION; `sentences`: what each of them promises."""

    moment: TaskMoment
    position: ForkPosition
    station: str
    alone: bool = False
    status: str = ""
    asks: tuple[str, ...] = ()
    cap: float | None = None
    breaks: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class ForkRequest:
    """Fork that is asked for: `new` is the task as it will be written."""

    old: Task
    new: Task
    moment: TaskMoment
    position: ForkPosition
    station: str
    actor: Actor
    user: User | None
    reason: str = ""
    broken: tuple[tuple[str, str], ...] = ()


def fork(
    task_id: int,
    *,
    user: User | Actor,
    at: int | None = None,
    position: int | None = None,
    station: str = "",
    reason: str = "",
    accepts: Collection[str] = (),
    requesters: Sequence[str] = (),
) -> Task:
    """Start a linked task from a moment of this one, whether that goes on or has ended. `at`: the number of the event
    behind which it begins, None for the last one; `position`: the token whose files it has, None where the moment
    leaves no choice; `station`: where it begins, "" for where that token stood. It runs on the same version with the
    inputs of the task and the context of the moment; counts, votes and visits begin anew, and whoever forks asked
    for it; `requesters`: who else may have, see `Task.requesters`.

    Raises NotFound, Invalid (path `at`, `position`, `station`, `reason`, or `accepts`: a promise would break that is
    not named), Purged (its files are deleted), Conflict (a file of it has expired; the repository is
    protected from its line; the line is archived),
    Forbidden (only an administrator may break a promise)."""
    request = _fork_request(task_id, user, at, position, station, payload.checked_text(reason, "reason"))
    request.new.requesters = [*dict.fromkeys((*request.new.requesters, *requesters))]
    check_broken_promises_accepted(
        FORK, request.old.project_id, request.user, request.reason, accepts, request.broken
    )
    return run_in_transaction(partial(_fork, request))


def plan_fork(
    task_id: int,
    *,
    user: User | Actor,
    at: int | None = None,
    position: int | None = None,
    station: str = "",
) -> ForkPlan:
    """Return what `fork` would do, with the same refusals but for `accepts`. Nothing is written."""
    # By the same steps as the fork, so that the plan is what would happen
    return run_in_transaction(
        partial(_plan_fork_and_roll_back, _fork_request(task_id, user, at, position, station, ""))
    )


def task_moment(task: Task, at: int | None = None) -> TaskMoment:
    """Return where a task stood right after this event of it, None for the last one. Raises Invalid (path `at`)."""
    number = task.seq if at is None else at
    events: list[Event] = []
    if 1 <= number <= LARGEST:
        columns = ("seq", "kind", "at", "token_id", "data")
        events = list(Event.objects.filter(task=task, seq__lte=number).only(*columns).order_by("seq"))
    if not events or events[-1].seq != number:
        raise Invalid.at("at", f"is not an event of {task.name}", f"Use a number from 1 to {task.seq}.")
    row, last = row_folded_from_events(events), events[-1]
    tokens: dict[int, dict[str, Any]] = row["tokens"]
    positions = tuple(
        ForkPosition(token_id, str(tokens[token_id]["station"]))
        for token_id in _living_or_ended_position_ids(tokens)
    )
    return TaskMoment(
        number,
        last.at,
        last.kind,
        positions,
        next((place for place in positions if place.token == last.token_id), None),
        {name: row[name] for name in INHERITED},
        {token_id: state["parent_id"] for token_id, state in tokens.items()},
    )


def _living_or_ended_position_ids(tokens: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Return the living positions; where none lives, those that ended without becoming part of another one."""
    living = [pk for pk, state in tokens.items() if not state["forked"] and state["status"] not in ENDED]
    if living:
        return living
    apart = {pk: state for pk, state in tokens.items() if state["joined_id"] is None}
    parents = {state["parent_id"] for state in apart.values()}
    return [pk for pk in apart if pk not in parents]


def _fork_request(
    task_id: int, user: User | Actor, at: int | None, position: int | None, station: str, reason: str
) -> ForkRequest:
    old = first_row_or_raise_not_found(
        Task.objects.select_related("project", "line", "pinned", "requester").filter(pk=task_id)
    )
    refuse_deleted_files(old)
    moment = task_moment(old, at)
    place = _chosen_or_only_position(moment, position)
    target = _checked_station_or_own(old, place, payload.checked_text(station, "station"))
    _check_files_and_protections(old)
    actor = user if isinstance(user, Actor) else Actor.person(user)
    new = Task(
        project=old.project,
        line=old.line,
        pinned=old.pinned,
        follows=old,
        retry_of=_last_job_begun_by_then(moment, place),
        fork_event=moment.number,
        description=old.description,
        due_at=old.due_at,
        visits={target: 1},
        **{name: getattr(old, name) for name in REQUESTED},
        **moment.data,
    )
    new.requester_id = int(actor.id) if actor.kind == "person" else None
    new.requested_by = (actor.name or str(actor))[:200]
    new.requesters = _requesters_of_old_but_not_new(old, new)
    broken = (
        promises_broken_at_with_sentences(new, target, MovedPast())
        if target != _start_station_key(old)
        else []
    )
    person = user if isinstance(user, User) else None
    return ForkRequest(old, new, moment, place, target, actor, person, reason, tuple(broken))


def _start_station_key(task: Task) -> str:
    return versions.parsed_line_by_version_id(task.pinned_id).start


def _requesters_of_old_but_not_new(old: Task, new: Task) -> list[str]:
    """Return those who requested the other task: they want this one as well, and do not approve it."""
    previous = [f"person:{old.requester_id}"] if old.requester_id else []
    current = f"person:{new.requester_id}"
    return list(dict.fromkeys(actor for actor in (*old.requesters, *previous) if actor != current))


def _chosen_or_only_position(moment: TaskMoment, token: int | None) -> ForkPosition:
    places = moment.positions
    names = ", ".join(f"{place.token} ({place.station})" for place in places)
    if token is not None:
        chosen = next((place for place in places if place.token == token), None)
        if chosen is None:
            raise Invalid.at("position", "is no position of the task at that moment", f"Use one of {names}.")
        return chosen
    if moment.position is not None:
        return moment.position
    # Branches have files of their own: whose are meant is never guessed
    if len(places) != 1:
        raise Invalid.at(
            "position", "is needed: the task had several at that moment", f"Name one of {names}."
        )
    return places[0]


def _checked_station_or_own(old: Task, place: ForkPosition, station: str) -> str:
    line = versions.parsed_line_by_version_id(old.pinned_id)
    target = station or place.station
    if target not in line.stations_by_key:
        message = f"{target} is not a station of version {old.pinned.number}, on which the task runs"
        raise Invalid.at("station", message, f"Use one of: {', '.join(line.stations_by_key)}.")
    return target


def _check_files_and_protections(old: Task) -> None:
    # Files are not copied but named by their content: what has expired cannot be inherited
    gone = expired_file_names(
        versions.parsed_line_by_version_id(old.pinned_id).inputs, old.inputs, old.project_id
    )
    if gone:
        raise Conflict(f"{', '.join(gone)} has expired. Start a new task and upload it again.")
    if problems := repository_protection_problems(old.pinned, old.inputs):
        raise Conflict(f"{old.name} cannot be forked: {problems[0].message}. {problems[0].hint}".strip())


def _last_job_begun_by_then(moment: TaskMoment, place: ForkPosition) -> Job:
    """Return the last visit that the position had begun by then, or the one before the fork that made it."""
    for token in _token_id_and_its_parents(moment, place.token):
        jobs = Job.objects.filter(token=token, purpose=Purpose.STATION, created_at__lte=moment.at)
        if (job := jobs.order_by("-pk").first()) is not None:
            return job
    raise Conflict("Nothing of this task had begun by then.")


def _token_id_and_its_parents(moment: TaskMoment, token: int) -> Iterable[int]:
    current: int | None = token
    while current is not None:
        yield current
        current = moment.parents.get(current)


def _fork(request: ForkRequest) -> Task:
    batch, task = _create_task_and_begin(request)
    batch.flush()
    return batch.tasks[task.pk]


def _create_task_and_begin(request: ForkRequest) -> tuple[Batch, Task]:
    # house §2: the counter of numbers is locked before any task.
    task, moment = save_task_with_next_number(request.new), request.moment
    more: dict[str, Any] = {
        "moment": moment.number,
        "position": request.position.token,
        "reason": request.reason,
    }
    batch = create_first_token_and_job(
        task,
        request.station,
        request.actor,
        request.old,
        trigger=FORK,
        follows=request.new.followed_name,
        by="hand",
        breaks=[name for name, _sentence in request.broken],
        **more,
    )
    old = batch.tasks[request.old.pk]
    # Behind the lock: its files may have been deleted meanwhile
    refuse_deleted_files(old)
    batch.append_event(
        old, "task.forked", request.actor, trigger=FORK, fork=task.name, station=request.station, **more
    )
    return batch, batch.tasks[task.pk]


def _plan_fork_and_roll_back(request: ForkRequest) -> ForkPlan:
    with transaction.atomic():
        _batch, task = _create_task_and_begin(request)
        status = str(task.status)
        # What was done is what is planned; nothing of it stays.
        transaction.set_rollback(True)
    station = versions.parsed_line_by_version_id(request.old.pinned_id).stations_by_key[request.station]
    cap = station.limits.cost_usd
    return ForkPlan(
        request.moment,
        request.position,
        request.station,
        alone=request.moment.parents.get(request.position.token) is not None,
        status=status,
        asks=tuple(dict.fromkeys(target for rule in station.rules for target in rule.to)),
        cap=None if cap is None else float(cap),
        breaks=tuple(name for name, _sentence in request.broken),
        sentences=tuple(sentence for _name, sentence in request.broken),
    )
