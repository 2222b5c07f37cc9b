"""Runs a station by itself, as the execution of a job does, and leaves nothing behind but its log and its outcome."""

from __future__ import annotations

import asyncio

import structlog

from pipelines.work.config import WorkerConfig
from pipelines.work.spec.handler_io import Outcome
from pipelines.work.transport.protocol import Started, TrialTransport
from pipelines.work.worker.execution import JobExecution, unstorable_outcome
from pipelines.work.worker.prepared_copies import PreparedCopies
from pipelines.work.workspaces import Folders

log = structlog.get_logger(__name__)
LOOK_SECONDS = 1.0
AFTER_ITS_TIMEOUT = 60.0
"""Seconds besides the station's own timeout, for what comes before and after its work."""


async def run_trial(
    trial: TrialTransport, config: WorkerConfig, folders: Folders, copies: PreparedCopies
) -> None:
    """Run a trial until it has ended, was cancelled, or took too long; never fails."""
    try:
        started = await trial.claim(config)
        if started is not None:
            await _run_started_trial(trial, started, JobExecution(config, trial, folders, copies))
            await asyncio.to_thread(_remove_folders, folders, started.orders.task_id)
    except Exception:
        log.exception("trial_failed")
    finally:
        await asyncio.shield(asyncio.to_thread(trial.close))


async def _run_started_trial(trial: TrialTransport, started: Started, execution: JobExecution) -> None:
    work = asyncio.create_task(execution.run_job(started))
    why = "stopped"
    try:
        why = await _wait_for_end_and_return_reason(
            trial, work, (started.orders.station.max_timeout or 0.0) + AFTER_ITS_TIMEOUT
        )
    finally:
        # Its processes are gone when the task is.
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        if why:
            await asyncio.shield(trial.give_up(why))
    if why:
        return
    if (error := work.exception()) is not None:
        log.error("trial_not_run", exc_info=error)
        await trial.give_up("failed")
        return
    following = await trial.start_next_station_or_none(work.result())
    if following is not None:
        await _run_started_trial(trial, following, execution)
    else:
        await _report_outcome(trial, work.result())


async def _wait_for_end_and_return_reason(
    trial: TrialTransport, work: asyncio.Task[Outcome], seconds: float
) -> str:
    """ "" when the work is done; else why it is given up."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while True:
        done, _ = await asyncio.wait({work}, timeout=LOOK_SECONDS)
        if done:
            return ""
        if not await trial.keep_alive():
            return "cancelled"
        if loop.time() > until:
            return "time_over"


async def _report_outcome(trial: TrialTransport, outcome: Outcome) -> None:
    if where := await trial.end_or_say_why_unstorable(outcome):
        await trial.end_or_say_why_unstorable(unstorable_outcome(outcome, where))


def _remove_folders(folders: Folders, task: int) -> None:
    folders.remove_kept_folder(task)
    folders.remove_homes_of_task(task)
