"""Takes a token through the stations that this worker may run: job -> handler -> engine.report (house §2)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from pipelines.ports.leases import Claim
from pipelines.ports.queue import DRIVE, EVALUATE
from pipelines.routing.document.kinds import KINDS, executes
from pipelines.work import storage
from pipelines.work.config import WorkerConfig
from pipelines.work.database import Database
from pipelines.work.handlers.log import JobLog
from pipelines.work.handlers.table import HANDLERS
from pipelines.work.orders.order import Unrenderable
from pipelines.work.orders.specs import spec_of
from pipelines.work.results import repositories
from pipelines.work.results.text import Masker
from pipelines.work.spec.base import Attempt, Outcome, Spec
from pipelines.work.transport import handover, jobs
from pipelines.work.transport.handover import Before, HandedOver, LeaseLost, Leavings, Wanted
from pipelines.work.transport.jobs import Started
from pipelines.work.transport.reports import Reports
from pipelines.work.worker.evaluations import Asking
from pipelines.work.worker.running import Running, Work
from pipelines.work.workspaces import Folders, Kept, Picture, WorkspaceTooLarge, restore, take_picture

log = structlog.get_logger(__name__)
GIT = "git"


@dataclass(frozen=True)
class Pools:
    """Threads with database connections, apart for what must not wait for each other."""

    engine: Database
    logs: Database


class Driver:
    """One per process. `drive` and `drive_job` are safe to call for anything, any number of times."""

    def __init__(self, worker: uuid.UUID, config: WorkerConfig, pools: Pools, folders: Folders) -> None:
        self.config, self.pools, self.folders = config, pools, folders
        self.claim = Claim(
            worker, config.labels, config.owners, config.lease_seconds, config.answers, config.offers
        )
        self.asking = Asking(config, pools.engine, pools.logs, folders, self._prepare)
        self.reports = Reports(pools.engine, f"worker:{worker}")
        self.running = Running()
        self.stopping = False
        # Something could not be written: shown in /healthz until it can be again.
        self.no_space = False
        self._masker = Masker(config.secrets)
        self._slots = {queue: asyncio.Semaphore(config.concurrency) for queue in (DRIVE, EVALUATE)}
        self._drives: set[asyncio.Task[None]] = set()

    # Who calls

    async def ticket(self, token_id: int, queue: str) -> None:
        """A ticket of this queue. The drive goes on when the caller is cancelled: it lives by its lease, not by the
        ticket."""
        await asyncio.shield(self.spawn(self.drive(token_id, queue)))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._drives.add(task)
        task.add_done_callback(self._drives.discard)
        return task

    @property
    def busy(self) -> int:
        return len(self._drives)

    @property
    def full(self) -> bool:
        return self._slots[DRIVE].locked()

    async def idle(self) -> None:
        """Until nothing is driven."""
        while self._drives:
            await asyncio.wait(set(self._drives))

    async def stop(self) -> None:
        """Cancel every drive: processes are killed, jobs given back."""
        self.stopping = True
        drives = list(self._drives)
        for task in drives:
            task.cancel()
        await asyncio.gather(*drives, return_exceptions=True)

    async def drive(self, token_id: int, queue: str = DRIVE) -> None:
        await self._drive(queue, jobs.start_token, token_id)

    async def drive_job(self, job_id: int, queue: str = DRIVE) -> None:
        """A job without a ticket."""
        await self._drive(queue, jobs.start_job, job_id)

    # What happens

    async def _drive(self, queue: str, start: Callable[[int, Claim], Started | None], which: int) -> None:
        async with self._slots[queue]:
            if not self.stopping:
                started = await self.pools.engine.insist(start, which, self.claim)
                # A station would keep the slot of a question from other questions.
                await self._go(started, self.config.most_stations if queue == DRIVE else 1)

    async def _go(self, started: Started | None, most_stations: int) -> None:
        """Station after station, until the token rests or others get their turn."""
        loop = asyncio.get_running_loop()
        until, stations = loop.time() + self.config.most_seconds, 0
        while started is not None:
            stations += 1
            current = asyncio.current_task()
            assert current is not None
            work = self.running.begin(started, current)
            try:
                may_go_on = stations < most_stations and loop.time() < until
                started = await self._station(work, may_go_on)
            except LeaseLost:
                log.info("lease_lost", job=work.started.orders.job_id)
                return
            except asyncio.CancelledError:
                await self._stopped(work)
                return
            except Exception:
                self.running.abandon(work)
                log.exception("drive_failed", job=work.started.orders.job_id)
                return
            finally:
                self.running.end(work)

    async def _stopped(self, work: Work) -> None:
        """Cancelled, and the processes are gone. A lost lease is somebody else's now; a planned stop gives it back."""
        if work.lost:
            log.info("lease_lost", job=work.started.orders.job_id)
            return
        await self.pools.engine.insist(jobs.give_back, work.started)

    async def _station(self, work: Work, may_go_on: bool) -> Started | None:
        started = work.started
        outcome = await self._work(started)
        claim = self.claim if may_go_on and not self.stopping else None
        work.reporting = True
        answer = await self.reports.send(started, outcome, claim)
        if answer.result.status == "invalid":
            where = f"{answer.result.path}: {answer.result.detail}"
            log.warning("outcome_refused", job=started.orders.job_id, why=where)
            answer = await self.reports.send(started, unstorable(outcome, where), claim)
        if answer.result.status not in ("accepted", "repeated"):
            raise LeaseLost
        left_files = executes(started.orders.kind) or started.orders.question is not None
        if left_files and answer.result.decision == "finish":
            await asyncio.to_thread(self.folders.forget, started.orders.task_id)
        return answer.following

    async def _work(self, started: Started) -> Outcome:
        """The outcome of one job; whatever it left behind is stored. A full disk is an outcome, too: another attempt
        here would only meet it again, and what was half written is removed."""
        try:
            return await self._done(started)
        except OSError as error:
            if not storage.is_full(error):
                raise
            self.no_space = True
            log.error("no_space", job=started.orders.job_id, why=str(error))
            return failed("no_space", "The disk of this worker is full. Make room on it, then try again.")

    async def _done(self, started: Started) -> Outcome:
        kind = started.orders.kind
        if started.orders.question is not None:
            return masked(await self.asking.answer(started), self._masker)
        if executes(kind):
            return await self._execute(started)
        if kind not in HANDLERS:
            return failed("unknown_work", f"This worker does not know work of kind “{kind}”.")
        try:
            spec = spec_of(started.orders, Attempt(self.folders.home), self.config)
        except Unrenderable as error:
            return failed("template_error", str(error))
        if KINDS[kind].calls:
            return await self._call(started, spec)
        return masked(await HANDLERS[kind](spec, Silence()), self._masker)

    async def _call(self, started: Started, spec: Spec) -> Outcome:
        """Work that calls somebody: it has a log, and no folder."""
        sink = self._sink(started)
        try:
            outcome = await HANDLERS[spec.kind](spec, sink)
            await sink.end()
        except BaseException:
            await asyncio.shield(sink.abandon())
            raise
        return masked(outcome, self._masker)

    async def _execute(self, started: Started) -> Outcome:
        orders = started.orders
        try:
            # Before anything starts, and before a folder is made: an undefined variable is an error (law §8a).
            attempt = self.folders.place(orders.task_id, orders.job_id, orders.attempt, started.lease)
            spec = spec_of(orders, attempt, self.config)
        except Unrenderable as error:
            return failed("template_error", str(error))
        try:
            return await self._in_folder(started, spec)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self.folders.remove, attempt))
            raise

    async def _in_folder(self, started: Started, spec: Spec) -> Outcome:
        orders, attempt = started.orders, spec.attempt
        before = await self.pools.engine.insist(handover.last_snapshot, orders.job_id)
        earlier = await self.pools.engine.insist(handover.handed_over, orders.task_id)
        kept = await asyncio.to_thread(self._prepare, orders.task_id, attempt, before)
        files = await self.pools.engine.insist(handover.uploaded, orders.project_id, orders.scope["input"])
        await asyncio.to_thread(
            handover.give, attempt, orders.scope["context"], earlier, orders.handoff, files
        )
        stood = await asyncio.to_thread(repositories.heads, attempt.workspace)
        outcome, packed = await self._logged(started, spec, kept, stood)
        known = await self.pools.engine.insist(storage.known, packed.wanted)
        stored = await asyncio.to_thread(handover.save, attempt, packed.wanted, known)
        changed = packed.picture if before is None or packed.digest != before.digest else None
        left = Leavings(packed.artifacts, changed, stored)
        await self.pools.engine.insist(handover.write, orders.job_id, orders.task_id, started.lease, left)
        await asyncio.to_thread(self._put_aside, orders.task_id, attempt, packed.picture)
        return masked(outcome, self._masker)

    async def _logged(
        self, started: Started, spec: Spec, kept: Kept | None, stood: Mapping[str, str]
    ) -> tuple[Outcome, Packed]:
        """Run the work with its log. The log is complete before anything else is stored."""
        sink = self._sink(started)
        try:
            outcome = await HANDLERS[spec.kind](spec, sink)
            outcome = with_changes(spec, outcome, await repositories.changes(spec, stood))
            outcome, packed = await asyncio.to_thread(pack, spec, outcome, kept)
            for one in packed.artifacts:
                if one.error:
                    await sink.note(f"[gateline] The artifact {one.name} was not kept: {one.error}")
            await sink.end()
        except BaseException:
            await asyncio.shield(sink.abandon())
            raise
        return outcome, packed

    def _sink(self, started: Started) -> JobLog:
        writer = jobs.log_writer(started)

        async def store(text: str) -> None:
            await self.pools.logs.insist(jobs.append_log, writer, text)

        return JobLog(store, self.config.secrets)

    # In threads, with files

    def _prepare(self, task_id: int, attempt: Attempt, before: Before | None) -> Kept | None:
        """Fill the attempt's folder with what the station before left."""
        self.folders.make(attempt)
        if before is None:
            self.folders.forget(task_id)
            return None
        kept = self.folders.take_kept(task_id, before.digest, attempt)
        if kept is None:
            restore(before.manifest, attempt.workspace, before.fetch)
        return kept

    def _put_aside(self, task_id: int, attempt: Attempt, picture: Picture | None) -> None:
        if picture is None:
            self.folders.remove(attempt)
        else:
            self.folders.keep(task_id, Kept(attempt, picture.digest, picture.stamps))


