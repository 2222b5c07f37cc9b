"""Trial of one station by itself from the editor: requested, cancelled, and over after an hour. A worker runs
it (`pipelines.work.worker.trials`); no task has any part in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction

from pipelines import access
from pipelines.engine.commands import inputs as forms
from pipelines.engine.core import payload
from pipelines.errors import Conflict, Forbidden, Invalid, NotFound, first_row_or_raise_not_found
from pipelines.lines.publishing import LineArchived
from pipelines.models import Job, Line, Purpose, StationTrial, User
from pipelines.ports import audit, clock, queue
from pipelines.ports.leases import offers_of_live_workers
from pipelines.ports.terms import TRIALS, TRY_STATION
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import environments, unclaimable_jobs
from pipelines.routing.document.kinds import KINDS, can_run_alone
from pipelines.routing.document.line import Station, read_line
from pipelines.work.handlers.code import runs_code
from pipelines.work.transport.local.trials import (
    EVALUATION_WAITS_SECONDS,
    OPEN,
    WAITS_SECONDS,
    TrialOrders,
    can_run_trial,
)

RETENTION = timedelta(hours=1)
AT_ONCE = 200
SHOWN_RUNS = 20
LOST = timedelta(seconds=20)
"""Without a word of its worker."""
UNTAKEN = timedelta(seconds=2 * WAITS_SECONDS)
UNTAKEN_EVALUATION = timedelta(seconds=2 * EVALUATION_WAITS_SECONDS)

ENDED: Final[Mapping[str, str]] = {
    "cancelled": "Cancelled.",
    "stopped": "The runner was stopped before the station had ended.",
    "lost": "The runner stopped answering.",
    "no_worker": "No runner took it within two minutes.",
    "time_over": "Stopped, because it took too long.",
    "failed": "It could not be run. The log of the runner says why.",
    "stopped_by_hand": "Stopped.",
    "budget": "Not run: the cost limit was reached.",
    "not_permitted": "Not run: who started it may not run it any more.",
}


@dataclass(frozen=True)
class TrialRequest:
    """`document`: the line as it is drawn, stored or not. `source`: the recorded run whose inputs and files it gets;
    with one, `inputs` and `context` are not read."""

    document: Mapping[str, Any]
    station: str
    inputs: Mapping[str, Any]
    context: Mapping[str, Any]
    source: int | None = None


def start_trial(line: Line, user: User, trial_request: TrialRequest) -> StationTrial:
    """Raises Forbidden (design and submit; `execute` for what publishing asks it for), Invalid, Conflict."""
    station = station_that_user_may_run(line, user, trial_request.document, trial_request.station)
    payload.checked_digest(trial_request.context, "context")
    # Lost ones are closed first: one of this person's would keep them from starting another.
    now = clock.now()
    close_lost_trials(now)
    trial = StationTrial(
        line=line,
        station=station.key,
        document=dict(trial_request.document),
        source=_checked_source_job_id_or_none(line, station.key, trial_request.source),
        by=user,
        created_at=now,
    )
    if trial.source is None:
        trial.inputs, trial.context = _trial_inputs(line, trial_request), dict(trial_request.context)
    check_shared_worker_could_run(trial)
    try:
        with transaction.atomic():
            trial.save(force_insert=True)
            # In the transaction: there is a trial with its ticket, or neither.
            queue.enqueue_queue_jobs(TRY_STATION, TRIALS, {"trial_id": trial.pk})
            about, name = f"line:{line.pk}", f"{line.name}: {station.name}"
            audit.record_administrative_act(
                "station.tried", by=user, at=now, project=line.project, about=about, name=name
            )
    except IntegrityError as conflict:
        raise Conflict("Another station that you run is still going. Cancel it first.") from conflict
    return trial


def station_that_user_may_run(line: Line, user: User, document: Mapping[str, Any], key: str) -> Station:
    """Return a station of a document that this person may run by itself. Raises Forbidden, Invalid, NotFound,
    LineArchived."""
    access.require_permission(user, "design", line.project)
    access.require_permission(user, "submit", line.project)
    if line.archived_at or line.project.archived_at:
        raise LineArchived
    payload.checked_digest(document, "document")
    drawn = read_line(document, keep_faulty_rules=True)
    station = drawn.stations_by_key.get(key)
    if station is None:
        raise NotFound("This line has no such station.")
    if not can_run_alone(station):
        raise Invalid.at("station", "This station cannot run by itself.")
    # A trial runs what it is sent, so that it takes what publishing it would take
    if runs_code(station) and not access.is_permitted(user, "execute", line.project):
        raise Forbidden(
            "A station that runs code or uses secrets needs the permission “execute”, which you do not have."
        )
    lacking = list(KINDS[station.kind].publishing_problems(drawn, station, "work"))
    if lacking:
        raise Invalid(lacking)
    return station


def _trial_inputs(line: Line, trial_request: TrialRequest) -> dict[str, Any]:
    """Return the inputs as a task would have them, except that none is required."""
    drawn = read_line(trial_request.document, keep_faulty_rules=True)
    # One station is tried, which may read few of them
    fields = [replace(field, required=False) for field in drawn.inputs]
    return forms.checked_inputs_with_defaults(
        fields, trial_request.inputs, ValueScope(line.project.owner_id, line.project_id, line.pk)
    )


def _checked_source_job_id_or_none(line: Line, station: str, job: int | None) -> int | None:
    if job is None:
        return None
    job_row = first_row_or_raise_not_found(
        _done_station_runs(line, station).filter(pk=job), "This station has no such run."
    )
    return job_row.pk


def check_shared_worker_could_run(trial: StationTrial) -> None:
    """Raises Conflict: no worker beside the database is there that could run it."""
    made = TrialOrders.orders_for_trial(trial)
    # Trials are for workers beside the database: a runner of a project does none
    shared_offers = [offer for offer in offers_of_live_workers() if offer.project is None]
    if any(can_run_trial(offer, made.task, made.line, made.station) for offer in shared_offers):
        return
    project = trial.line.project
    besides = environments.offers_required_of_worker(project.pk, made.line, made.station, made.task.inputs)
    brought = ValueScope.scope_of_task(made.task).needs_met_by_stored_secrets(made.station)
    refusal = unclaimable_jobs.unclaimed_reason(
        project.owner.key, made.station, shared_offers, brought, besides
    )
    raise Conflict(" ".join(filter(None, (refusal.text, refusal.remedy))))


def recorded_runs_newest_first(line: Line, station: str) -> list[Job]:
    """The latest runs of a station that tasks recorded, the newest first."""
    return list(
        _done_station_runs(line, station).select_related("task__project").order_by("-pk")[:SHOWN_RUNS]
    )


def _done_station_runs(line: Line, station: str):  # type: ignore[no-untyped-def]  # a queryset
    return Job.objects.filter(task__line=line, station=station, purpose=Purpose.STATION, state=Job.State.DONE)


def newest_trial_or_none(line: Line, user: User, station: str) -> StationTrial | None:
    """Return the newest trial of this person at this station, within the hour."""
    return _own_trials(line, user).filter(station=station).order_by("-pk").first()


def get_trial(line: Line, user: User, trial: int) -> StationTrial:
    """Their own. Raises NotFound."""
    return first_row_or_raise_not_found(_own_trials(line, user).filter(pk=trial))


def _own_trials(line: Line, user: User):  # type: ignore[no-untyped-def]  # a queryset
    """Return this person's trials of the last hour, whether or not the older ones are deleted yet."""
    now = clock.now()
    close_lost_trials(now)
    return StationTrial.objects.filter(
        line=line, by=user, created_at__gte=now - RETENTION, evaluation__isnull=True
    )


