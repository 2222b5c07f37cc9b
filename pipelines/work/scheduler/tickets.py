"""The entry points of the queue. A job of the queue is only a ticket (house §2)."""

from __future__ import annotations

import asyncio

import structlog
from django.db import DatabaseError, InterfaceError
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.ports.queue_tasks import DRIVE_TOKEN, FOLLOW_UP, START_AFTER
from pipelines.ports.terms import DRIVE, QUICK, TRIALS, TRY_STATION
from pipelines.work.transport.local.database import Database
from pipelines.work.transport.local.trials import LocalTrial
from pipelines.work.triggers import line_end_starts
from pipelines.work.worker.service import TakesWork

log = structlog.get_logger(__name__)
DRIVER = "driver"
DATABASE = Database(1, "follow-ups")
# A worker that is stopped in the middle leaves the ticket to the next.
STOPPED = RetryStrategy(
    max_attempts=6,
    exponential_wait=5,
    retry_exceptions=[DatabaseError, InterfaceError, *[asyncio.CancelledError]],  # type: ignore[list-item]
)


@app.task(name=DRIVE_TOKEN, queue=DRIVE, pass_context=True)
async def drive(context: JobContext, token_id: int) -> None:
    """Drive a token, in the worker process that `additional_context` brings along.

    Never fails: what happened to the token stands in the database. When the queue is shut down the ticket is spent, and
    the drive goes on by its lease."""
    driver: TakesWork = context.additional_context[DRIVER]
    try:
        await driver.drive_ticket(token_id, context.job.queue)
    except asyncio.CancelledError:
        return


@app.task(name=FOLLOW_UP, queue=QUICK, retry=STOPPED)
async def follow_up(task_id: int) -> None:
    """Start the task that follows one that has ended. Told twice, it is started once."""
    try:
        await DATABASE.call_until_connected(engine.start_follow_up_task, task_id)
    except Conflict as refused:
        log.warning("not_followed_up", task=task_id, why=refused.detail)


@app.task(name=START_AFTER, queue=QUICK, retry=STOPPED)
async def start_after(trigger_id: int, task_id: int) -> None:
    """Start the task that a trigger starts after the end of this one. Told twice, it is started once."""
    try:
        await DATABASE.call_until_connected(
            line_end_starts.start_task_after_end_and_return_outcome, trigger_id, task_id
        )
    except (DatabaseError, InterfaceError):
        raise
    except Exception:
        log.exception("not_started_after", trigger=trigger_id, task=task_id)
        await DATABASE.call_until_connected(line_end_starts.pause_and_record_fault, trigger_id, task_id)


@app.task(name=TRY_STATION, queue=TRIALS, pass_context=True)
async def try_station(context: JobContext, trial_id: int) -> None:
    """Run a station by itself; how it ended stands in its row."""
    driver: TakesWork = context.additional_context[DRIVER]
    try:
        await driver.try_station(LocalTrial(trial_id))
    except asyncio.CancelledError:
        return
