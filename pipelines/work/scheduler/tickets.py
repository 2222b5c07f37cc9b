"""The entry points of the queue. A job of the queue is only a ticket (house §2)."""

from __future__ import annotations

import asyncio

from procrastinate import JobContext
from procrastinate.contrib.django import app

from pipelines.ports.queue_tasks import DRIVE_TOKEN
from pipelines.ports.terms import DRIVE, TRIALS, TRY_STATION
from pipelines.work.transport.local.trials import LocalTrial
from pipelines.work.worker.service import TakesWork

DRIVER = "driver"


@app.task(name=DRIVE_TOKEN, queue=DRIVE, pass_context=True)
async def drive(context: JobContext, token_id: int) -> None:
    """Drive a token, in the worker process that `additional_context` brings along.

    Never fails: what happened to the token stands in the database. When the queue is shut down the ticket is spent, and
    the drive goes on by its lease."""
    driver: TakesWork = context.additional_context[DRIVER]
    try:
        await driver.ticket(token_id, context.job.queue)
    except asyncio.CancelledError:
        return


@app.task(name=TRY_STATION, queue=TRIALS, pass_context=True)
async def try_station(context: JobContext, trial_id: int) -> None:
    """Run a station by itself; how it ended stands in its row."""
    driver: TakesWork = context.additional_context[DRIVER]
    try:
        await driver.try_station(LocalTrial(trial_id))
    except asyncio.CancelledError:
        return
