"""The transport of a runner: the server is reached over HTTP with a token, and no database is known here."""

from __future__ import annotations

import asyncio
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeVar

import structlog

from pipelines.work.file_measure import PIECE
from pipelines.work.results.files import open_plain_file
from pipelines.work.spec.agent_call import PermissionAnswer, PermissionRequest
from pipelines.work.spec.repository import AtHost, DeliveryPermission
from pipelines.work.transport.batching import CallBatcher
from pipelines.work.transport.http import wire_format
from pipelines.work.transport.http.calls import BearerRefused, CallRefused, ServerCalls
from pipelines.work.transport.protocol import (
    AttemptResults,
    LeaseLost,
    Material,
    NotStored,
    QuestionRefused,
    ReportAnswer,
    ServerAway,
    Started,
    StartingWorkspace,
)

log = structlog.get_logger(__name__)
STORE_TRIES: Final = 3


class HttpTransport:
    """`machine`: what else its page shows of it, {os, arch, python, git, version}."""

    def __init__(self, calls: ServerCalls, machine: Mapping[str, str]) -> None:
        self._calls, self._machine = calls, dict(machine)
        self._claims, self._reports = SentClaims(calls), SentReports(calls)

    # The runner itself

    async def register(self, facts: Mapping[str, Any]) -> None:
        """:raises CallRefused: the server takes no such runner, and says why"""
        await self._calls.call_until_answered(
            "POST", "", {**facts, "machine": self._machine, "protocol": wire_format.PROTOCOL}
        )

    async def update_worker(self, **facts: Any) -> None:
        await self._call_once_or_server_away("POST", "/tell", facts)

    async def sign_off(self) -> None:
        await self._call_once_or_server_away("POST", "/sign-off")

    async def _call_once_or_server_away(self, method: str, path: str, document: Any = None) -> Any:
        try:
            return await self._calls.call_once_in_thread(method, path, document)
        except (CallRefused, BearerRefused) as error:
            raise ServerAway(str(error)) from error

    # Claim

    async def waiting(self, room: Mapping[str, int]) -> dict[int, str]:
        """{job: queue} of what waits and this runner may have, the most urgent first; `room` {queue: how many}."""
        response = await self._call_once_or_server_away("POST", "/waiting", {"room": dict(room)})
        return {int(entry["job"]): str(entry["queue"]) for entry in response["jobs"]}

    async def claim_token(self, token_id: int) -> Started | None:
        raise NotImplementedError("tickets stay with the server")

    async def claim_instant(self, token_id: int | None, most: int) -> list[Started]:
        raise NotImplementedError("tickets stay with the server")

    async def claim_job(self, job_id: int) -> Started | None:
        return await self._claims.claim_job(job_id)

    async def unattended_jobs(self, older_than: float, room: Mapping[str, int]) -> dict[int, str]:
        """`waiting` tells of all."""
        return {}

    async def give_back(self, job_id: int, attempt: int, lease: uuid.UUID, after: float = 0.0) -> None:
        """Give the job back to the server, where what looks again later stays."""
        await self._calls.call_until_answered(
            "POST", f"/jobs/{job_id}/give-back", {"attempt": attempt}, lease=lease
        )

    async def give_back_stray(self, job_id: int, lease: uuid.UUID) -> None:
        await self._calls.call_until_answered("POST", f"/jobs/{job_id}/give-back", {}, lease=lease)

    # Renew

    def renew_leases(self, abandoned: Collection[int]) -> dict[int, uuid.UUID]:
        try:
            response = self._calls.call_once("POST", "/leases", {"abandoned": sorted(abandoned)})
        except (CallRefused, BearerRefused) as error:
            raise ServerAway(str(error)) from error
        return {int(job): uuid.UUID(key) for job, key in response["held"].items()}

    def close_connection_of_thread(self) -> None:
        """Connections are shared, and closed in the end."""

    # Fetch and store

    async def read_material(self, started: Started) -> Material:
        response = await self._call_about_job(started, "material")
        return wire_format.material_from_json(response)

    async def read_workspace_before_or_none(self, started: Started) -> StartingWorkspace | None:
        response = await self._call_about_job(started, "before")
        return wire_format.starting_workspace_from_json_or_none(response["before"])

    async def _call_about_job(
        self, started: Started, what: str, document: Any = None, again: str = ""
    ) -> Any:
        path = f"/jobs/{started.orders.job_id}/{what}"
        return await self._calls.call_until_answered(
            "POST", path, document or {}, lease=started.lease, again=again
        )

    def fetch(self, stored: str, path: Path) -> None:
        try:
            self._calls.download_file(f"/files/{stored}", path)
        except (CallRefused, LeaseLost, BearerRefused) as error:
            raise ServerAway(f"The server does not hand out a file of this job: {error}") from error

    async def store_results(self, started: Started, attempt_results: AttemptResults) -> None:
        sizes = {digest: size for digest, (_path, size) in attempt_results.files.items()}
        answer = await self._call_about_job(started, "wanted", {"files": sizes})
        for digest in answer["wanted"]:
            path, size = attempt_results.files[digest]
            # A server of before knows nothing of it
            direct = answer.get("direct", False) and size > wire_format.MOST_PART
            with await asyncio.to_thread(open_plain_file, attempt_results.root, path) as file:
                if not (direct and await self._try_to_send_to_store(started, digest, file, size)):
                    await self._send_file(started, digest, file, size)
        await self._call_about_job(started, "store", wire_format.attempt_results_json(attempt_results))

    async def _try_to_send_to_store(self, started: Started, digest: str, file: BinaryIO, size: int) -> bool:
        """Send a file to the address that the server gives for it; whether it came there. If not, it can still go
        through the server."""
        what = f"files/{digest}"
        for _ in range(STORE_TRIES):
            # Each time anew: an address is in force for a few minutes
            address = await self._call_about_job(started, f"{what}/address", {"size": size})
            if address["url"] is None:
                break
            if await self._calls.try_to_send_to_store(address["url"], address["headers"], file):
                try:
                    await self._call_about_job(started, f"{what}/stored")
                except CallRefused as error:
                    log.warning("file_not_stored", digest=digest[:12], error=str(error))
                else:
                    return True
        await asyncio.to_thread(file.seek, 0)
        return False

    async def _send_file(self, started: Started, digest: str, file: BinaryIO, size: int) -> None:
        """A file; a large one in parts, each of which comes again by itself where an answer got lost."""
        at = f"/jobs/{started.orders.job_id}/files/"
        parts: list[str] = []
        while data := await asyncio.to_thread(file.read, wire_format.MOST_PART):
            # What fits into one part is sent as the file itself, and needs no joining
            part = digest if size <= wire_format.MOST_PART else sha256(data).hexdigest()
            await self._calls.send_bytes(at + part, data, started.lease)
            parts.append(part)
        # Of an empty file nothing was read, and it is sent all the same
        if not parts:
            await self._calls.send_bytes(at + digest, b"", started.lease)
        elif parts != [digest]:
            await self._calls.call_until_answered(
                "POST", f"{at}{digest}/parts", {"parts": parts}, lease=started.lease
            )

    def log_appender(self, started: Started) -> Callable[[str], Awaitable[None]]:
        async def append_to_log(text: str) -> None:
            await self._call_about_job(started, "log", {"text": text}, again="again")

        return append_to_log

    def has_room(self, folder: Path) -> bool:
        probe = folder / f".room-{uuid.uuid4().hex}"
        try:
            probe.write_bytes(bytes(PIECE))
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)
        return True

    # Ask

    async def answer_agent(
        self, started: Started, question: str, outcome: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return await self._ask_server_about_job(started, "ask", {"question": question, "outcome": outcome})

    async def ask_permission(self, started: Started, request: PermissionRequest) -> PermissionAnswer:
        document = {
            "key": str(request.key),
            "tool": request.tool,
            "arguments": dict(request.arguments),
            "digest": request.digest,
        }
        return PermissionAnswer(**await self._ask_server_about_job(started, "permission", document))

    async def _ask_server_about_job(
        self, started: Started, operation: str, document: dict[str, Any]
    ) -> dict[str, Any]:
        path = f"/jobs/{started.orders.job_id}/{operation}"
        try:
            answer: dict[str, Any] = await self._calls.call_once_in_thread(
                "POST", path, document, lease=started.lease
            )
        except (CallRefused, NotStored) as error:
            raise QuestionRefused(str(error)) from error
        except BearerRefused as error:
            raise LeaseLost from error
        return answer

    # Deliver: the server's own workers do it, with what was approved

    async def permit_or_refuse_delivery(self, started: Started) -> DeliveryPermission:
        raise LeaseLost

    async def report_delivered(
        self,
        started: Started,
        commit: str,
        request: Mapping[str, Any] | None = None,
        base: str | None = None,
    ) -> None:
        raise LeaseLost

    async def report_host_progress(self, started: Started, host_state: AtHost) -> None:
        raise LeaseLost

    async def seconds_to_wait(self, started: Started) -> float:
        raise LeaseLost

    async def find_stored_files(self, started: Started, digests: Sequence[str]) -> Mapping[str, str]:
        raise LeaseLost

    async def report_base_moved(self, started: Started, onto: str, tree: str) -> None:
        raise LeaseLost

    async def report_push_by_others(
        self, started: Started, commit: str, who: Sequence[str], logins: Sequence[str]
    ) -> None:
        raise LeaseLost

    # Report

    async def report(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        return await self._reports.send(started, outcome, go_on)

    async def report_together(
        self, outcomes_of_started: Sequence[tuple[Started, dict[str, Any], bool]]
    ) -> list[ReportAnswer]:
        raise NotImplementedError("work that takes no time stays with the server")

    def close(self) -> None:
        self._calls.close()


# Claims and reports of one runner on their way to its server: what is asked at the same time goes in one
# call.


Call = TypeVar("Call")
Answer = TypeVar("Answer")
MOST_TOGETHER: Final = 50
"""The largest batch of the engine."""
LARGEST: Final = 256 * 1024
"""Bytes of an outcome that goes with others."""
FAILED: Final = (BearerRefused, CallRefused, LeaseLost, NotStored, ServerAway)


class BatchedCalls(ABC, Generic[Call, Answer]):
    """Calls of one kind that are sent in one batch. A single call is sent alone, and so is each call of a batch
    that failed: it meets its own error and is repeated."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls
        self._bundles = CallBatcher[Call, Answer](self._send_batch_and_retry_each_alone, MOST_TOGETHER)

    async def _answer(self, call: Call) -> Answer:
        answer = await self._bundles.answer_in_batch(call)
        assert answer is not None  # it waits as long as it takes
        return answer

    @abstractmethod
    async def _answer_one(self, call: Call) -> Answer:
        """:raises CallRefused, ServerAway, BearerRefused"""

    @abstractmethod
    async def _together(self, calls: Sequence[Call]) -> Sequence[Answer | None]:
        """None where one has to come by itself. :raises FAILED: all have to"""

    async def _send_batch_and_retry_each_alone(self, calls: Sequence[Call]) -> Sequence[Answer | Exception]:
        answers: Sequence[Answer | None] = [None] * len(calls)
        if len(calls) > 1:
            with suppress(*FAILED):
                answers = await self._together(calls)
        return await asyncio.gather(
            *(self._answer_or_error(call, answer) for call, answer in zip(calls, answers, strict=True))
        )

    async def _answer_or_error(self, call: Call, answer: Answer | None) -> Answer | Exception:
        if answer is not None:
            return answer
        try:
            return await self._answer_one(call)
        except FAILED as error:
            return error


class SentClaims(BatchedCalls[int, "Claimed"]):
    async def claim_job(self, job_id: int) -> Started | None:
        return (await self._answer(job_id)).started

    async def _answer_one(self, call: int) -> Claimed:
        return _claimed_from_json(
            (await self._calls.call_until_answered("POST", f"/jobs/{call}/claim"))["started"]
        )

    async def _together(self, calls: Sequence[int]) -> list[Claimed]:
        response = await self._calls.call_once_in_thread("POST", "/claims", {"jobs": list(calls)})
        return [_claimed_from_json(entry) for entry in response["started"]]


@dataclass(frozen=True)
class Claimed:
    # Wrapped: None as an answer would mean that the call has to come by itself
    started: Started | None


def _claimed_from_json(plain: Any) -> Claimed:
    return Claimed(wire_format.started_from_json(plain) if plain else None)


class SentReports(BatchedCalls["FinishedJob", ReportAnswer]):
    async def send(self, started: Started, outcome: dict[str, Any], go_on: bool) -> ReportAnswer:
        """:raises CallRefused, ServerAway, BearerRefused: nothing moved"""
        done = FinishedJob(started, {"attempt": started.orders.attempt, "outcome": outcome, "go_on": go_on})
        # A large one would hold up those that go with it, until all of it is sent and read
        if len(json.dumps(outcome)) > LARGEST:
            return await self._answer_one(done)
        return await self._answer(done)

    async def _answer_one(self, call: FinishedJob) -> ReportAnswer:
        path = f"/jobs/{call.started.orders.job_id}/report"
        return wire_format.report_answer_from_json(
            await self._calls.call_until_answered("POST", path, call.document, lease=call.started.lease)
        )

    async def _together(self, calls: Sequence[FinishedJob]) -> list[ReportAnswer | None]:
        reports = [
            {"job": call.started.orders.job_id, "lease": str(call.started.lease), **call.document}
            for call in calls
        ]
        answers = (await self._calls.call_once_in_thread("POST", "/reports", {"reports": reports}))["answers"]
        return [
            None if answer["status"] == "error" else wire_format.report_answer_from_json(answer)
            for answer in answers
        ]


@dataclass(frozen=True)
class FinishedJob:
    """`document`: {attempt, outcome, go_on}."""

    started: Started
    document: dict[str, Any]
