"""Git over HTTPS by the guarded client: dulwich speaks the protocol, `outgoing` makes the connection."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import httpx
from dulwich.client import AbstractHttpGitClient, HTTPUnauthorized
from dulwich.errors import GitProtocolError, NotGitRepository

from pipelines.work.git.bounds import WHOLE_SECONDS, Bounds
from pipelines.work.git.refusals import GitRefused
from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.outgoing.transport import blocking_client

ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)


class Answer:
    """An answer while it is read, as dulwich takes it. Redirects are not followed, so that a credential never goes
    anywhere else than to where it was meant for."""

    redirect_location = ""

    def __init__(self, response: httpx.Response, bounds: Bounds) -> None:
        self.status = response.status_code
        self.content_type = response.headers.get("content-type")
        self._response, self._chunks, self._rest = response, response.iter_bytes(), b""
        self._bounds = bounds

    def read(self, size: int) -> bytes:
        """As much as that, but at the end of the answer."""
        try:
            while len(self._rest) < size and (chunk := next(self._chunks, b"")):
                self._bounds.took(len(chunk))
                self._rest += chunk
        except ERRORS as error:
            raise GitProtocolError(str(error)) from error
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def close(self) -> None:
        self._response.close()


class HttpsGitClient(AbstractHttpGitClient):
    """Each request resolves, checks and connects anew. `seconds`: for which the server may be silent."""

    def __init__(
        self,
        url: str,
        guard: Guard,
        seconds: float,
        user: str = "",
        password: str = "",
        bounds: Bounds | None = None,
    ) -> None:
        super().__init__(url, quiet=True, thin_packs=False)
        self._bounds = bounds or Bounds(WHOLE_SECONDS)
        self._http = blocking_client(guard, seconds)
        given = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._own = {"authorization": f"Basic {given}"} if password else {}

    def close(self) -> None:
        self._http.close()

    def _get_url(self, path: str | bytes) -> str:
        place = path if isinstance(path, str) else path.decode()
        return urljoin(self._base_url, place).rstrip("/") + "/"

    def _http_request(  # type: ignore[override]  # no more of an answer is ever read than `Answer` has
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Answer, Callable[[int], bytes]]:
        asked = {"user-agent": "git/dulwich", "accept-encoding": "identity", "pragma": "no-cache"}
        try:
            request = self._http.build_request(
                "GET" if data is None else "POST",
                url,
                headers=asked | (headers or {}) | self._own,
                content=data,
            )
            response = self._http.send(request, stream=True)
        except RefusedAddress as error:
            raise GitRefused(str(error)) from error
        except ERRORS as error:
            raise GitProtocolError(str(error) or type(error).__name__) from error
        if raise_for_status and response.status_code != 200:
            response.close()
            raise _failure(response)
        answer = Answer(response, self._bounds)
        return answer, answer.read


def _failure(response: httpx.Response) -> Exception:
    if response.status_code == 404:
        return NotGitRepository()
    if response.status_code in (401, 403):
        return HTTPUnauthorized(response.headers.get("www-authenticate"), str(response.url))
    if response.is_redirect:
        where = response.headers.get("location", "")
        return GitProtocolError(f"the server answers with another address: {where}")
    return GitProtocolError(f"the server answers with {response.status_code}")