def cancel_trial(line: Line, user: User, trial: int) -> StationTrial:
    """Its worker sees it within a second or two. Raises NotFound; one that is over stays as it is."""
    trial_row = get_trial(line, user, trial)
    cancel_trials(StationTrial.objects.filter(pk=trial_row.pk, state__in=OPEN), "cancelled", clock.now())
    trial_row.refresh_from_db()
    return trial_row


def close_lost_trials(now: datetime) -> None:
    """Close the trials that nobody works on any more, or ever will."""
    running = StationTrial.objects.filter(state=StationTrial.State.RUNNING, seen_at__lt=now - LOST)
    queued = StationTrial.objects.filter(state=StationTrial.State.QUEUED, created_at__lt=now - UNTAKEN)
    cancel_trials(running, "lost", now)
    cancel_trials(queued.filter(evaluation__isnull=True), "no_worker", now)
    evaluated = queued.filter(evaluation__isnull=False, created_at__lt=now - UNTAKEN_EVALUATION)
    cancel_trials(evaluated, "no_worker", now)


def cancel_trials(open_trials, why: str, now: datetime) -> None:  # type: ignore[no-untyped-def]  # a queryset
    open_trials.update(state=StationTrial.State.CANCELLED, why=why, ended_at=now)


def delete_some_old_trials(now: datetime) -> int:
    """Delete some of those that were asked for more than an hour ago; how many."""
    old = (
        StationTrial.objects.filter(created_at__lt=now - RETENTION, evaluation__isnull=True)
        .order_by("created_at")
        .values("pk")[:AT_ONCE]
    )
    return StationTrial.objects.filter(pk__in=old).delete()[0]
