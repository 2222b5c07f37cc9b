"""The server's side of a station that is run by itself: what it is given is read, and only its own row is written."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Concat, Length

from pipelines import access
from pipelines.engine.core import payload
from pipelines.engine.core.decision_context import task_fields
from pipelines.errors import Invalid
from pipelines.models import Decision, Job, StationTrial, Task
from pipelines.ports import clock, queue
from pipelines.ports.leases import WorkOffer
from pipelines.ports.terms import EVALUATIONS, TRIALS, TRY_STATION
from pipelines.ports.vault.value_lookup import ValueScope
from pipelines.queries import environments
from pipelines.routing.basics.outcome import read_outcome
from pipelines.routing.basics.problems import Malformed
from pipelines.routing.document.line import ParsedLine, Station, read_line
from pipelines.work import storage
from pipelines.work.config import WorkerConfig
from pipelines.work.handlers.code import runs_code
from pipelines.work.orders.order import Orders
from pipelines.work.spec.agent_call import PermissionAnswer, PermissionRequest
from pipelines.work.spec.repository import AtHost, DeliveryPermission, GitState
from pipelines.work.transport.local import jobs, stored_results
from pipelines.work.transport.local.database import Database
from pipelines.work.transport.local.earlier_output import earlier_outputs_and_errors
from pipelines.work.transport.local.evaluated_runs import (
    PACK,
    EvaluatedRun,
    cost_left_of_evaluation,
    cost_of_evaluated_run,
)
from pipelines.work.transport.local.folders import named_folders, submodule_folders, template_inputs
from pipelines.work.transport.local.orders import (
    cost_left,
    received_handoffs,
    station_order,
    tools_for_station,
)
from pipelines.work.transport.local.repositories import branch_state_for_job, git_order_or_none
from pipelines.work.transport.local.station_hosts import reachable_hosts
from pipelines.work.transport.local.station_values import secret_references, station_values
from pipelines.work.transport.local.worker_offer import CurrentOffer
from pipelines.work.transport.protocol import AttemptResults, LeaseLost, Material, Started, StartingWorkspace

MOST_SECONDS, MOST_EVALUATED_SECONDS = 600.0, 3600.0
"""That a station by itself may take, whatever its own timeout says; in an evaluation nobody waits in front of it."""
WAITS_SECONDS, EVALUATION_WAITS_SECONDS = 120.0, 24 * 3600.0
"""So long it waits for a worker that takes it; a run of an evaluation waits for those before it besides."""
ASIDE_SECONDS = 1.0
LOG_CHARACTERS = 256 * 1024
OUTCOME_BYTES = 1024 * 1024
CUT = "[gateline] The log is cut here."
NAME = "trial"
"""What stands in place of a task's name where there is no task."""
State = StationTrial.State
OPEN = (State.QUEUED, State.RUNNING)