@dataclass(frozen=True)
class Packed:
    """What an attempt left, as found in its folder; `picture` is None where it is too large to be kept."""

    artifacts: tuple[HandedOver, ...]
    wanted: Wanted
    picture: Picture | None

    @property
    def digest(self) -> str:
        return self.picture.digest if self.picture else ""


def pack(spec: Spec, outcome: Outcome, kept: Kept | None) -> tuple[Outcome, Packed]:
    """Look at the artifacts and at the workspace. In a thread."""
    attempt = spec.attempt
    artifacts, wanted = handover.collect(attempt, outcome.get("artifacts") or ())
    if handover.DOCUMENT not in {one.name for one in artifacts}:
        document, its = handover.whole_document(attempt, spec.limits.document_bytes)
        artifacts, wanted = (*artifacts, *document), {**wanted, **its}
    if artifacts:
        outcome = {**outcome, "artifacts": [one.to_dict() for one in artifacts]}
    try:
        picture = take_picture(attempt.workspace, kept.stamps if kept else None)
    except WorkspaceTooLarge as error:
        why = f"The workspace is too large to be kept: {error}."
        return {**outcome, **failed("workspace_too_large", why)}, Packed(artifacts, wanted, None)
    below = attempt.below(attempt.workspace)
    files = {digest: (f"{below}/{path}", size) for digest, (path, size) in picture.files.items()}
    return outcome, Packed(artifacts, {**files, **wanted}, picture)


