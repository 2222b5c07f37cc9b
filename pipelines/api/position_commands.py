"""Commands of people on a position of a task over HTTP: complete a manual station, answer a question, hold,
move, release, supply metadata or a handoff.

A call that passes on the word of a person names the version of the position that the person saw. Sent
again later it is refused, never applied to another question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Generic, TypeVar

from django.http import HttpResponse
from django.utils import timezone
from pydantic import BaseModel, Field

from pipelines import engine
from pipelines.api.auth import Request, caller_actor, require_person
from pipelines.api.idempotency import IDEMPOTENCY_KEY, answer_once
from pipelines.api.lookup import CHANGES, TASK, Operations, action_required
from pipelines.api.positions import missing_metadata
from pipelines.api.schemas import StrictBody, TaskOut, task_out
from pipelines.errors import Conflict, Invalid
from pipelines.models import Status, Task, User
from pipelines.queries.positions import PositionView
from pipelines.queries.task_view import TaskView

router = Operations("positions", CHANGES)
Id = Annotated[int, Field(ge=1, lt=2**63)]
Version = Annotated[int, Field(ge=0, lt=2**31)]


class PositionIn(StrictBody):
    """`position`, or `station`: which one, where several positions of the task fit."""

    position: Id | None = None
    station: str = ""


class VersionedPositionIn(PositionIn):
    """`version`: of the position, as it was seen."""

    version: Version


class CompleteIn(VersionedPositionIn):
    """`outcome`: `result` (success, failure, …), `output` with the fields of the form, `summary`, `eval`, …"""

    outcome: dict[str, Any]


class AnswerIn(VersionedPositionIn):
    """`text` answers a question; `word` (yes, no; pass, block) a condition that a person is asked."""

    text: str = ""
    word: str = ""


class HoldIn(PositionIn):
    reason: Annotated[str, Field(min_length=1, pattern=r"\S")]
    version: Version | None = None


class MoveIn(PositionIn):
    """Move of a position. `to`: a station of the line, `@success` for where success leads, "" for where it
    stands. `accepts`: ids of what the plan says that it breaks."""

    to: Annotated[str, Field(max_length=64)] = ""
    reason: str = ""
    accepts: list[str] = []
    version: Version | None = None


class MovedPlaceOut(BaseModel):
    station: str
    status: str


class MovePlanOut(BaseModel):
    """`places`: where it then stands; `end`: at which the task is over; `gates`: asked then; `asks`: where the rules of
    the station lead; `closes`: gates at which nobody is asked any longer; `votes`: how many no longer count; `stops`:
    the station whose running work is stopped; `spent` and `cap`: dollars so far, and of one more run at most;
    `breaks`: what `accepts` has to name; `why`: what each of them promises; `version`: of the position."""

    places: list[MovedPlaceOut]
    end: str
    gates: list[str]
    asks: list[str]
    closes: list[str]
    votes: int
    stops: str
    spent: float
    cap: float | None
    breaks: list[str]
    why: list[str]
    version: int


class ReleaseIn(PositionIn):
    version: Version | None = None


class MetadataIn(VersionedPositionIn):
    metadata: dict[str, Any]


class HandoffIn(VersionedPositionIn):
    handoff: dict[str, Any]


Payload = TypeVar("Payload", bound=PositionIn)


@dataclass(frozen=True)
class PositionCommand(Generic[Payload]):
    """`fits`: which positions it can be about; `otherwise` is said where there is none."""

    fits: Callable[[PositionView], bool]
    otherwise: str
    do: Callable[[Any, PositionView, Payload], object]

    def run(self, task: Task, user: User | engine.Actor, payload: Payload) -> TaskOut:
        self.do(user, self.only_fitting_position(TaskView(task, timezone.now()).positions, payload), payload)
        # The engine has changed rows of its own: this one is still as it was
        task.refresh_from_db()
        return task_out(task)

    def only_fitting_position(self, positions: list[PositionView], at: PositionIn) -> PositionView:
        """Raises Conflict (none fits), Invalid (path `position`: several fit)."""
        fitting = [
            position
            for position in positions
            if at.position in (None, position.token.pk)
            and at.station in ("", position.token.station)
            and self.fits(position)
        ]
        if not fitting:
            raise Conflict(self.otherwise)
        # Branches run at once: which of them is meant is never guessed
        if len(fitting) > 1:
            names = ", ".join(f"{position.token.pk} ({position.token.station})" for position in fitting)
            raise Invalid.at(
                "position",
                "is needed: several positions fit",
                f"Name one of {names}.",
            )
        return fitting[0]


def _complete_manual_job(user: User, position: PositionView, payload: CompleteIn) -> None:
    assert position.job is not None
    engine.complete_manual_job(
        position.job.pk, user=user, token_version=payload.version, outcome=payload.outcome
    )


def _answer_position(user: User, position: PositionView, payload: AnswerIn) -> None:
    reply = {"text": payload.text, "fact": payload.word}
    engine.answer_blocked_token(position.token.pk, user=user, token_version=payload.version, **reply)


def _hold_position(user: User, position: PositionView, payload: HoldIn) -> None:
    token_version = _version_or_current(position, payload.version)
    engine.hold(position.token.pk, user=user, token_version=token_version, reason=payload.reason)


def _move_position(caller: User | engine.Actor, position: PositionView, payload: MoveIn) -> None:
    engine.move_or_retry_by_hand(
        position.token.pk,
        user=caller,
        token_version=_version_or_current(position, payload.version),
        to=payload.to,
        reason=payload.reason,
        accepts=payload.accepts,
    )


def _release_position(user: User, position: PositionView, payload: ReleaseIn) -> None:
    engine.release(position.token.pk, user=user, token_version=_version_or_current(position, payload.version))


def _supply_metadata(user: User, position: PositionView, payload: MetadataIn) -> None:
    engine.supply_metadata_and_decide_again(
        position.token.pk, user=user, token_version=payload.version, values=payload.metadata
    )


def _hand_over(user: User, position: PositionView, payload: HandoffIn) -> None:
    engine.store_handoff_and_decide_again(
        position.token.pk, user=user, token_version=payload.version, document=payload.handoff
    )


def _version_or_current(position: PositionView, version: int | None) -> int:
    # Whoever types a command has seen no number, and means the position as it is now
    return position.token.version if version is None else version


COMPLETE = PositionCommand(
    lambda position: position.is_manual, "No manual station is open there.", _complete_manual_job
)
ANSWER = PositionCommand(
    lambda position: position.can_be_answered, "Nothing is asked there.", _answer_position
)
HOLD = PositionCommand(
    lambda position: position.token.status == Status.QUEUED, "Nothing is queued there.", _hold_position
)
MOVE = PositionCommand(lambda position: True, "This task has no position there.", _move_position)
RELEASE = PositionCommand(
    lambda position: position.token.status == Status.HELD, "Nothing is held there.", _release_position
)
SUPPLY = PositionCommand(
    lambda position: bool(missing_metadata(position)), "No metadata is missing there.", _supply_metadata
)
HAND_OVER = PositionCommand(
    lambda position: position.lacks_handoff, "No handoff is missing there.", _hand_over
)


@router.post(TASK + "/complete", response=TaskOut, summary="Complete a manual station")
@action_required("operate")
def complete_manual_station(
    request: Request,
    task: Task,
    payload: CompleteIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """A person's report on the open job of a manual station. The output is checked against the station's form."""
    return _run_command(COMPLETE, request, task, payload, idempotency_key)


@router.post(TASK + "/answer", response=TaskOut, summary="Answer a question")
@action_required("operate")
def answer_question_of_position(
    request: Request,
    task: Task,
    payload: AnswerIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Answer the question of a blocked position: the answer is added to the prompt and the station runs
    again, or the condition is decided with it."""
    return _run_command(ANSWER, request, task, payload, idempotency_key)


