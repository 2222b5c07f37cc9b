"""Moving a position by hand: to a station of its line, or to where success leads (law §17)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import transaction

from pipelines.engine.commands.manual_actions import (
    feedback_and_question_of_last_run,
    lock_unchanged_token,
    open_another_visit,
    refuse_work_beside_forbidden,
)
from pipelines.engine.commands.report import CheckedReport, checked_report_or_refusal, record_outcome_and_move
from pipelines.engine.core import payload
from pipelines.engine.core.batch import Batch
from pipelines.engine.core.decision_context import ids_of_token_and_its_past
from pipelines.engine.core.transaction import run_in_transaction
from pipelines.engine.core.values import Actor, Report
from pipelines.engine.moves.completion import close_job_and_visits_of_token
from pipelines.engine.moves.entitlement import entitled_person_or_none
from pipelines.errors import Conflict, Forbidden, Invalid
from pipelines.models import Decision, GateVisit, Job, Purpose, Role, Status, Task, Token, User, Vote, Word
from pipelines.queries import environments, versions
from pipelines.queries.protections import repository_protection
from pipelines.queries.usage import cost_of_task
from pipelines.routing.basics.wording import people_text
from pipelines.routing.decide.effects import is_move_barred_by_holds
from pipelines.routing.guarantees.by_hand import (
    MovedPast,
    guarantees_unproved_after_move,
    unmet_protection_or_empty,
)
from pipelines.routing.guarantees.protection import line_delivers
from pipelines.routing.sentences.guarantees import line_guarantee_sentence

SUCCESS = "@success"
"""The target of a skip: where the rules lead what passed."""
MOVED, RETRIED, SKIPPED = "move", "retry", "skip"
"""Triggers: to another station, to where it stands, to where success leads."""
PROTECTION = "protection"
"""What of the promises that a move breaks is the repository's."""
LIVING = (
    Status.QUEUED,
    Status.RUNNING,
    Status.EVALUATING,
    Status.AWAITING_REVIEW,
    Status.HELD,
    Status.BLOCKED,
    Status.STUCK,
)


@dataclass(frozen=True)
class MoveRequest:
    """Request of a move. `to`: a station, SUCCESS, or "" for where it stands. `accepts`: the promises
    that it may break."""

    token_id: int
    token_version: int
    actor: Actor
    user: User | None
    to: str = ""
    reason: str = ""
    accepts: Collection[str] = ()


@dataclass(frozen=True)
class MovePlan:
    """Consequences of a move, worked out by doing it and taking it back.

    `places`: of each position where it then stands, as (station, status); `end`: at which the task then is over;
    `gates`: asked then; `asks`: the stations to which its rules lead; `closes`: gates at which people are asked no
    longer; `votes`: how many fall; `work`: at which station work is stopped; `spent` by the task so far and `cap` of
    what one more run may cost, in dollars; `breaks`: ids of guarantees, and PROTECTION; `sentences`: what each of
    them promises."""

    places: tuple[tuple[str, str], ...]
    end: str = ""
    gates: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    votes: int = 0
    work: str = ""
    spent: float = 0.0
    cap: float | None = None
    breaks: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


def move_or_retry_by_hand(
    token_id: int,
    *,
    user: User | Actor,
    token_version: int,
    to: str = "",
    reason: str = "",
    accepts: Collection[str] = (),
) -> Task:
    """Move a position by hand. `to`: a station, SUCCESS for where the rules lead what passed, "" for where it
    stands (a retry). Open work is closed, votes fall, limits do not bind, and no gate is passed.

    Raises NotFound, Conflict (it changed; something has to be resolved first), Invalid (path `to`, `reason`, or
    `accepts`: a promise would break that is not named), Forbidden (only an administrator may break one)."""
    return run_in_transaction(
        partial(
            _move_or_retry_by_hand,
            _checked_move_request(token_id, user, token_version, to, reason, accepts),
        )
    )


def plan_move(token_id: int, *, user: User | Actor, token_version: int, to: str = "") -> MovePlan:
    """Return what `move` would do, with the same refusals but for `accepts`. Nothing is written."""
    request = _checked_move_request(token_id, user, token_version, to, "", ())
    # Under the same lock and by the same steps as the move, so that the plan is what would happen
    return run_in_transaction(partial(_plan_move_by_trying, request))


def _checked_move_request(
    token_id: int, user: User | Actor, token_version: int, to: str, reason: str, accepts: Collection[str]
) -> MoveRequest:
    actor = user if isinstance(user, Actor) else Actor.person(user)
    person = user if isinstance(user, User) else None
    return MoveRequest(
        token_id,
        token_version,
        actor,
        person,
        payload.checked_text(to, "to"),
        payload.checked_text(reason, "reason"),
        accepts,
    )