def with_changes(spec: Spec, outcome: Outcome, git: dict[str, Any]) -> Outcome:
    """What changed in git is `git` of the outcome; and of its output, where the station wants the key (C31)."""
    if not git:
        return outcome
    output = outcome.get("output", {})
    wants = GIT in spec.output_keys and not outcome.get("output_error") and isinstance(output, dict)
    if not wants or ("output" not in outcome and spec.result_document == "required"):
        return {**outcome, GIT: git}
    return {**outcome, GIT: git, "output": {GIT: git, **output}}


class Silence:
    """A sink for work that writes nothing."""

    async def write(self, stream: str, data: bytes) -> None:
        raise AssertionError("this kind of work has no output")

    async def note(self, text: str) -> None:
        raise AssertionError("this kind of work has no output")


def failed(failure_type: str, summary: str) -> Outcome:
    return {"result": "failure", "failure_type": failure_type, "summary": summary}


def unstorable(outcome: Outcome, why: str) -> Outcome:
    """What is reported in place of an outcome that the engine cannot store; how the work ended is kept."""
    kept: Outcome = {
        key: outcome[key] for key in ("result", "exit_code", "reason", "verdict") if key in outcome
    }
    return {**(kept or {"result": "failure"}), "output_error": why, "summary": why[:2000]}


def masked(value: Any, masker: Masker) -> Any:
    """Secrets out of every text of an outcome (house §3 I16)."""
    if isinstance(value, str):
        return masker.all(value)
    if isinstance(value, list):
        return [masked(member, masker) for member in value]
    if isinstance(value, dict):
        return {masker.all(key): masked(member, masker) for key, member in value.items()}
    return value