class LocalTrial:
    """A `TrialTransport`."""

    def __init__(self, trial: int) -> None:
        self._trial = trial
        self._database = Database(2, "trial")
        self._source: int | None = None
        self._evaluated: EvaluatedRun | None = None
        self._length = 0

    async def claim(self, config: WorkerConfig) -> Started | None:
        offer = CurrentOffer(uuid.uuid4(), config)
        made = await self._database.call_until_connected(
            lambda: begin_trial_or_none(self._trial, offer.refresh_and_store())
        )
        if made is None:
            return None
        self._source = made.trial.source
        if made.trial.evaluation is not None:
            self._evaluated = await self._database.call_until_connected(EvaluatedRun, made.trial)
        return await self._database.call_until_connected(made.started_trial)

    async def keep_alive(self) -> bool:
        return await self._database.call_until_connected(mark_worker_present_if_trial_runs, self._trial)

    async def start_next_station_or_none(self, outcome: Mapping[str, Any]) -> Started | None:
        # What cannot be stored is refused by `end`, which says why
        if self._evaluated is None or self._evaluated.checks or unstorable_reason(outcome):
            return None
        job = await self._database.call_until_connected(
            self._evaluated.finish_station_and_return_check_run_or_none, dict(outcome)
        )
        if job is None:
            return None
        return await self._database.call_until_connected(started_check, self._trial, job)

    async def end_or_say_why_unstorable(self, outcome: Mapping[str, Any]) -> str:
        ended = [dict(outcome)]
        if self._evaluated is not None and self._evaluated.checks:
            # The last outcome is that of the check
            ended = [self._evaluated.outcome, *ended]
        return await self._database.call_until_connected(end_trial_or_say_why_unstorable, self._trial, *ended)

    async def give_up(self, why: str) -> None:
        await self._database.call_until_connected(cancel_trial, self._trial, why)

    def close(self) -> None:
        if self._evaluated is not None:
            self._evaluated.close()
        self._database.close()

    # What its execution asks

    async def read_material(self, started: Started) -> Material:
        state = self._evaluated.state if self._evaluated else None
        return await self._database.call_until_connected(
            trial_material, self._source, started.orders.project_id, started.orders.scope["input"], state
        )

    async def read_workspace_before_or_none(self, started: Started) -> StartingWorkspace | None:
        return (await self.read_material(started)).before

    def fetch(self, stored: str, path: Path) -> None:
        if self._evaluated is not None and stored.startswith(PACK):
            self._evaluated.fetch(stored, path)
            return
        storage.copy_stored_bytes(storage.artifact_storage(), stored, path)

    async def store_results(self, started: Started, attempt_results: AttemptResults) -> None:
        """Nothing of it is kept; what an evaluation made of a task is compared with what was accepted."""
        if self._evaluated is not None:
            await self._database.call_until_connected(self._evaluated.store, attempt_results)

    def log_appender(self, started: Started) -> Callable[[str], Awaitable[None]]:
        async def append_to_log(text: str) -> None:
            # A station that prints without end fills a row of the database otherwise
            if self._length < LOG_CHARACTERS:
                piece = whole_lines_within(text, LOG_CHARACTERS - self._length)
                await self._database.call_until_connected(append_log, self._trial, self._length, piece)
                # After a cut nothing more is appended
                self._length += len(piece) if piece == text else LOG_CHARACTERS

        return append_to_log

    # Nor is there a task to ask about

    async def answer_agent(
        self, started: Started, question: str, outcome: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        raise_lease_lost()

    async def ask_permission(self, started: Started, request: PermissionRequest) -> PermissionAnswer:
        raise_lease_lost()

    # A delivery is of a task: no such station is run by itself

    async def permit_or_refuse_delivery(self, started: Started) -> DeliveryPermission:
        raise_lease_lost()

    async def report_delivered(
        self,
        started: Started,
        commit: str,
        request: Mapping[str, Any] | None = None,
        base: str | None = None,
    ) -> None:
        raise_lease_lost()

    async def report_host_progress(self, started: Started, host_state: AtHost) -> None:
        raise_lease_lost()

    async def seconds_to_wait(self, started: Started) -> float:
        raise_lease_lost()

    async def find_stored_files(self, started: Started, digests: Sequence[str]) -> Mapping[str, str]:
        raise_lease_lost()

    async def report_base_moved(self, started: Started, onto: str, tree: str) -> None:
        raise_lease_lost()

    async def report_push_by_others(
        self, started: Started, commit: str, who: Sequence[str], logins: Sequence[str]
    ) -> None:
        raise_lease_lost()


def raise_lease_lost() -> NoReturn:
    raise LeaseLost


# Its row


def begin_trial_or_none(trial_id: int, offer: WorkOffer) -> TrialOrders | None:
    """Take it, if it still waits. What this worker does not serve waits for another one."""
    with transaction.atomic():
        waiting = StationTrial.objects.select_for_update(of=("self",)).filter(pk=trial_id, state=State.QUEUED)
        trial = waiting.select_related("line__project__owner", "by", "evaluation").first()
        if trial is None:
            return None
        # The runs before it may have used the budget up while it waited
        if trial.evaluation is not None and not cost_left_of_evaluation(trial.evaluation):
            cancel_trial(trial_id, "budget")
            return None
        made = TrialOrders.orders_for_trial(trial)
        if not _may_still_run(trial, made.station):
            cancel_trial(trial_id, "not_permitted")
            return None
        now = clock.now()
        if can_run_trial(offer, made.task, made.line, made.station):
            trial.state, trial.started_at, trial.seen_at = State.RUNNING, now, now
            trial.save(update_fields=["state", "started_at", "seen_at"])
            return made
        if now - trial.created_at < longest_wait_of_trial_for_worker(trial):
            queue.enqueue_queue_jobs(
                TRY_STATION,
                TRIALS if trial.evaluation is None else EVALUATIONS,
                {"trial_id": trial_id},
                # At once this same worker would take it again
                not_before=jobs.database_time_after(ASIDE_SECONDS),
            )
            return None
    cancel_trial(trial_id, "no_worker")
    return None


def _may_still_run(trial: StationTrial, station: Station) -> bool:
    """Say whether who started it may do so now: they may have left the project while it waited."""
    line, project = trial.line, trial.line.project
    if line.archived_at or project.archived_at:
        return False
    evaluation = trial.evaluation
    actions = ["submit", "design" if evaluation is None else "publish"]
    # A check is a command
    if runs_code(station) or (evaluation is not None and evaluation.check_station):
        actions.append("execute")
    return all(access.is_permitted(trial.by, action, project) for action in actions)


def longest_wait_of_trial_for_worker(trial: StationTrial) -> timedelta:
    """Return for how long it may wait for a worker."""
    return timedelta(seconds=WAITS_SECONDS if trial.evaluation_id is None else EVALUATION_WAITS_SECONDS)


def started_check(trial_id: int, job: Job) -> Started:
    """Return the check of an evaluation, on the files that its station made; `job`: the recorded run of it."""
    trial = StationTrial.objects.select_related("evaluation").get(pk=trial_id)
    assert trial.evaluation is not None
    line = read_line(trial.evaluation.document, keep_faulty_rules=True)
    check = line.station(trial.evaluation.check_station)
    return TrialOrders(trial, line, check, job.task, job).started_trial()


def can_run_trial(offer: WorkOffer, task: Task, line: ParsedLine, station: Station) -> bool:
    """Say whether a worker beside the database does this."""
    besides = environments.offers_required_of_worker(task.project_id, line, station, task.inputs)
    return offer.can_do_station(
        task.project.owner.key,
        station,
        ValueScope.scope_of_task(task).needs_met_by_stored_secrets(station),
        besides,
    )


def mark_worker_present_if_trial_runs(trial_id: int) -> bool:
    return bool(StationTrial.objects.filter(pk=trial_id, state=State.RUNNING).update(seen_at=clock.now()))


def unstorable_reason(outcome: Mapping[str, Any]) -> str:
    """ "", or why this outcome cannot be stored."""
    try:
        payload.checked_digest(outcome, "outcome")
        read_outcome(outcome, "outcome")
    except (Invalid, Malformed) as fault:
        return f"{fault.path}: {fault.message}"
    if len(json.dumps(outcome)) > OUTCOME_BYTES:
        return f"The outcome is larger than {OUTCOME_BYTES >> 20} MiB."
    return ""


def end_trial_or_say_why_unstorable(
    trial_id: int, outcome: dict[str, Any], check_outcome: dict[str, Any] | None = None
) -> str:
    """ "", or why this cannot be stored. `check_outcome`: of the check, behind an outcome that can be."""
    if reason := unstorable_reason(outcome if check_outcome is None else check_outcome):
        return reason
    running = StationTrial.objects.filter(pk=trial_id, state=State.RUNNING)
    # One statement on a running one: what was cancelled meanwhile stays cancelled
    running.update(state=State.DONE, outcome=outcome, check_outcome=check_outcome, ended_at=clock.now())
    return ""


def cancel_trial(trial_id: int, why: str) -> None:
    still_open = StationTrial.objects.filter(pk=trial_id, state__in=OPEN)
    still_open.update(state=State.CANCELLED, why=why, ended_at=clock.now())


def whole_lines_within(text: str, room: int) -> str:
    """Whole lines as far as there is room for them, and then that something is missing."""
    if len(text) <= room:
        return text
    lines = text[:room].rpartition("\n")[0]
    at = text.partition("\t")[0]
    return f"{lines}\n{at}\t{CUT}\n".lstrip("\n")


def append_log(trial_id: int, length: int, text: str) -> None:
    """Once, however often it is sent."""
    written = StationTrial.objects.annotate(length=Length("log")).filter(pk=trial_id, length=length)
    written.update(log=Concat(F("log"), Value(text)))


def trial_material(
    source: int | None, project: int, inputs: Mapping[str, Any], state: GitState | None
) -> Material:
    """`state`: of the branch in an evaluation, whose files are those of its commit alone."""
    files = tuple(stored_results.uploaded_files(project, inputs))
    task = Job.objects.filter(pk=source).values_list("task_id", flat=True).first() if source else None
    if source is None or task is None:
        return Material(None, files=files)
    # What later visits left is the very work that is done anew
    earlier = tuple(stored_results.artifacts_of_last_visits(task, before=source))
    if state is not None:
        return Material(None, earlier, files, state)
    return Material(
        stored_results.last_snapshot_or_none(source), earlier, files, branch_state_for_job(source)
    )


# Its orders


@dataclass(frozen=True)
class TrialOrders:
    """A trial with what it is about. `job`: the recorded run; without one neither it nor `task` is stored anywhere."""

    trial: StationTrial
    line: ParsedLine
    station: Station
    task: Task
    job: Job

    @classmethod
    def orders_for_trial(cls, trial: StationTrial) -> TrialOrders:
        document = trial.evaluation.document if trial.evaluation else trial.document
        # A draft is tried while it is drawn: one station works without its rules
        line = read_line(document, keep_faulty_rules=True)
        job = (
            recorded_job(trial.source)
            if trial.source
            else Job(task=unstored_task(trial), visit=1, created_at=clock.now())
        )
        return cls(trial, line, line.station(trial.station), job.task, job)

    def started_trial(self) -> Started:
        values = station_values(self.task, self.line, [self.station], secret_references(self.line))
        return Started(self._orders_of_run(), uuid.uuid4(), values)

    def _orders_of_run(self) -> Orders:
        task, job, station = self.task, self.job, self.station
        runs, inputs = tools_for_station(self.line, station), template_inputs(task, self.line)
        git = git_order_or_none(task, self.line, station, 0)
        evaluation, most = self.trial.evaluation, MOST_SECONDS
        cost = cost_left(job, self.line, station)
        if evaluation is not None:
            cost, most = cost_of_evaluated_run(evaluation, station), MOST_EVALUATED_SECONDS
        order = station_order(station, reachable_hosts(task, station), **cost)
        return Orders(
            # Of no job and no task: folders are named by these.
            job_id=-self.trial.pk,
            task_id=-self.trial.pk,
            token_id=0,
            attempt=1,
            project_id=task.project_id,
            task=NAME,
            owner=task.project.owner.key,
            visit=job.visit,
            feedback=job.feedback,
            asked=job.asked,
            project=task.project.key,
            preset=self.line.preset,
            kind=station.kind,
            station=replace(order, max_timeout=min(order.max_timeout or most, most)),
            declared=runs,
            scope={
                "task": {**task_fields(task), "name": NAME},
                "input": inputs,
                "context": self._context_of_recorded_run(),
                "variables": task.variables,
                "said": earlier_outputs_and_errors(job, self.line, station) if job.pk else {},
                "macros": {
                    "chain": self.line.key,
                    "edges": task.edges,
                    "tools": [tool["name"] for tool in runs],
                },
            },
            repositories=tuple(
                line_input.key for line_input in self.line.inputs if line_input.type == "repository"
            ),
            handoff=received_handoffs([job]).get(job.pk) if job.pk else None,
            begun=job.created_at.timestamp(),
            git=git,
            folders=named_folders(task, self.line, station, inputs, git.address if git else ""),
            submodule_folders=submodule_folders(task, git.address if git else ""),
        )

    def _context_of_recorded_run(self) -> Mapping[str, Any]:
        """Return the context of a recorded run as it was when that was decided about."""
        if not self.job.pk:
            return self.trial.context
        decided = Decision.objects.filter(job_id=self.job.pk).order_by("at")
        then = decided.values_list("situation__facts__context", flat=True).first()
        return self.task.context if then is None else then


def recorded_job(job_id: int) -> Job:
    return Job.objects.select_related("task__project__owner", "task__line").get(pk=job_id)


def unstored_task(trial: StationTrial) -> Task:
    """Build the task that templates and the environment read where none is stored."""
    return Task(
        project=trial.line.project,
        line=trial.line,
        number=0,
        title=trial.line.name,
        requester=trial.by,
        requested_by=trial.by.username,
        inputs=trial.inputs,
    )
