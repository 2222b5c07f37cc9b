"""Takes a token through the stations this worker may run: job -> handler -> report (house §2)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import structlog

from pipelines.ports import tracing
from pipelines.ports.terms import DRIVE, EVALUATE, QUICK
from pipelines.routing.basics.outcome import derived_outcome, read_outcome
from pipelines.routing.document.kinds import is_instant, kind_executes
from pipelines.work.config import QUICK_AT_ONCE, WorkerConfig
from pipelines.work.orders.order import Orders
from pipelines.work.spec.handler_io import LookAgain, Outcome
from pipelines.work.transport.protocol import LeaseLost, Started, Transport, TrialTransport
from pipelines.work.worker import trials
from pipelines.work.worker.execution import JobExecution, unstorable_outcome
from pipelines.work.worker.instant import InstantWork
from pipelines.work.worker.prepared_copies import PreparedCopies
from pipelines.work.worker.running import Running, RunningWork
from pipelines.work.workspaces import Folders

log = structlog.get_logger(__name__)


class Driver:
    """Driver of jobs, one per process. `drive` and `drive_job` are safe to call for anything, any number of
    times."""

    def __init__(self, config: WorkerConfig, transport: Transport, folders: Folders) -> None:
        self.config, self.transport, self.folders = config, transport, folders
        self._copies = PreparedCopies(folders)
        self.execution = JobExecution(config, transport, folders, self._copies)
        self.running = Running()
        self._instant = InstantWork(config, transport, self.execution, self.running)
        # House §2: each with seats of its own, so that slow commands hold up neither of the others
        seats = {DRIVE: config.concurrency, QUICK: QUICK_AT_ONCE, EVALUATE: config.concurrency}
        self._slots = {queue: asyncio.Semaphore(count) for queue, count in seats.items()}
        self._drives: set[asyncio.Task[None]] = set()
        self.latest: RunningWork | None = None
        """The work that began last."""
        self.on_begin: Callable[[], object] = tuple
        """Called before anything is claimed: a lease may follow."""

    # Who calls

    async def drive_ticket(self, token_id: int, queue: str) -> None:
        """A ticket of this queue. The drive goes on when the caller is cancelled: it lives by its lease, not by the
        ticket."""
        work = self._drive_instant(token_id) if queue == QUICK else self.drive_token(token_id, queue)
        await asyncio.shield(self.spawn(work))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.on_begin()
        task = asyncio.create_task(work)
        # The loop alone would not keep it: it has weak references to its tasks
        self._drives.add(task)
        task.add_done_callback(self._drives.discard)
        return task

    @property
    def stopping(self) -> bool:
        """Return whether no new station is begun."""
        return self._instant.stopping

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        self._instant.stopping = stopping

    @property
    def drive_count(self) -> int:
        return len(self._drives)

    @property
    def has_no_seat_for_drives(self) -> bool:
        return self._slots[DRIVE].locked()

    async def wait_until_idle(self) -> None:
        """Wait until nothing is driven."""
        while self._drives:
            # A copy: the set changes meanwhile
            await asyncio.wait(set(self._drives))

    async def cancel_every_drive(self) -> None:
        """Cancel every drive: processes are killed, jobs given back."""
        self.stopping = True
        drives = list(self._drives)
        for task in drives:
            task.cancel()
        await asyncio.gather(*drives, return_exceptions=True)

    async def drive_token(self, token_id: int, queue_name: str = DRIVE) -> None:
        await self._claim_and_drive(queue_name, self.transport.claim_token, token_id)

    async def drive_job(self, job_id: int, queue_name: str = DRIVE) -> None:
        """A job without a ticket."""
        await self._claim_and_drive(queue_name, self.transport.claim_job, job_id)

    async def try_station(self, trial: TrialTransport) -> None:
        """A station by itself, beside the seats of stations of tasks."""
        if not self.stopping:
            await asyncio.shield(self.spawn(trials.run_trial(trial, self.config, self.folders, self._copies)))

    # What happens

    async def _drive_instant(self, token_id: int) -> None:
        """Work that takes no time. What else comes of it is driven by itself."""
        if self.stopping:
            return
        try:
            await self._instant.drive(token_id, self._drive_in_own_task)
        # What `InstantWork` held it has given back by then
        except asyncio.CancelledError:
            return
        except Exception:
            log.exception("instant_work_not_taken", token=token_id)
            # By itself, as whatever goes wrong in a batch: others may be to blame (docs/workers.md)
            await self.drive_token(token_id, QUICK)

    def _drive_in_own_task(self, started: Started) -> None:
        self.spawn(self._drive_started(started))

    async def _drive_started(self, started: Started) -> None:
        async with AsyncExitStack() as seat:
            await self._drive_stations(started, self.config.most_stations, seat)

    async def _claim_and_drive(
        self, queue_name: str, claim: Callable[[int], Awaitable[Started | None]], token_or_job_id: int
    ) -> None:
        async with self._slots[queue_name]:
            # Only now: a stop may have come while it waited for its seat
            if not self.stopping:
                started = await claim(token_or_job_id)
                # A station would keep the slot of a question from other questions.
                most = 1 if queue_name == EVALUATE else self.config.most_stations
                async with AsyncExitStack() as seat:
                    await self._drive_stations(started, most, seat if queue_name == QUICK else None)

    async def _drive_stations(
        self, started: Started | None, most_stations: int, seat: AsyncExitStack | None = None
    ) -> None:
        """Run station after station until the token waits or its share of stations or time is used up. `seat`:
        no place is taken yet, as instant work needs none; the first other station takes one, or gives the
        job back where all are taken."""
        loop = asyncio.get_running_loop()
        until, stations = loop.time() + self.config.most_seconds, 0
        while started is not None:
            stations += 1
            if seat is not None and not is_instant(started.orders.kind):
                if self.has_no_seat_for_drives:
                    orders = started.orders
                    await self.transport.give_back(orders.job_id, orders.attempt, started.lease)
                    return
                await seat.enter_async_context(self._slots[DRIVE])
                seat = None
            if started.request_id:
                # Each drive is an asyncio task of its own, and what follows is of the same request.
                tracing.set_current_request_id(started.request_id)
            current = asyncio.current_task()
            assert current is not None
            work = self.latest = self.running.begin_work(started, current)
            try:
                # House §2: after so many stations, or so long, others have their turn
                may_go_on = stations < most_stations and loop.time() < until
                started = await self._run_station_and_report_or_none(work, may_go_on)
            except LookAgain as later:
                orders, lease = work.started.orders, work.started.lease
                await self.transport.give_back(orders.job_id, orders.attempt, lease, later.seconds)
                return
            except LeaseLost:
                log.info("lease_lost", job=work.started.orders.job_id)
                return
            except asyncio.CancelledError:
                await self._settle_cancelled(work)
                return
            except Exception:
                self.running.stop_renewing_lease(work)
                log.exception("drive_failed", job=work.started.orders.job_id)
                return
            finally:
                self.running.forget_work_if_current(work)

    async def _settle_cancelled(self, work: RunningWork) -> None:
        """Settle a job after a cancellation, when the processes have ended: a lost lease belongs to somebody
        else, a planned stop gives it back."""
        if work.lost:
            log.info("lease_lost", job=work.started.orders.job_id)
            return
        orders = work.started.orders
        await self.transport.give_back(orders.job_id, orders.attempt, work.started.lease)

    async def _run_station_and_report_or_none(self, work: RunningWork, may_go_on: bool) -> Started | None:
        started, began = work.started, time.time()
        outcome = await self.execution.run_job(started)
        ended = time.time()
        # After the work, during which a stop may have come
        go_on = may_go_on and not self.stopping
        # From here on its lease may be gone because the report was taken: no loss
        work.reporting = True
        answer = await self.transport.report(started, outcome, go_on)
        if answer.status == "invalid":
            where = f"{answer.path}: {answer.detail}"
            log.warning("outcome_refused", job=started.orders.job_id, why=where)
            # Once more in words that can be stored: left without a report the job would only run again
            outcome = unstorable_outcome(outcome, where)
            answer = await self.transport.report(started, outcome, go_on)
        # Law §5 step 1: the attempt is over, so what follows is not for this worker
        if answer.status not in ("accepted", "repeated"):
            raise LeaseLost
        work.outcome = outcome
        _log_and_trace_work(started.orders, outcome, began, ended)
        left_files = kind_executes(started.orders.kind) or started.orders.question is not None
        if left_files and answer.decision == "finish":
            await asyncio.to_thread(self.folders.remove_kept_folder, started.orders.task_id)
        return answer.following


def _log_and_trace_work(orders: Orders, outcome: Outcome, began: float, ended: float) -> None:
    """Log a job whose report was taken, and record its spans."""
    result = derived_outcome(read_outcome(outcome)).result
    where = {"station": orders.station.key, "kind": orders.kind, "attempt": orders.attempt}
    log.info(
        "job_reported",
        job=orders.job_id,
        task=orders.task,
        **where,
        result=result,
        seconds=round(ended - began, 3),
    )
    attributes = {f"gateline.{name}": value for name, value in {**where, "result": result}.items()}
    tracing.record_work("job", orders.project_id, orders.task, began, ended, attributes)
    tracing.record_work("report", orders.project_id, orders.task, ended, time.time(), attributes)
