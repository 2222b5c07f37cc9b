"""What a worker works on: a run whose job went on under another lease is lost, and only that one."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pipelines.work.transport.protocol import Started
from pipelines.work.worker.running import Running, RunningWork
from pipelines.work.workspaces import Folders


def started(job: int) -> Started:
    return Started(cast(Any, SimpleNamespace(job_id=job)), uuid.uuid4())


async def begun(running: Running, job: int) -> RunningWork:
    return running.begin_work(started(job), asyncio.create_task(asyncio.Event().wait()))


async def test_a_job_that_was_held_and_comes_back_ends_its_earlier_run() -> None:
    running = Running()
    first, other = await begun(running, 1), await begun(running, 2)
    second = await begun(running, 1)
    assert (first.lost, second.lost, other.lost) == (True, False, False)
    await asyncio.wait([first.task])
    assert first.task.cancelled()
    running.forget_work_if_current(first)
    assert running.work[1] is second
    for work in (second, other):
        work.task.cancel()


async def test_a_run_that_fails_late_does_not_keep_the_next_one_from_being_renewed() -> None:
    running = Running()
    first = await begun(running, 1)
    running.stop_renewing_lease(first)
    assert running.abandoned == {1}
    second = await begun(running, 1)
    running.stop_renewing_lease(first)
    assert running.abandoned == set()
    second.task.cancel()


def test_two_runs_of_one_attempt_have_folders_of_their_own(tmp_path: Path) -> None:
    folders = Folders(tmp_path, uuid.uuid4())
    roots = {folders.attempt_folder(7, 1, 1, uuid.uuid4()).root for _ in range(2)}
    assert len(roots) == 2
