"""A bucket that speaks S3 as an artifact store: every call is a signed address, the server's own among them."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import httpx2
from django.core.files import File
from django.utils.http import content_disposition_header

from pipelines.work.artifact_stores.s3_errors import refusal_of_answer
from pipelines.work.artifact_stores.s3_signing import keys_of_environment, signed_url
from pipelines.work.artifact_stores.store import (
    ADDRESS_SECONDS,
    ArtifactStore,
    SignedAddress,
    StoreAway,
    VerifiedFile,
    WrongContent,
    digest_of_name_or_empty,
)
from pipelines.work.file_measure import PIECE
from pipelines.work.outgoing.authorities import trusted_authorities

OPTIONS: Final = frozenset(("endpoint", "public", "region"))
CHECKSUM: Final = "x-amz-checksum-sha256"
TRIES, PAUSE_SECONDS = 4, 0.3
TIMEOUT: Final = httpx2.Timeout(60.0, connect=5.0)


class S3Store(ArtifactStore):
    """Objects of one bucket, below a prefix. `endpoint`: where the server reaches it, "" for Amazon's own; `public`:
    where runners and browsers do, if elsewhere."""

    signs_addresses = True

    def __init__(self, bucket: str, prefix: str, endpoint: str, public: str, region: str) -> None:
        self.bucket, self._prefix = bucket, f"{prefix}/" if prefix else ""
        # Amazon names the bucket in the host; every other store takes it in the path
        base = f"{endpoint}/{bucket}" if endpoint else f"https://{bucket}.s3.{region}.amazonaws.com"
        self.base, self._public = base, f"{public}/{bucket}" if public else base
        self._region, self.place = region, f"{base}/{prefix}"

    @classmethod
    def options_of(cls, address: SplitResult) -> dict[str, Any]:
        values = dict(parse_qsl(address.query, keep_blank_values=True))
        if not address.netloc or values.keys() - OPTIONS:
            raise ValueError(
                "a bucket is written as s3://bucket/prefix?endpoint=https://…&region=…&public=https://…"
            )
        for name in ("endpoint", "public"):
            parts = urlsplit(values.get(name, ""))
            if name in values and (
                parts.scheme not in ("http", "https") or not parts.hostname or parts.query
            ):
                raise ValueError(f"{name} is an address such as https://s3.example.com")
        return {
            "bucket": address.netloc,
            "prefix": address.path.strip("/"),
            "endpoint": values.get("endpoint", "").rstrip("/"),
            "public": values.get("public", "").rstrip("/"),
            "region": values.get("region") or "us-east-1",
        }

    # Django's storage

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: nobody else has it, and the store refuses to write it twice."""
        return name

    def _open(self, name: str, mode: str = "rb") -> VerifiedFile:
        reader = ObjectReader(self, name)
        return VerifiedFile(reader, name, reader.size)

    def _save(self, name: str, content: File) -> str:
        headers = _upload_headers(digest_of_name_or_empty(name), content.size)

        def upload_bytes() -> None:
            content.seek(0)
            self._call("PUT", name, headers, content=content.chunks(PIECE), accepted=(200, 412))

        self._call_again_after_lost_answers(upload_bytes)
        return name

    def exists(self, name: str) -> bool:
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def size(self, name: str) -> int:
        return int(self._head(name)["content-length"])

    def delete(self, name: str) -> None:
        self._call_again_after_lost_answers(lambda: self._call("DELETE", name, accepted=(200, 204, 404)))

    # The port

    def upload_address(self, name: str, digest: str, size: int) -> SignedAddress:
        headers = _upload_headers(digest, size)
        return SignedAddress(self._signed_url("PUT", name, headers, public=True), headers)

    def download_address(self, name: str, file_name: str = "", media: str = "") -> str:
        presentation = {
            "response-content-disposition": content_disposition_header(True, file_name) or "",
            "response-content-type": media,
        }
        return self._signed_url("GET", name, query=presentation if file_name else {}, public=True)

    def verify(self, name: str, digest: str, size: int) -> None:
        head = self._head(name)
        if int(head["content-length"]) != size:
            raise WrongContent(f"{name} has {head['content-length']} bytes in place of {size}.")
        # A store that has no checksum of its own is read through
        if head.get(CHECKSUM) != _checksum_of(digest):
            super().verify(name, digest, size)

    # Calls

    def _head(self, name: str) -> Mapping[str, str]:
        headers = {"x-amz-checksum-mode": "ENABLED"}
        answer = self._call_again_after_lost_answers(lambda: self._call("HEAD", name, headers))
        return answer.headers

    def _call_again_after_lost_answers(self, call: Any) -> Any:
        """Call again after an answer got lost, a few times."""
        for tried in range(1, TRIES):
            try:
                return call()
            except StoreAway:
                time.sleep(PAUSE_SECONDS * 2**tried)
        return call()

    def _call(
        self,
        method: str,
        name: str,
        headers: Mapping[str, str] | None = None,
        content: Iterator[bytes] | None = None,
        accepted: tuple[int, ...] = (200, 206),
        stream: bool = False,
    ) -> httpx2.Response:
        """:raises FileNotFoundError, StoreFailed"""
        url = self._signed_url(method, name, headers)
        try:
            request = self._client.build_request(method, url, headers=headers, content=content)
            answer = self._client.send(request, stream=stream)
            if answer.status_code in accepted:
                return answer
            answer.read()
            answer.close()
        except httpx2.TransportError as error:
            raise StoreAway(
                f"The artifact store at {self.base} cannot be reached: {error or type(error).__name__}. "
                "Start it, or correct GATELINE_ARTIFACT_STORE."
            ) from error
        raise refusal_of_answer(answer, self.bucket, self.base, name)

    def _signed_url(
        self,
        method: str,
        name: str,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        public: bool = False,
    ) -> str:
        url = f"{self._public if public else self.base}/{quote(self._prefix + name)}"
        if query:
            url += f"?{urlencode(query, quote_via=quote)}"
        at = datetime.now(UTC)
        return signed_url(
            keys_of_environment(), self._region, method, url, headers or {}, ADDRESS_SECONDS, at
        )

    @cached_property
    def _client(self) -> httpx2.Client:
        # No proxy of the machine and no redirect: the operator named this address, and no other
        return httpx2.Client(timeout=TIMEOUT, verify=trusted_authorities().tls_context, trust_env=False)


