"""Kind of notification: whom it notifies of what, and its words. Mail and bell use the same row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet, UUIDField

from pipelines.engine.moves.absences import StandIns, absences_query, stand_ins_from_rows
from pipelines.engine.moves.entitlement import EntitledPerson, entitled_people_query, people_from_rows
from pipelines.models import GateVisit, Task
from pipelines.models.plumbing.compiled_queries import BoundQuery, array_field, fetch_bound, server_prepared
from pipelines.ports.observers import (
    Alarm,
    Consequence,
    GateClosed,
    GateDecided,
    GateOpened,
    GateOverdue,
    TaskEnded,
    TaskMoved,
    TaskStarted,
    TaskWaits,
)
from reviews.models.statements import KNOWN_FOLLOWERS
from reviews.notifications.recipients import MailChoice, Recipient, members_by_project_and_address

if TYPE_CHECKING:
    from reviews.models import Notification

HEARD_BY_FOLLOWERS = (TaskMoved, TaskEnded, TaskWaits, GateDecided)
CHANNEL_EVENTS = (*HEARD_BY_FOLLOWERS, TaskStarted)


class Lookups:
    """`followed`: ids of the follows of tasks to which something happened, and of their lines. `connected`: whether a
    channel hears of a project in which a gate opened; `has_topics`: whether one tells of more than reviews where
    something happened to a task; `messaged`, `mailed`: whether one, or somebody by mail, was told of a gate that is
    over. `visits`: those that opened, as they are now; `people` and `away`: by the projects of these, the members and
    who stands in for whom."""

    followed: Sequence[int] = ()
    connected = has_topics = messaged = mailed = False
    visits: Sequence[GateVisit] = ()

    def __init__(self, batch: Sequence[Consequence]) -> None:
        self.people: dict[int, dict[int, EntitledPerson]] = {}
        self.away: Mapping[int, StandIns] = {}
        tasks = list({event.task_id for event in batch if isinstance(event, CHANNEL_EVENTS)})
        opened = [event for event in batch if isinstance(event, GateOpened)]
        over = [event.visit_id for event in batch if isinstance(event, GateDecided | GateClosed)]
        if not (tasks or opened or over):
            return
        projects = list({event.project_id for event in opened})
        questions: list[BoundQuery[Any]] = [
            BoundQuery(KNOWN_FOLLOWERS, [tasks, tasks, projects, tasks, over, over])
        ]
        if opened:
            visits = _visit_query.bind(visits=[event.visit_id for event in opened])
            questions += [visits, entitled_people_query(projects), absences_query(projects)]
        [(self.followed, self.connected, self.has_topics, self.messaged, mailed)], *rest = fetch_bound(
            *questions
        )
        # Of what opened just now a mail is written after this was asked.
        both: set[UUID] = {event.visit_id for event in opened} & {*over}
        self.mailed = mailed or bool(both)
        if opened:
            self.visits, members, away = rest
            self.people = people_from_rows(projects, members)
            self.away = stand_ins_from_rows(projects, away)


@server_prepared(visits=array_field(UUIDField()))
def _visit_query(visits: Any) -> QuerySet[GateVisit, GateVisit]:
    """Return the visits with no more than whom they ask depends on, and what is reported of them."""
    visit_rows = GateVisit.objects.filter(pk__among=visits).select_related("task", "job", "asked_by")
    needed = (
        "task_id",
        "gate",
        "state",
        "producers",
        "opened_at",
        "due_at",
        "paused_at",
        "job_id",
        "asked_by_id",
    )
    of_task = ("task__project_id", "task__line_id", "task__requester_id", "task__requesters")
    return visit_rows.only(*needed, *of_task, "job__reported_by", "asked_by__pinned_id").order_by(
        "task_id", "position"
    )


ConsequenceT = TypeVar("ConsequenceT", bound=Consequence)


@dataclass(frozen=True)
class NotificationEvent:
    """Event to notify one person of. `about` identifies it, so that it is sent once; `data`: what the
    sentence names besides the task."""

    user_id: int
    about: str
    project_id: int
    at: datetime
    task_id: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NotificationText:
    """A notification in words. `page`: the route it leads to, with arguments; `anchor`: a place on that page."""

    text: str
    page: tuple[Any, ...]
    verb: str
    anchor: str = ""
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class NotificationKind:
    """Row of the table. `mail`: the default choice. `hears`: the classes of consequence that it is called
    for, by `find_events` and `settled`; a batch without any of them does not come here. `named`: lines name
    addresses for it, and `reviews.mail.mail_outbox` writes those mails, not each notification; `addressed`:
    who has an address that is named can choose to get mail only there. `over`: whether it is outdated.
    `settled`: what (`about`) needs nobody any more after a batch; those notifications become read."""

    key: str
    label: str
    help: str
    icon: str
    mail: MailChoice
    hears: tuple[type[Consequence], ...]
    find_events: Callable[[ConsequenceBatch], Iterable[NotificationEvent]]
    says: Callable[[Notification], NotificationText]
    named: bool = False
    addressed: bool = False
    over: Callable[[Notification], bool] = lambda row: False
    settled: Callable[[Sequence[Consequence]], Iterable[str]] = lambda batch: ()

    @property
    def mails(self) -> list[tuple[str, str]]:
        """The choices of mail for this kind."""
        return [
            (str(choice), choice.label)
            for choice in MailChoice
            if choice != MailChoice.NAMED or self.addressed
        ]


class ConsequenceBatch:
    """A batch of consequences, with lookups about it that are read once and only if a kind needs them."""

    def __init__(self, batch: Sequence[Consequence]) -> None:
        self.batch = batch

    def has_any_of(self, classes: Collection[type[Consequence]]) -> bool:
        """Tell whether the batch has a consequence of one of these classes."""
        return not self._by_type.keys().isdisjoint(classes)

    def consequences_of_type(self, what: type[ConsequenceT]) -> list[ConsequenceT]:
        return self._by_type.get(what, [])  # type: ignore[return-value]

    @cached_property
    def _by_type(self) -> dict[type, list[Consequence]]:
        by_type: dict[type, list[Consequence]] = {}
        for event in self.batch:
            by_type.setdefault(type(event), []).append(event)
        return by_type

    @cached_property
    def tasks(self) -> dict[int, Task]:
        """The tasks of the batch by id, with only the fields that notifications need."""
        # Some are about an agent, a line or a person, and so about no task
        task_ids = {getattr(event, "task_id", None) for event in self.batch} - {None}
        return {task.pk: task for task in _task_query(tasks=list(task_ids))}

    @cached_property
    def lookups(self) -> Lookups:
        """Looked up at the first question, before anything is written."""
        return Lookups(self.batch)

    @cached_property
    def _addressed(self) -> dict[tuple[int, str], list[Recipient]]:
        """Members at the addresses that are notified, by project and address."""
        return members_by_project_and_address(
            (self.tasks[event.task_id].project_id, address.lower())
            for event in self.batch
            if isinstance(event, GateOpened | GateOverdue | Alarm)
            for address in event.notify
        )

    def project_members_with_address(self, task_id: int, address: str) -> list[Recipient]:
        """The members of the task's project with these addresses."""
        return self._addressed.get((self.tasks[task_id].project_id, address.lower()), [])

    def unique_member_ids_at_addresses(self, task_id: int, addresses: Iterable[str]) -> list[int]:
        """Return the members at all these addresses, each once."""
        user_ids = [
            recipient.user_id
            for address in addresses
            for recipient in self.project_members_with_address(task_id, address)
        ]
        return list(dict.fromkeys(user_ids))


@server_prepared(tasks=array_field())
def _task_query(tasks: Any) -> QuerySet[Task, Task]:
    return Task.objects.filter(pk__among=tasks).only("project_id", "line_id", "requester_id", "pinned_id")
