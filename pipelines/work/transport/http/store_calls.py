"""Calls of a runner to the artifact store, at signed addresses that its server gave it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import httpx2
import structlog

from pipelines.work.file_measure import PIECE
from pipelines.work.outgoing.authorities import trusted_authorities
from pipelines.work.transport.protocol import ServerAway

log = structlog.get_logger(__name__)
TIMEOUT: Final = httpx2.Timeout(60.0, connect=5.0, read=300.0)
THERE_ALREADY: Final = 412
"""The answer to an address that was used: the bytes came, and the answer got lost."""


class StoreCalls:
    """Client without the token of the runner, and without redirects. Threads share it."""

    def __init__(self) -> None:
        self._client = httpx2.Client(timeout=TIMEOUT, verify=trusted_authorities().tls_context)
        self._closed = threading.Event()

    def try_upload(self, url: str, headers: Mapping[str, str], file: BinaryIO) -> bool:
        """Send the whole file, a piece at a time; whether the store has it now."""
        file.seek(0)
        try:
            answer = self._client.put(url, headers=dict(headers), content=self._pieces(file))
        except httpx2.HTTPError as error:
            log.warning("store_away", error=str(error)[:200])
            return False
        if answer.is_success or answer.status_code == THERE_ALREADY:
            return True
        log.warning("store_refused", status=answer.status_code, answer=answer.text[:300])
        return False

    def _pieces(self, file: BinaryIO) -> Iterator[bytes]:
        while piece := file.read(PIECE):
            if self._closed.is_set():
                raise httpx2.WriteError("The runner ends.")
            yield piece

    def download(self, url: str, digest: str, target: Path) -> None:
        """Write a file. :raises httpx2.TransportError, ServerAway: it did not come, or it is damaged"""
        with self._client.stream("GET", url) as answer:
            if answer.status_code != 200:
                answer.read()
                raise ServerAway(f"The artifact store answers {answer.status_code}: {answer.text[:300]}")
            if digest_of_written_answer(answer, target) != digest:
                raise ServerAway(f"The artifact store has a damaged file in place of {digest[:12]}.")

    def close(self) -> None:
        """End what is under way."""
        self._closed.set()
        self._client.close()


def digest_of_written_answer(answer: httpx2.Response, target: Path) -> str:
    """Write what comes into a new file; its SHA-256."""
    sha = hashlib.sha256()
    with target.open("wb") as file:
        for piece in answer.iter_bytes(PIECE):
            sha.update(piece)
            file.write(piece)
    return sha.hexdigest()
