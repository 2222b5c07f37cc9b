"""Git over HTTPS by the guarded client: dulwich speaks the protocol, the connection is made here."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

import httpx2
from dulwich.client import AbstractHttpGitClient, HTTPUnauthorized
from dulwich.errors import GitProtocolError, NotGitRepository

from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.outgoing.transport import blocking_client

WHOLE_SECONDS = 3600.0
Took = Callable[[int], None]
"""Told how many bytes were read; it may raise GitProtocolError."""
ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


class TransferDeadline:
    """Ends the connection that is open when the time is over, whatever a server sends until then: a line of a header at
    a time keeps every wait for a byte short."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.passed = seconds, False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._mark_passed_and_cut)
        # A process that ends does not wait for it
        self._timer.daemon = True
        self._timer.start()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Handle an event of httpcore2 (its extension `trace`)."""
        if event == "connection.connect_tcp.complete":
            with self._lock:
                self._close_socket()
                # A handle of its own: TLS takes the one of the connection over, and it cannot be cut by that meanwhile.
                self._socket = info["return_value"].get_extra_info("socket").dup()
                if self.passed:
                    self._shut_socket_down()

    def error_message(self, error: Exception) -> str:
        if self.passed:
            return f"the server did not finish within {max(1.0, self.seconds):.0f} s."
        return str(error) or type(error).__name__

    def cancel_and_close_socket(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._close_socket()

    def _mark_passed_and_cut(self) -> None:
        with self._lock:
            self.passed = True
            self._shut_socket_down()

    def _shut_socket_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):  # The server has closed it already.
                self._socket.shutdown(socket.SHUT_RDWR)

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class GitAnswer:
    """An answer while it is read, as dulwich takes it. Redirects are not followed, so that a credential never goes
    anywhere else than to where it was meant for."""

    # dulwich takes a text here as the new address of the repository
    redirect_location = ""

    def __init__(self, response: httpx2.Response, took: Took, deadline: TransferDeadline) -> None:
        self.status = response.status_code
        self.content_type = response.headers.get("content-type")
        self._response, self._chunks, self._rest = response, response.iter_bytes(), b""
        self._took, self._deadline = took, deadline

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end of the answer."""
        try:
            while len(self._rest) < size and (chunk := next(self._chunks, b"")):
                self._took(len(chunk))
                self._rest += chunk
        except ERRORS as error:
            raise GitProtocolError(self._deadline.error_message(error)) from error
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def close(self) -> None:
        self._response.close()


class HttpsGitClient(AbstractHttpGitClient):
    """Git client that resolves, checks and connects anew for each request. `seconds`: how long the server may
    be silent; `total_seconds`: how long all requests may take together.

    :raises RefusedAddress: from each request, where the address must not be reached
    """

    def __init__(
        self,
        url: str,
        guard: Guard,
        seconds: float,
        user: str = "",
        password: str = "",
        took: Took = lambda size: None,
        thin_packs: bool = False,
        total_seconds: float = WHOLE_SECONDS,
    ) -> None:
        super().__init__(url, quiet=True, thin_packs=thin_packs)
        self._took, self._deadline = took, TransferDeadline(total_seconds)
        self._http = blocking_client(guard, seconds)
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._own = {"authorization": f"Basic {credentials}"} if password else {}

    def close(self) -> None:
        self._deadline.cancel_and_close_socket()
        self._http.close()

    def _get_url(self, path: str | bytes) -> str:
        place = path if isinstance(path, str) else path.decode()
        # With a slash at the end: else the next part would take the place of the last one
        return urljoin(self._base_url, place).rstrip("/") + "/"

    def _http_request(  # type: ignore[override]  # no more of an answer is ever read than `GitAnswer` has
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[GitAnswer, Callable[[int], bytes]]:
        # Not compressed: a small answer must not unfold into a large one
        base_headers = {"user-agent": "git/dulwich", "accept-encoding": "identity", "pragma": "no-cache"}
        try:
            request = self._http.build_request(
                "GET" if data is None else "POST",
                url,
                headers=base_headers | (headers or {}) | self._own,
                content=data,
                extensions={"trace": self._deadline.trace},
            )
            response = self._http.send(request, stream=True)
        # Before ERRORS, of which it is one: callers tell it by its type
        except RefusedAddress:
            raise
        except ERRORS as error:
            raise GitProtocolError(self._deadline.error_message(error)) from error
        if raise_for_status and response.status_code != 200:
            response.close()
            raise _response_error(response)
        answer = GitAnswer(response, self._took, self._deadline)
        return answer, answer.read


def _response_error(response: httpx2.Response) -> Exception:
    if response.status_code == 404:
        return NotGitRepository()
    if response.status_code in (401, 403):
        return HTTPUnauthorized(response.headers.get("www-authenticate"), str(response.url))
    # Not followed: the address that was checked is the one that is called
    if response.is_redirect:
        where = response.headers.get("location", "")
        return GitProtocolError(f"the server answers {response.status_code}, with another address: {where}")
    return GitProtocolError(f"the server answers with {response.status_code}")
