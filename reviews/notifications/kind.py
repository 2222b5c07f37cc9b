"""Kind of notification: whom it notifies of what, and its words. Mail and bell use the same row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from django.db.models import QuerySet

from pipelines.models import Task
from pipelines.models.plumbing.compiled_queries import array_field, server_prepared
from pipelines.ports.observers import Alarm, Consequence, GateOpened, GateOverdue
from reviews.notifications.lookups import Lookups
from reviews.notifications.recipients import MailChoice, Recipient, members_at

if TYPE_CHECKING:
    from reviews.models import Notification

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
    for, by `told` and `settled`; a batch without any of them does not come here. `named`: lines name
    addresses for it, and `reviews.mail.mail_outbox` writes those mails, not each notification; `addressed`:
    who has an address that is named can choose to get mail only there. `over`: whether it is outdated.
    `settled`: what (`about`) needs nobody any more after a batch; those notifications become read."""

    key: str
    label: str
    help: str
    icon: str
    mail: MailChoice
    hears: tuple[type[Consequence], ...]
    told: Callable[[ConsequenceBatch], Iterable[NotificationEvent]]
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

    def any_of(self, classes: Collection[type[Consequence]]) -> bool:
        """Tell whether the batch has a consequence of one of these classes."""
        return not self._by_type.keys().isdisjoint(classes)

    def of_type(self, what: type[ConsequenceT]) -> list[ConsequenceT]:
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
        task_ids = {getattr(event, "task_id", None) for event in self.batch} - {None}
        return {task.pk: task for task in _tasks(tasks=list(task_ids))}

    @cached_property
    def lookups(self) -> Lookups:
        """Looked up at the first question, before anything is written."""
        return Lookups(self.batch)

    @cached_property
    def _addressed(self) -> dict[tuple[int, str], list[Recipient]]:
        """Members at the addresses that are notified, by project and address."""
        return members_at(
            (self.tasks[event.task_id].project_id, address.lower())
            for event in self.batch
            if isinstance(event, GateOpened | GateOverdue | Alarm)
            for address in event.notify
        )

    def members(self, task_id: int, address: str) -> list[Recipient]:
        """The members of the task's project with these addresses."""
        return self._addressed.get((self.tasks[task_id].project_id, address.lower()), [])

    def member_ids_at(self, task_id: int, addresses: Iterable[str]) -> list[int]:
        """Return the members at all these addresses, each once."""
        user_ids = [
            recipient.user_id for address in addresses for recipient in self.members(task_id, address)
        ]
        return list(dict.fromkeys(user_ids))


@server_prepared(tasks=array_field())
def _tasks(tasks: Any) -> QuerySet[Task, Task]:
    return Task.objects.filter(pk__among=tasks).only("project_id", "line_id", "requester_id", "pinned_id")
