"""The transport of a worker beside its database: bounded threads with connections of their own, batched statements, and
no connection held while work runs (house §2)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, connection

from pipelines.models import Worker
from pipelines.ports import leases
from pipelines.work import logs, storage
from pipelines.work.artifact_stores.store import repeat_while_away
from pipelines.work.config import WorkerConfig
from pipelines.work.spec.agent_call import PermissionAnswer, PermissionRequest
from pipelines.work.spec.repository import AtHost, DeliveryPermission
from pipelines.work.transport.local import (
    agent_answers,
    claimable,
    deliveries,
    jobs,
    permission_requests,
    pushes,
    stored_results,
)
from pipelines.work.transport.local.database import Database, call_twice_at_most
from pipelines.work.transport.local.reports import Reports
from pipelines.work.transport.local.worker_offer import CurrentOffer
from pipelines.work.transport.protocol import (
    AttemptResults,
    Material,
    ReportAnswer,
    ServerAway,
    Started,
    StartingWorkspace,
)

T = TypeVar("T")


class LocalTransport:
    """`engine` and `logs` are apart for what must not wait for each other; `house`: what comes round."""

    def __init__(self, worker: uuid.UUID, config: WorkerConfig) -> None:
        self.worker = worker
        self._offer = CurrentOffer(worker, config)
        self.engine, self.logs = Database(config.engine_threads, "engine"), Database(2, "logs")
        self.house = Database(1, "house")
        self._reports = Reports(self.engine, f"worker:{worker}")

    # The worker itself

    async def register(self, facts: Mapping[str, Any]) -> None:
        await self.house.call_until_connected(self._register, dict(facts))

    def _register(self, facts: dict[str, Any]) -> None:
        # The database's clock, as of everything that is compared with it
        now = jobs.database_time_after(0)
        Worker.objects.update_or_create(id=self.worker, defaults=facts | {"started_at": now, "seen_at": now})
        self._offer.refresh_and_store()

    async def update_worker(self, **facts: Any) -> None:
        await self._call_once(Worker.objects.filter(pk=self.worker).update, **facts)

    async def sign_off(self) -> None:
        await self._call_once(self._sign_off)

    def _sign_off(self) -> None:
        for lease in leases.leases_of_worker(self.worker):
            jobs.requeue_stray_lease(lease.job_id, lease.key)
        now = jobs.database_time_after(0)
        # An idle one had said that it comes again later
        Worker.objects.filter(pk=self.worker).update(stopped_at=now, seen_at=now)

    async def _call_once(self, function: Callable[..., T], *arguments: Any, **more: Any) -> T:
        try:
            return await self.house.call(function, *arguments, **more)
        except (DatabaseError, InterfaceError) as error:
            raise ServerAway(str(error).split("\n")[0]) from error

    # Claim

    async def claim_token(self, token_id: int) -> Started | None:
        return await self.engine.call_until_connected(
            lambda: jobs.start_open_job_of_token_or_none(token_id, self._offer.refresh_and_store())
        )

    async def claim_job(self, job_id: int) -> Started | None:
        return await self.engine.call_until_connected(
            lambda: jobs.start_job_or_none(job_id, self._offer.refresh_and_store())
        )

    async def claim_instant(self, token_id: int | None, most: int) -> list[Started]:
        return await self.engine.call_until_connected(
            lambda: jobs.start_jobs_without_time(token_id, self._offer.refresh_and_store(), most)
        )

    async def unattended_jobs(self, older_than: float, room: Mapping[str, int]) -> dict[int, str]:
        return await self._call_once(
            lambda: claimable.unattended_jobs(self._offer.refresh_and_store(), room, older_than)
        )

    async def give_back(self, job_id: int, attempt: int, lease: uuid.UUID, after: float = 0.0) -> None:
        await self.engine.call_until_connected(jobs.requeue_job, job_id, attempt, lease, after)

    async def give_back_stray(self, job_id: int, lease: uuid.UUID) -> None:
        await self.engine.call_until_connected(jobs.requeue_stray_lease, job_id, lease)

    # Renew

    def renew_leases(self, abandoned: Collection[int]) -> dict[int, uuid.UUID]:
        """Renew the leases by one statement, on a connection of the calling thread's own: neither a busy
        event loop nor a full pool may cost a lease."""
        try:
            return call_twice_at_most(
                leases.renew_leases_by_job, self.worker, self._offer.now.seconds, abandoned
            )
        except (DatabaseError, InterfaceError) as error:
            raise ServerAway(str(error).split("\n")[0]) from error

    def close_connection_of_thread(self) -> None:
        connection.close()

    # Fetch and store

    async def read_material(self, started: Started) -> Material:
        orders = started.orders
        return await self.engine.call_until_connected(
            stored_results.job_material,
            orders.job_id,
            orders.task_id,
            orders.project_id,
            orders.scope["input"],
        )

    async def read_workspace_before_or_none(self, started: Started) -> StartingWorkspace | None:
        return await self.engine.call_until_connected(
            stored_results.last_snapshot_or_none, started.orders.job_id
        )

    def fetch(self, stored: str, path: Path) -> None:
        def copy_stored_file() -> None:
            path.unlink(missing_ok=True)
            storage.copy_stored_bytes(storage.artifact_storage(), stored, path)

        repeat_while_away(copy_stored_file)

    async def store_results(self, started: Started, attempt_results: AttemptResults) -> None:
        known = await self.engine.call_until_connected(
            storage.keep_and_return_stored_digests, attempt_results.files
        )
        # In no thread of the database: no connection waits for a disk
        stored = await asyncio.to_thread(
            stored_results.store_new_bytes, attempt_results.root, attempt_results.files, known
        )
        orders = started.orders
        await self.engine.call_until_connected(
            stored_results.write_results,
            orders.job_id,
            orders.task_id,
            started.lease,
            attempt_results,
            stored,
        )

    def log_appender(self, started: Started) -> Callable[[str], Awaitable[None]]:
        writer = logs.Writer(started.orders.job_id, started.orders.attempt)

        async def append_to_log(text: str) -> None:
            await self.logs.call_until_connected(jobs.append_log, writer, text)

        return append_to_log

    def has_room(self, folder: Path) -> bool:
        return storage.has_room(storage.artifact_storage(), folder)

    # Ask

    async def answer_agent(
        self, started: Started, question: str, outcome: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        job, by = started.orders.job_id, f"worker:{self.worker}"
        try:
            return await self.engine.call(
                agent_answers.answer_agent, job, started.lease, question, outcome, by
            )
        except (DatabaseError, InterfaceError) as error:
            raise ServerAway(str(error).split("\n")[0]) from error

    async def ask_permission(self, started: Started, request: PermissionRequest) -> PermissionAnswer:
        try:
            return await self.engine.call(
                permission_requests.answer_permission_request, started.orders.job_id, started.lease, request
            )
        except (DatabaseError, InterfaceError) as error:
            raise ServerAway(str(error).split("\n")[0]) from error

    # Deliver

    async def permit_or_refuse_delivery(self, started: Started) -> DeliveryPermission:
        return await self.engine.call_until_connected(
            deliveries.permit_or_refuse_delivery, started.orders.job_id, started.lease
        )

    async def report_delivered(
        self,
        started: Started,
        commit: str,
        request: Mapping[str, Any] | None = None,
        base: str | None = None,
    ) -> None:
        await self.engine.call_until_connected(
            deliveries.record_delivered, started.orders.job_id, started.lease, commit, request, base
        )

    async def report_host_progress(self, started: Started, host_state: AtHost) -> None:
        await self.engine.call_until_connected(
            deliveries.record_host_progress, started.orders.job_id, started.lease, host_state
        )

    async def seconds_to_wait(self, started: Started) -> float:
        return await self.engine.call_until_connected(
            deliveries.seconds_to_wait_for_other_delivery, started.orders.job_id
        )

    async def find_stored_files(self, started: Started, digests: Sequence[str]) -> Mapping[str, str]:
        return await self.engine.call_until_connected(
            stored_results.files_of_task, started.orders.task_id, list(digests)
        )

    async def report_base_moved(self, started: Started, onto: str, tree: str) -> None:
        await self.engine.call_until_connected(
            deliveries.record_base_moved, started.orders.job_id, started.lease, onto, tree
        )

    async def report_push_by_others(
        self, started: Started, commit: str, who: Sequence[str], logins: Sequence[str]
    ) -> None:
        arguments = (started.orders.job_id, started.lease, commit, list(who), list(logins))
        await self.engine.call_until_connected(pushes.record_push_and_return_result, *arguments)

    # Report

    async def report(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        return await self._reports.send(started, outcome, self._offer.now if go_on else None)

    async def report_together(
        self, outcomes_of_started: Sequence[tuple[Started, dict[str, Any], bool]]
    ) -> list[ReportAnswer]:
        return await self._reports.send_together(outcomes_of_started, self._offer.now)

    def close(self) -> None:
        for pool in (self.engine, self.logs, self.house):
            pool.close()