@router.post(TASK + "/hold", response=TaskOut, summary="Hold a task")
@action_required("operate")
def hold_position(
    request: Request,
    task: Task,
    payload: HoldIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Keeps a queued position from starting until somebody releases it."""
    return _run_command(HOLD, request, task, payload, idempotency_key)


@router.post(TASK + "/move", response=TaskOut, summary="Move a task by hand")
@action_required("operate")
def move_position(
    request: Request,
    task: Task,
    payload: MoveIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Moves a position to another station, to where success leads (`@success`), or lets it run again where it stands.
    Running work is stopped, votes on open reviews no longer count, and no gate is passed."""
    who = request.auth
    # The token of a machine moves a task as itself: no person stands behind it
    person = who if isinstance(who, User) else who.user
    run = partial(MOVE.run, task, person or caller_actor(who), payload)
    return answer_once(request, idempotency_key, run)


@router.post(TASK + "/move/plan", response=MovePlanOut, summary="Plan a move")
@action_required("operate")
def plan_move(request: Request, task: Task, payload: MoveIn) -> MovePlanOut:
    """Return what the same call of `move` would do. Nothing is changed."""
    position = MOVE.only_fitting_position(TaskView(task, timezone.now()).positions, payload)
    version = _version_or_current(position, payload.version)
    plan = engine.plan_move(
        position.token.pk, user=caller_actor(request.auth), token_version=version, to=payload.to
    )
    return MovePlanOut(
        places=[MovedPlaceOut(station=station, status=status) for station, status in plan.places],
        end=plan.end,
        gates=list(plan.gates),
        asks=list(plan.asks),
        closes=list(plan.closes),
        votes=plan.votes,
        stops=plan.work,
        spent=plan.spent,
        cap=plan.cap,
        breaks=list(plan.breaks),
        why=list(plan.sentences),
        version=version,
    )


@router.post(TASK + "/release", response=TaskOut, summary="Release a task")
@action_required("operate")
def release_position(
    request: Request,
    task: Task,
    payload: ReleaseIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Lets a position go on that a person holds, or that waits for other tasks: it waits for them no longer."""
    return _run_command(RELEASE, request, task, payload, idempotency_key)


@router.post(TASK + "/metadata", response=TaskOut, summary="Supply metadata")
@action_required("operate")
def supply_missing_metadata(
    request: Request,
    task: Task,
    payload: MetadataIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """Supply what a position on hold misses, by name. Then it is decided again; anything still missing holds
    it as before."""
    return _run_command(SUPPLY, request, task, payload, idempotency_key)


@router.post(TASK + "/handoff", response=TaskOut, summary="Add a handoff document")
@action_required("operate")
def store_missing_handoff(
    request: Request,
    task: Task,
    payload: HandoffIn,
    idempotency_key: str | None = IDEMPOTENCY_KEY,
) -> HttpResponse:
    """The handoff document that a held position misses, checked against its schema. Then it is decided again."""
    return _run_command(HAND_OVER, request, task, payload, idempotency_key)


def _run_command(
    command: PositionCommand[Payload], request: Request, task: Task, payload: Payload, key: str | None
) -> HttpResponse:
    """A machine has no word of its own in any of these."""
    user = require_person(request.auth)
    return answer_once(request, key, partial(command.run, task, user, payload))
