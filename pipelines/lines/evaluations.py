"""Evaluations: past tasks whose change was accepted, given once more to a station as a draft has it, before that is
published. Each is a trial (`pipelines.lines.trials`): it merges nothing, starts nothing, and tells nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from procrastinate.types import JSONDict

from pipelines import access
from pipelines.errors import Conflict, Invalid, first_row_or_raise_not_found
from pipelines.lines import trials
from pipelines.models import Delivery, Job, Line, LineEvaluation, Purpose, StationTrial, User
from pipelines.ports import audit, clock, queue
from pipelines.ports.terms import EVALUATIONS, TRY_STATION
from pipelines.routing.basics.plural import singular_or_plural
from pipelines.routing.document.kinds import can_run_alone
from pipelines.routing.document.kinds.command import KIND as COMMAND
from pipelines.routing.document.line import ParsedLine, Station
from pipelines.work.transport.local.trials import OPEN

RETENTION = timedelta(days=90)
MOST_TASKS = 50
USUAL_TASKS = 10
LEAST_COST, MOST_COST = Decimal("0.01"), Decimal(10_000)
LISTED = 50
AT_ONCE = 20


@dataclass(frozen=True)
class EvaluationRequest:
    """`document`: the line with what is to be tried. `last`: how many of the tasks that were accepted last; `tasks`:
    the names of those to take instead."""

    document: Mapping[str, Any]
    station: str
    cost_limit: Decimal
    check: str = ""
    last: int = USUAL_TASKS
    tasks: Sequence[str] = ()


def evaluable_stations(line: ParsedLine) -> list[Station]:
    """Return the stations that can be given a past task: those that work in its repository by themselves."""
    return [station for station in line.stations if can_run_alone(station) and not station.join]


def first_accepted_runs_newest_first(line: Line, station: str) -> QuerySet[Job]:
    """Return the first run of a station in each task of this line that completed and whose change landed, the newest
    task first."""
    landed = Delivery.objects.filter(task=OuterRef("task"), landed_at__isnull=False)
    rows = Job.objects.filter(
        Exists(landed),
        task__line=line,
        task__status="completed",
        station=station,
        purpose=Purpose.STATION,
        state=Job.State.DONE,
        # A later visit had feedback, and so knew what was wrong
        visit=1,
        # Without a commit there is nothing to start from, or to compare with
        visit_commit__isnull=False,
    )
    return rows.order_by("-task__ended_at", "-task_id")


def start_evaluation(line: Line, user: User, request: EvaluationRequest) -> LineEvaluation:
    """Start it: its runs go one after another. Raises Forbidden (who may publish and start tasks, and `execute` for
    what publishing asks it for), Invalid, Conflict."""
    access.require_permission(user, "publish", line.project)
    station = trials.station_that_user_may_run(line, user, request.document, request.station)
    if request.check:
        check = trials.station_that_user_may_run(line, user, request.document, request.check)
        # A command judges the work of then and of now by the same measure
        if check.kind != COMMAND.key or check.key == station.key:
            raise Invalid.at("check", "The check is another station of this line that runs a command.")
    if not LEAST_COST <= request.cost_limit <= MOST_COST:
        raise Invalid.at("cost_limit", f"The cost limit is {LEAST_COST} to {MOST_COST} dollars.")
    now = clock.now()
    # A run whose worker is gone would keep the line from another evaluation
    trials.close_lost_trials(now)
    # Before the lock: it only reads, and may read much
    sources = _chosen_runs(line, request)
    with transaction.atomic():
        # Two who start at once come one after the other
        Line.objects.select_for_update().get(pk=line.pk)
        if _open_trials(StationTrial.objects.filter(line=line, evaluation__isnull=False)).exists():
            raise Conflict("Another evaluation of this line is still running. Stop it first.")
        evaluation = LineEvaluation.objects.create(
            line=line,
            station=station.key,
            check_station=request.check,
            # The draft may change while the runs wait for their turn
            document=dict(request.document),
            cost_limit=request.cost_limit,
            by=user,
            created_at=now,
        )
        made = StationTrial.objects.bulk_create(
            StationTrial(
                line=line,
                station=station.key,
                # That of the evaluation counts: it would be the same in each of them
                document={},
                source=source,
                evaluation=evaluation,
                by=user,
                created_at=now,
            )
            for source in sources
        )
        # In the transaction: where no worker could run it, nothing of it stays
        trials.check_shared_worker_could_run(made[0])
        tickets: list[JSONDict] = [{"trial_id": trial.pk} for trial in made]
        # Not in the queue of trials, before which people sit and wait
        queue.enqueue_queue_jobs(TRY_STATION, EVALUATIONS, *tickets)
        number = f"{len(made)} {singular_or_plural('task', 'tasks', len(made))}"
        about, name = f"line:{line.pk}", f"{line.name}: {station.name} ({number})"
        audit.record_administrative_act(
            "line.evaluated", by=user, at=now, project=line.project, about=about, name=name
        )
    return evaluation


def _chosen_runs(line: Line, request: EvaluationRequest) -> list[int]:
    """Raises Invalid: none, too many, or a task that was not accepted."""
    rows = first_accepted_runs_newest_first(line, request.station)
    if not request.tasks:
        if not 1 <= request.last <= MOST_TASKS:
            raise Invalid.at("last", f"Choose 1 to {MOST_TASKS} tasks.")
        chosen = list(rows.values_list("pk", flat=True)[: request.last])
        if not chosen:
            raise Invalid.at("station", "No task of this line with a run of this station was accepted yet.")
        return chosen
    # A task that is named twice is paid for once
    names = list(dict.fromkeys(request.tasks))
    if len(names) > MOST_TASKS:
        raise Invalid.at("tasks", f"Choose at most {MOST_TASKS} tasks.")
    numbers = {name: _task_number_or_zero(line, name) for name in names}
    runs = dict(rows.filter(task__number__in=numbers.values()).values_list("task__number", "pk"))
    for name, number in numbers.items():
        if number not in runs:
            raise Invalid.at("tasks", f"{name} is no accepted task of this line with a run of this station.")
    return [runs[number] for number in numbers.values()]


def _task_number_or_zero(line: Line, name: str) -> int:
    """0, which no task has, where this is no name of a task of the project."""
    number = name.removeprefix(f"WI-{line.project.key}-")
    # 19 digits may be more than a bigint holds, and `isdigit` takes those of other scripts
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else 0


def usual_check_station_or_empty(line: Line, document: ParsedLine, station: str) -> str:
    """Return the command that last counted the tests of an accepted task of this line; "" where none did."""
    tasks = first_accepted_runs_newest_first(line, station).values_list("task_id", flat=True)[:USUAL_TASKS]
    counted = Job.objects.filter(
        task__in=list(tasks), kind=COMMAND.key, purpose=Purpose.STATION, outcome__facts__has_key="tests"
    )
    key = counted.order_by("-pk").values_list("station", flat=True).first() or ""
    return key if key != station and key in document.stations_by_key else ""


def evaluations_of_line(line: Line) -> list[LineEvaluation]:
    """The newest first, without their documents."""
    trials.close_lost_trials(clock.now())
    rows = LineEvaluation.objects.filter(line=line).select_related("by").defer("document")
    return list(rows.order_by("-created_at", "-pk")[:LISTED])


def get_evaluation(line: Line, evaluation: int) -> LineEvaluation:
    """Raises NotFound."""
    trials.close_lost_trials(clock.now())
    return first_row_or_raise_not_found(
        LineEvaluation.objects.filter(line=line, pk=evaluation).select_related("by", "line__project")
    )


def stop_evaluation(line: Line, user: User, evaluation: int) -> LineEvaluation:
    """End what runs and what waits. One that has ended stays as it is. Raises Forbidden, NotFound."""
    access.require_permission(user, "publish", line.project)
    row, now = get_evaluation(line, evaluation), clock.now()
    still_open = _open_trials(row.trials)
    if still_open.exists():
        trials.cancel_trials(still_open, "stopped_by_hand", now)
        LineEvaluation.objects.filter(pk=row.pk).update(stopped_at=now)
        row.refresh_from_db(fields=["stopped_at"])
    return row


def _open_trials(rows: Any) -> Any:
    return rows.filter(state__in=OPEN)


def delete_some_old_evaluations(now: datetime) -> int:
    """Delete some of those that were started more than 90 days ago; how many."""
    # A few at a time: each brings documents, logs and differences with it
    old = LineEvaluation.objects.filter(created_at__lt=now - RETENTION).order_by("created_at")[:AT_ONCE]
    keys = list(old.values_list("pk", flat=True))
    LineEvaluation.objects.filter(pk__in=keys).delete()
    return len(keys)