class ObjectReader(io.RawIOBase):
    """The bytes of an object as they come. Where the connection breaks, it goes on from there."""

    def __init__(self, store: S3Store, name: str) -> None:
        super().__init__()
        self._store, self._name, self._position, self._buffer = store, name, 0, b""
        self._answer = store._call_again_after_lost_answers(self._request_object_from_position)
        self.size = int(self._answer.headers["content-length"])

    def _request_object_from_position(self) -> httpx2.Response:
        headers = {"range": f"bytes={self._position}-"} if self._position else {}
        answer = self._store._call("GET", self._name, headers, stream=True)
        self._pieces = answer.iter_raw(PIECE)
        return answer

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Read as many bytes as are asked for; fewer at the end alone."""
        remaining = self.size if size is None or size < 0 else size
        parts = []
        while remaining and (piece := self._buffer or self._next_piece()):
            parts.append(piece[:remaining])
            self._buffer = piece[remaining:]
            remaining -= len(parts[-1])
        return b"".join(parts)

    def _next_piece(self) -> bytes:
        for tried in range(TRIES):
            if self._position >= self.size:
                break
            try:
                piece = next(self._pieces, b"")
            except httpx2.TransportError:
                self._answer.close()
                time.sleep(PAUSE_SECONDS * 2**tried)
                self._answer = self._store._call_again_after_lost_answers(self._request_object_from_position)
                continue
            self._position += len(piece)
            return piece
        return b""

    def close(self) -> None:
        self._answer.close()
        super().close()


def _upload_headers(digest: str, size: int) -> dict[str, str]:
    """Return what binds an upload to these bytes and to one time: the store refuses others, and the name once it is
    taken."""
    checksum = {CHECKSUM: _checksum_of(digest)} if digest else {}
    return {"content-length": str(size), "if-none-match": "*", **checksum}


def _checksum_of(digest: str) -> str:
    return base64.b64encode(bytes.fromhex(digest)).decode()
