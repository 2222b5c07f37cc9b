"""Observers of `engine`: consequences inside its transaction, hints after the commit (house §1).

An observer only inserts rows of its own and enqueues; it never reads a clock, talks to a network or
changes a task.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from django.conf import settings
from django.utils.module_loading import import_string


@dataclass(frozen=True)
class GateOpened:
    """A gate asks people. `notify` are mail addresses; `round` is 1 + times sent back so far."""

    visit_id: uuid.UUID
    task_id: int
    project_id: int
    gate: str
    round: int
    notify: tuple[str, ...]
    due_at: datetime | None
    opened_at: datetime


@dataclass(frozen=True)
class GateDueMoved:
    """The due time of a gate visit is another one, or its clock stands still (None): a pause began or is over."""

    visit_id: uuid.UUID
    task_id: int
    due_at: datetime | None


@dataclass(frozen=True)
class GateOverdue:
    """A gate reminds of itself. `number`: 0 before it is due; 1 when its due time has passed, then 2, 3, … `people`:
    the ids of who is reminded, with an address or without, where the gate names no addresses."""

    visit_id: uuid.UUID
    task_id: int
    notify: tuple[str, ...]
    at: datetime
    number: int = 1
    people: tuple[int, ...] = ()


@dataclass(frozen=True)
class GateDecided:
    """A gate visit has its decision. `word`: approve, send_back, reject, rework or abort."""

    visit_id: uuid.UUID
    task_id: int
    word: str
    decided_by_id: int | None
    decided_by_email: str
    at: datetime


@dataclass(frozen=True)
class VoteCast:
    """Somebody voted at a gate visit, and it may be open still."""

    visit_id: uuid.UUID
    task_id: int
    user_id: int
    at: datetime


@dataclass(frozen=True)
class GateClosed:
    """A gate visit ended without a decision of its own. `why`: decided_elsewhere, or how the task ended."""

    visit_id: uuid.UUID
    task_id: int
    why: str
    at: datetime


@dataclass(frozen=True)
class Alarm:
    """Alarm for those who are responsible. `kind`: escalated, breached (not answered in time) or deadlock;
    `about`: the id of the escalation or deadlock; `notify` are mail addresses."""

    kind: str
    about: uuid.UUID
    task_id: int
    notify: tuple[str, ...]
    at: datetime


@dataclass(frozen=True)
class AlarmSettled:
    """Nobody has to resolve it any more: a person did, or it went another way. `about` as in the alarm."""

    about: uuid.UUID
    task_id: int
    at: datetime


@dataclass(frozen=True)
class TaskStarted:
    """A task was started, however that was: by a person, a program, a trigger, or as the successor of another."""

    task_id: int
    at: datetime


@dataclass(frozen=True)
class TaskMoved:
    task_id: int
    source: str
    target: tuple[str, ...]
    at: datetime


@dataclass(frozen=True)
class TaskWaits:
    """A token of the task waits: status awaiting_review, held, blocked or stuck (`error` names why). `held_by`: the
    person who holds it."""

    task_id: int
    token_id: int
    status: str
    error: str
    at: datetime
    held_by: int | None = None


@dataclass(frozen=True)
class PermissionAsked:
    """An agent at work asks whether it may call a tool. `call`: how the call begins."""

    permission_id: int
    task_id: int
    project_id: int
    station: str
    call: str
    at: datetime


@dataclass(frozen=True)
class PermissionAnswered:
    """A person answered it, or its time ran out."""

    permission_id: int
    task_id: int
    at: datetime


@dataclass(frozen=True)
class TaskLate:
    """The due time of a task has passed, and it has not ended."""

    task_id: int
    at: datetime


@dataclass(frozen=True)
class TaskEnded:
    """The whole task ended. `kind`: completed, failed or cancelled."""

    task_id: int
    end: str
    kind: str
    at: datetime


@dataclass(frozen=True)
class DeliveryEnded:
    """The job of a delivery is over, however it ended: by its report, or by somebody who moved or ended its task."""

    task_id: int
    job_id: int
    at: datetime


@dataclass(frozen=True)
class AgentHandedOver:
    """Somebody else than `user_id` made them the owner of an agent."""

    agent_id: int
    name: str
    project_id: int
    user_id: int
    at: datetime


@dataclass(frozen=True)
class TrustLowered:
    """The agent that `user_id` owns fell back by one level; `reason`: where, and after which task."""

    agent_id: int
    name: str
    project_id: int
    user_id: int
    reason: str
    at: datetime


@dataclass(frozen=True)
class GuaranteeRefuted:
    """So many guarantees of a live version, the one with this number of the line with this key and name, do not hold
    as the law reads them now; `user_id` published or administers it."""

    version_id: int
    number: int
    key: str
    name: str
    count: int
    project_id: int
    user_id: int
    at: datetime


@dataclass(frozen=True)
class SamplingStopped:
    """A gate of the line with this key and name asks about all tasks again; `cause`: reverted, contradicted or refused;
    `task`: the name of the one. `user_id` published or administers the line."""

    line_id: int
    key: str
    name: str
    gate: str
    gate_name: str
    cause: str
    task: str
    project_id: int
    user_id: int
    at: datetime


@dataclass(frozen=True)
class LinePublished:
    """Version of a line, the one with this number, that `by` published."""

    version_id: int
    number: int
    key: str
    name: str
    by: str
    project_id: int
    at: datetime


@dataclass(frozen=True)
class PublishRequested:
    """Request by `by` to publish the line with this key and name, which `user_id` may do; with a `reason`,
    `by` sent the request back to `user_id`."""

    request_id: int
    key: str
    name: str
    by: str
    reason: str
    project_id: int
    user_id: int
    at: datetime


@dataclass(frozen=True)
class HealthBreached:
    """Figure of the project that is over its limit; this person is to do something about it. `name`, `value`, `limit`
    and `todo` in words."""

    figure: str
    name: str
    value: str
    limit: str
    todo: str
    project_id: int
    user_id: int
    at: datetime


@dataclass(frozen=True)
class CommentMention:
    """A comment on a line, by `name`, names this person. `part`: the key of the station that it is about, if any;
    `text`: how it begins."""

    comment_id: uuid.UUID
    project_id: int
    line: str
    line_name: str
    part: str
    user_id: int
    name: str
    at: datetime
    text: str


@dataclass(frozen=True)
class _ReviewQuestion:
    """A question about what is under review, or its answer. `by_id` and `name`: who wrote it; `user_id`: for whom;
    `text`: the question."""

    question_id: int
    visit_id: uuid.UUID
    task_id: int
    project_id: int
    by_id: int
    name: str
    user_id: int
    text: str
    at: datetime


class QuestionRaised(_ReviewQuestion):
    """A reviewer asked the requester of a task about what is under review."""


class QuestionAnswered(_ReviewQuestion):
    """The requester answered whoever asked."""


@dataclass(frozen=True)
class InvitationAccepted:
    """`name`: who joined, as people see it."""

    invitation_id: int
    project_id: int
    invited_by_id: int
    name: str
    at: datetime


@dataclass(frozen=True)
class RolesChanged:
    """Change of what a member may do. `before` is empty for somebody who was no member; `by_id` None: the
    shell, or a sign-in provider."""

    project_id: int
    user_id: int
    by_id: int | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    at: datetime


Consequence = (
    GateOpened
    | GateDueMoved
    | GateOverdue
    | GateDecided
    | VoteCast
    | GateClosed
    | Alarm
    | AlarmSettled
    | TaskStarted
    | TaskMoved
    | TaskWaits
    | PermissionAsked
    | PermissionAnswered
    | TaskLate
    | TaskEnded
    | DeliveryEnded
    | AgentHandedOver
    | TrustLowered
    | GuaranteeRefuted
    | SamplingStopped
    | HealthBreached
    | CommentMention
    | LinePublished
    | PublishRequested
    | QuestionRaised
    | QuestionAnswered
    | InvitationAccepted
    | RolesChanged
)


@dataclass(frozen=True)
class Hint:
    """Hint for the live push: this task, `WI-…`, is now at event number `seq`."""

    project_id: int
    line_id: int
    task: str
    seq: int


@dataclass(frozen=True)
class LineHint:
    """Hint for whoever has this line open: `what` (draft, comments, live) has this number now, and it only
    grows."""

    project_id: int
    line_id: int
    what: str
    number: int


@dataclass(frozen=True)
class PersonHint:
    """Hint for the open pages of one person: there is news for them."""

    user_id: int


LiveHint = Hint | LineHint | PersonHint


@dataclass(frozen=True)
class Violation:
    """An invariant (house §3) that does not hold. `subject` says where, e.g. `task 12`, `version 3`."""

    invariant: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.invariant} {self.subject}: {self.message}"


# Looks at these tasks, or at everything (None).
Invariant = Callable[[Sequence[int] | None], Iterable[Violation]]


@runtime_checkable
class Observer(Protocol):
    """Listed in the setting OBSERVERS by dotted path; built once per process, without arguments. `hears`: the classes
    of consequence that it is called for."""

    hears: Collection[type[Consequence]]

    def handle_consequences(self, batch: Sequence[Consequence]) -> None:
        """Called once per batch that has any of these, with them alone, inside the transaction of the moves, in the
        order in which things happened."""


@runtime_checkable
class InvariantSource(Protocol):
    """An observer that brings invariants of its own."""

    def invariants(self) -> Iterable[Invariant]: ...


@lru_cache(maxsize=1)
def configured_observers() -> tuple[Observer, ...]:
    return tuple(import_string(path)() for path in settings.OBSERVERS)


def emit_consequences(*batch: Consequence) -> None:
    """Notify observers of what the moves of a batch, or an act outside the engine, have brought about, in its
    transaction."""
    for observer in configured_observers():
        if relevant := [consequence for consequence in batch if type(consequence) in observer.hears]:
            observer.handle_consequences(relevant)


@lru_cache(maxsize=1)
def _configured_hint_sink_or_none() -> Callable[[Sequence[LiveHint]], Any] | None:
    return import_string(settings.HINT_SINK) if settings.HINT_SINK else None


def publish_committed_hints(hints: Sequence[LiveHint]) -> None:
    """Hand the hints to the live push. Only ever called after the commit; lost ones heal (house §4)."""
    sink = _configured_hint_sink_or_none()
    if sink and hints:
        sink(hints)
