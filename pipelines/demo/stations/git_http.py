"""Git over HTTPS by the guarded client: dulwich speaks the protocol, pipelines/work/outgoing makes the connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import httpx
from dulwich.client import AbstractHttpGitClient, HTTPUnauthorized
from dulwich.errors import GitProtocolError, NotGitRepository

from pipelines.work.outgoing.guard import RefusedAddress
from pipelines.work.outgoing.transport import blocking_client

from .report import StationError
from .way_out import guard

HTTPX_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)


class Body:
    """An answer while it is read, as dulwich takes it. Redirects are not followed, so none is ever told."""

    redirect_location = ""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.content_type = response.headers.get("content-type")
        self._response, self._chunks, self._rest = response, response.iter_bytes(), b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end. :raises GitProtocolError: the connection broke"""
        try:
            while not self._rest:
                self._rest = next(self._chunks, b"")
                if not self._rest:
                    return b""
        except HTTPX_ERRORS as error:
            raise GitProtocolError(str(error)) from error
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def close(self) -> None:
        self._response.close()


class GuardedGitClient(AbstractHttpGitClient):
    """Each request resolves, checks and connects anew. `seconds`: for which the server may be silent."""

    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(url, quiet=True)
        self._http = blocking_client(guard(), seconds)

    def close(self) -> None:
        self._http.close()

    def _get_url(self, path: str | bytes) -> str:
        place = path if isinstance(path, str) else path.decode()
        return urljoin(self._base_url, place).rstrip("/") + "/"

    def _http_request(  # type: ignore[override]  # no more of an answer is ever read than `Body` has
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Body, Callable[[int], bytes]]:
        asked = {"user-agent": "git/dulwich", "accept-encoding": "identity", "pragma": "no-cache"}
        try:
            request = self._http.build_request(
                "GET" if data is None else "POST", url, headers=asked | (headers or {}), content=data
            )
            response = self._http.send(request, stream=True)
        except RefusedAddress as error:
            raise StationError(str(error), "refused") from error
        except HTTPX_ERRORS as error:
            raise GitProtocolError(str(error)) from error
        if raise_for_status and response.status_code != 200:
            response.close()
            raise _failure(response)
        body = Body(response)
        return body, body.read


def _failure(response: httpx.Response) -> Exception:
    if response.status_code == 404:
        return NotGitRepository()
    if response.status_code == 401:
        return HTTPUnauthorized(response.headers.get("www-authenticate"), str(response.url))
    return GitProtocolError(f"unexpected http resp {response.status_code} for {response.url}")