def _move_or_retry_by_hand(request: MoveRequest) -> Task:
    batch, task, token = lock_unchanged_token(request.token_id, request.token_version, LIVING)
    broken = _promises_broken_by_move_with_sentences(task, token, request)
    check_broken_promises_accepted(
        "move", task.project_id, request.user, request.reason, request.accepts, broken
    )
    _carry_out_move(batch, task, token, request, [name for name, _sentence in broken])
    batch.flush()
    return task


def _plan_move_by_trying(request: MoveRequest) -> MovePlan:
    with transaction.atomic():
        batch, task, token = lock_unchanged_token(request.token_id, request.token_version, LIVING)
        broken = _promises_broken_by_move_with_sentences(task, token, request)
        visits = batch.open_visits_of_token(token) if token.status == Status.AWAITING_REVIEW else []
        votes = Vote.objects.filter(visit__in=[visit.pk for visit in visits]).count()
        job, spent = batch.open_job_or_none(token), float(cost_of_task(task.pk))
        work = job.station if job and job.state == Job.State.RUNNING else ""
        _carry_out_move(batch, task, token, request, [name for name, _sentence in broken])
        plan = _plan_fields_after_move(batch, task, token)
        # What was done is what is planned; nothing of it stays.
        transaction.set_rollback(True)
    names, sentences = tuple(name for name, _ in broken), tuple(sentence for _, sentence in broken)
    closes = tuple(visit.gate for visit in visits)
    more = {"votes": votes, "work": work, "spent": spent, "breaks": names, "sentences": sentences}
    return MovePlan(**{**plan, "closes": closes, **more})


def _plan_fields_after_move(batch: Batch, task: Task, token: Token) -> dict[str, Any]:
    line, living = versions.parsed_line_by_version_id(task.pinned_id), batch.living_tokens(task)
    own = [other for other in living if other.pk == token.pk or other.parent_id == token.pk]
    here = [other for other in own if not other.forked]
    gates = [gate for other in here for gate in other.wait.get("gates", ())]
    stations = [line.stations_by_key[other.station] for other in here if batch.open_job_or_none(other)]
    targets = [target for station in stations for rule in station.rules for target in rule.to]
    caps = [station.limits.cost_usd for station in stations if station.limits.cost_usd is not None]
    return {
        "places": tuple((other.station, str(other.status)) for other in here),
        "end": task.end if not living else "" if here else token.end,
        "gates": tuple(gates),
        "asks": tuple(dict.fromkeys(targets)),
        "cap": float(sum(caps)) if caps else None,
    }


def _carry_out_move(
    batch: Batch, task: Task, token: Token, request: MoveRequest, broken: Collection[str]
) -> None:
    stays = request.to in ("", token.station)
    if is_move_barred_by_holds(token.wait, stays=stays):
        raise Conflict("Its work is held until somebody resolves what holds it.")
    if token.waits_at_join:
        raise Conflict("This branch waits for others at a join. Move those.")
    if request.to == SUCCESS:
        _skip_current_work(batch, task, token, request)
        return
    line = versions.parsed_line_by_version_id(task.pinned_id)
    if request.to and request.to not in line.stations_by_key:
        raise Invalid.at(
            "to", "is not a station of this line", f"Use one of: {', '.join(line.stations_by_key)}."
        )
    refuse_work_beside_forbidden(batch, task, token, request.to or token.station)
    job = batch.open_job_or_none(token)
    if stays and job and job.state == Job.State.QUEUED and job.purpose == Purpose.STATION:
        raise Conflict("Its work has not begun. Release it if it is on hold.")
    again = feedback_and_question_of_last_run(token) if stays else {"feedback": ""}
    close_job_and_visits_of_token(batch, task, token, request.actor, RETRIED if stays else MOVED)
    if stays:
        open_another_visit(
            batch, task, token, request.actor, RETRIED, **again, reason=request.reason, breaks=broken
        )
    else:
        open_another_visit(
            batch,
            task,
            token,
            request.actor,
            MOVED,
            **again,
            reason=request.reason,
            at=request.to,
            breaks=broken,
        )


def _skip_current_work(batch: Batch, task: Task, token: Token, request: MoveRequest) -> None:
    """Report for the work that it is skipped: cancelled, and led on as by the signal `proceed` (law §5). So it is
    decided as any outcome is, no human gate is passed, and the visit does not pass (law §14)."""
    if token.status == Status.AWAITING_REVIEW:
        raise Conflict(
            "People are asked here, and their decision leads on. Move it to a station to take it away."
        )
    job = batch.open_job_or_none(token)
    if job is None or job.purpose != Purpose.STATION:
        # What its last visit left stands as it was recorded: a visit of its own is skipped.
        close_job_and_visits_of_token(batch, task, token, request.actor, SKIPPED)
        open_another_visit(
            batch,
            task,
            token,
            request.actor,
            SKIPPED,
            **feedback_and_question_of_last_run(token),
            reason=request.reason,
        )
        batch.advance_clock_by_tick()
        job = batch.open_job_or_none(token)
        assert job is not None
    by = request.actor.name or str(request.actor)
    signal = {"verdict": "proceed", "reason": SKIPPED}
    outcome = {
        "result": "cancelled",
        "reason": "manual",
        "signals": [signal],
        "summary": f"Skipped by {by}." + (f" {request.reason}" if request.reason else ""),
    }
    report = checked_report_or_refusal(
        Report(job.pk, job.attempt, job.lease_key, outcome, str(request.actor)), {}
    )
    assert isinstance(report, CheckedReport)
    record_outcome_and_move(batch, report)


