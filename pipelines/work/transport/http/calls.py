"""HTTP calls of a runner to its server. Each may be repeated after its answer got lost, and a short absence of
the server is waited out."""

from __future__ import annotations

import asyncio
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import httpx2
import structlog

from pipelines.work.outgoing.authorities import trusted_authorities
from pipelines.work.transport.http.store_calls import StoreCalls, digest_of_written_answer
from pipelines.work.transport.http.wire_format import DIGEST, DIRECT, LEASE
from pipelines.work.transport.protocol import LeaseLost, NotStored, ServerAway

T = TypeVar("T")
log = structlog.get_logger(__name__)

PATIENCE_SECONDS: Final = 900.0
"""How long the server may be away before work gives up. Whether it still has its lease the renewal finds out."""
TIMEOUT: Final = httpx2.Timeout(60.0, connect=5.0, read=300.0)
RENEWAL_TIMEOUT: Final = httpx2.Timeout(5.0)
# From the server or a proxy before it: the call comes again later
AWAY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
REFUSED: Final = frozenset({401, 403})


class BearerRefused(Exception):
    """The server does not take the token: it is unknown, expired or revoked."""


class CallRefused(Exception):
    """The server does not take the call; the message says why."""


class ServerCalls:
    """`refused` is called once, in any thread, when the token is refused. Threads share it."""

    def __init__(
        self,
        server: str,
        token: str,
        runner: uuid.UUID,
        refused: Callable[[str], None],
        by: httpx2.BaseTransport | None = None,
    ) -> None:
        self._base = f"{server.rstrip('/')}/api/v1/runner/{runner}"
        self._client = httpx2.Client(
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            timeout=TIMEOUT,
            transport=by,
            verify=trusted_authorities().tls_context,
            limits=httpx2.Limits(max_connections=64, max_keepalive_connections=32),
        )
        # The token is for the server alone, and no answer of the store leads on
        self.store = StoreCalls()
        self._refused = refused
        self._closed = threading.Event()
        self._threads = ThreadPoolExecutor(16, "server")

    # Once

    def call_once(
        self, method: str, path: str, document: Any = None, *, lease: uuid.UUID | None = None
    ) -> Any:
        """:raises ServerAway, LeaseLost, NotStored, CallRefused, BearerRefused"""
        # A renewal that waited longer might come after the end of the lease
        timeout = RENEWAL_TIMEOUT if path == "/leases" else TIMEOUT
        try:
            answer = self._client.request(
                method, self._base + path, json=document, headers=_lease_headers(lease), timeout=timeout
            )
        except httpx2.TransportError as error:
            raise ServerAway(f"{type(error).__name__}: {error}") from error
        self._raise_refusal(answer)
        return answer.json() if answer.content else None

    def _raise_refusal(self, answer: httpx2.Response) -> None:
        if answer.status_code < 300:
            return
        why = _problem_detail(answer)
        if answer.status_code in AWAY:
            raise ServerAway(f"{answer.status_code}: {why}")
        if answer.status_code in REFUSED:
            self._refused(why)
            raise BearerRefused(why)
        if answer.status_code == 409:
            raise LeaseLost
        if answer.status_code == 422:
            raise NotStored(why)
        raise CallRefused(f"{answer.status_code}: {why}")

    # Again and again

    async def call_until_answered(
        self, method: str, path: str, document: Any = None, *, lease: uuid.UUID | None = None, again: str = ""
    ) -> Any:
        """`again`: a key that is set in the document of every try but the first."""
        return await self._repeat_until_answered(lambda tried: self.call_once(
            method, path, {**document, again: True} if again and tried else document, lease=lease
        ))  # fmt: skip

    async def send_bytes(self, path: str, data: bytes, lease: uuid.UUID) -> None:
        def put_bytes(tried: bool) -> None:
            try:
                answer = self._client.put(self._base + path, content=data, headers=_lease_headers(lease))
            except httpx2.TransportError as error:
                raise ServerAway(f"{type(error).__name__}: {error}") from error
            self._raise_refusal(answer)

        await self._repeat_until_answered(put_bytes)

    async def _repeat_until_answered(self, function: Callable[[bool], T]) -> T:
        loop = asyncio.get_running_loop()
        until, pause, tried = loop.time() + PATIENCE_SECONDS, 0.1, False
        while True:
            try:
                return await loop.run_in_executor(self._threads, function, tried)
            except ServerAway as error:
                if loop.time() > until or self._closed.is_set():
                    raise
                log.warning("server_away", error=str(error)[:200])
            tried = True
            # Spread, so that calls do not come back all at the same moment
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(pause * 2, 5.0)

    async def try_to_send_to_store(self, url: str, headers: Mapping[str, str], file: BinaryIO) -> bool:
        """Send a file to the address that the server gave; whether the store has it now."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.store.try_upload, url, headers, file)

    async def call_once_in_thread(
        self, method: str, path: str, document: Any = None, *, lease: uuid.UUID | None = None
    ) -> Any:
        """:raises ServerAway"""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, lambda: self.call_once(method, path, document, lease=lease)
        )

    # In a thread

    def download_file(self, path: str, target: Path, lease: uuid.UUID | None = None) -> None:
        """Bytes into a new file, from the artifact store where the server names its address; sits an absence out."""
        until, pause, direct = time.monotonic() + PATIENCE_SECONDS, 0.1, {DIRECT: "yes"}
        while True:
            try:
                headers = {**_lease_headers(lease), **direct}
                with self._client.stream("GET", self._base + path, headers=headers) as answer:
                    if answer.status_code >= 300:
                        # Nothing of a streamed answer was read yet, and its reason stands in it
                        answer.read()
                    if answer.status_code != 307:
                        self._raise_refusal(answer)
                        digest_of_written_answer(answer, target)
                        return
                # Where this machine cannot reach the store, the file comes through the server
                direct = {}
                self.store.download(answer.headers["Location"], answer.headers[DIGEST], target)
                return
            except (httpx2.TransportError, ServerAway) as error:
                target.unlink(missing_ok=True)
                if time.monotonic() > until or self._closed.wait(pause * random.uniform(0.5, 1)):
                    raise ServerAway(str(error)) from error
                log.warning("server_away", error=str(error)[:200])
            pause = min(pause * 2, 5.0)

    def close(self) -> None:
        self._closed.set()
        self.store.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._client.close()


def _lease_headers(lease: uuid.UUID | None) -> Mapping[str, str]:
    return {LEASE: str(lease)} if lease else {}


def _problem_detail(answer: httpx2.Response) -> str:
    try:
        document = answer.json()
    except ValueError:
        return answer.reason_phrase
    detail = str(document.get("detail") if isinstance(document, dict) else document)[:500]
    # What failed there stands in the log of the server under this id.
    request_id = answer.headers.get("X-Request-ID", "") if answer.status_code >= 500 else ""
    return f"{detail} (request {request_id[:64]})" if request_id else detail