# What the line and its repository promise


def _promises_broken_by_move_with_sentences(
    task: Task, token: Token, request: MoveRequest
) -> list[tuple[str, str]]:
    """Name each promise that the move breaks, with its sentence. A skip breaks none: guarantees are proved over every
    outcome, that of a skip as well."""
    line, target = versions.parsed_line_by_version_id(task.pinned_id), request.to or token.station
    if target in (SUCCESS, token.station) or target not in line.stations_by_key:
        return []
    # Without a promise nothing of the past is asked
    past = _stations_passed_so_far(task, token) if line.guarantees else MovedPast()
    return promises_broken_at_with_sentences(task, target, past)


def promises_broken_at_with_sentences(task: Task, target: str, past: MovedPast) -> list[tuple[str, str]]:
    """Name each promise of the line and of the repository that is no longer proved of this task once it stands at
    `target` with this past, with its sentence."""
    line = versions.parsed_line_by_version_id(task.pinned_id)
    broken = [
        (guarantee.id, line_guarantee_sentence(line, guarantee))
        for guarantee in guarantees_unproved_after_move(line, target, past)
    ]
    if line.workspace is not None and line_delivers(line):
        repository = environments.find_repository(task.project_id, line, task.inputs)
        protection = repository_protection(repository) if repository else None
        if repository and protection:
            sentence = unmet_protection_or_empty(line, target, repository.name, protection)
            broken += [(PROTECTION, sentence)] if sentence else []
    return broken


def _stations_passed_so_far(task: Task, token: Token) -> MovedPast:
    part = ids_of_token_and_its_past(token.pk, task.tokens.values_list("pk", "parent_id", "joined_id"))
    jobs = Job.objects.filter(token__in=part, purpose=Purpose.STATION, state=Job.State.DONE).order_by(
        "ended_at"
    )
    visits = GateVisit.objects.filter(token__in=part, state=GateVisit.State.DECIDED).order_by("decided_at")
    last_words = {visit.gate: visit for visit in visits}
    # law §14: a check or a person at a gate took the pass of the visit back.
    doubted = {visit.job_id for visit in visits if visit.word != Word.APPROVE}
    doubted |= set(Decision.objects.filter(task=task, answer__by="gate").values_list("job_id", flat=True))
    passed: dict[str, bool] = {}
    last_failure = None
    for job in jobs:
        signals = (job.outcome or {}).get("signals")
        passed[job.station] = job.result == "success" and not signals and job.pk not in doubted
        last_failure = last_failure if passed[job.station] else job.ended_at
    approved = {
        gate
        for gate, visit in last_words.items()
        if visit.word == Word.APPROVE
        and not (last_failure and visit.decided_at and last_failure > visit.decided_at)
    }
    return MovedPast(
        passed={*approved, *(station for station, did in passed.items() if did)},
        sent=frozenset(last_words) - approved,
        visits=task.visits,
        moves=sum(task.edges.values()),
        spent=Decimal(str(cost_of_task(task.pk))),
    )


def check_broken_promises_accepted(
    what: str,
    project_id: int,
    user: User | None,
    reason: str,
    accepts: Collection[str],
    broken: Sequence[tuple[str, str]],
) -> None:
    """Check that what a command breaks was named by who may break it. `what`: the command, as its refusals name it.

    Raises Invalid (path `accepts`: a promise would break that is not named; path `reason`: there is none), Forbidden
    (only an administrator of the project may break one)."""
    unnamed = [sentence for name, sentence in broken if name not in accepts]
    if unnamed:
        promises = "; ".join(map(people_text, unnamed))
        raise Invalid.at("accepts", f"Confirm what this {what} breaks: {promises}.", "The plan names each.")
    if not broken:
        return
    # A program has no roles, so that it breaks no promise
    person = entitled_person_or_none(project_id, user) if user else None
    if person is None or Role.ADMIN not in person.roles:
        raise Forbidden(
            f"Only an administrator of the project can {what} a task against what its line promises."
        )
    if not reason.strip():
        raise Invalid.at("reason", "A reason is needed.", "It is stored and shown ever after.")


__all__ = ["SUCCESS", "MovePlan", "move_or_retry_by_hand", "plan_move"]
