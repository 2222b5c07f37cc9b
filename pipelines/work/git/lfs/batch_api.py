"""Batch API of a server of Git LFS: where an object is to be fetched from, or sent to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final
from urllib.parse import urljoin, urlsplit

import httpx2

from pipelines.work.file_measure import PIECE
from pipelines.work.git.bounds import WHOLE_SECONDS
from pipelines.work.git.lfs.pointers import Pointer
from pipelines.work.git.refusals import GitRefused
from pipelines.work.outgoing.git_client import TransferDeadline
from pipelines.work.outgoing.guard import Guard, RefusedAddress
from pipelines.work.outgoing.transport import blocking_client

MEDIA_TYPE: Final = "application/vnd.git-lfs+json"
# More than a full batch takes: a server could go on answering without end
MOST_ANSWER: Final = 4 * 1024**2
MOST_OBJECTS: Final = 100
"""Of one call, as git-lfs asks."""
HEADER_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
MOST_HEADERS, LONGEST_HEADER = 20, 8192
# A server that redirects to itself has to end, too
MOST_REDIRECTS: Final = 3
OWN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)
"""Headers that are of a connection, whoever asks for them."""
ERRORS = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)


@dataclass(frozen=True)
class Action:
    """A call that the server asks for. `headers`: as it wants them."""

    href: str
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class ObjectActions:
    """`missing`: in the words of the server, where it does not have the object or does not take it."""

    pointer: Pointer
    actions: Mapping[str, Action]
    missing: str = ""


class LfsHttp:
    """Calls of one transfer. `headers`: those of the endpoint, which go to its origin and nowhere else."""

    def __init__(self, endpoint: str, headers: Mapping[str, str], guard: Guard, seconds: float) -> None:
        self.endpoint, self._headers = endpoint.rstrip("/"), headers
        self._http = blocking_client(guard, seconds)
        # A timeout of each read would never end a server that sends a byte now and then
        self._deadline = TransferDeadline(WHOLE_SECONDS)

    def close(self) -> None:
        self._deadline.cancel_and_close_socket()
        self._http.close()

    def request_object_actions(self, operation: str, pointers: Iterable[Pointer]) -> list[ObjectActions]:
        """:raises GitRefused: the server does not answer as one of Git LFS does"""
        # Files of the same content are one object, which a server answers for once
        requested = {pointer.oid: pointer for pointer in pointers}
        answered: list[ObjectActions] = []
        pending = list(requested.values())
        while pending:
            part, pending = pending[:MOST_OBJECTS], pending[MOST_OBJECTS:]
            document = {
                "operation": operation,
                # The one that every server has: others are optional
                "transfers": ["basic"],
                "hash_algo": "sha256",
                "objects": [{"oid": pointer.oid, "size": pointer.size} for pointer in part],
            }
            answer = self._json_answer("POST", f"{self.endpoint}/objects/batch", document)
            answered += _read_answer(answer, {pointer.oid: pointer for pointer in part})
        return answered

    def download(self, action: Action, pointer: Pointer, file: BinaryIO) -> None:
        """:raises GitRefused"""
        with self._send("GET", action.href, action.headers) as response:
            # A byte more than it should have is enough to know that it is another one
            room = pointer.size + 1
            for chunk in response.iter_bytes():
                file.write(chunk[:room])
                room -= len(chunk)
                if room <= 0:
                    raise GitRefused(
                        f"The server of Git LFS sends more than the {pointer.size} bytes of an object."
                    )

    def upload(self, action: Action, pointer: Pointer, file: BinaryIO) -> None:
        """:raises GitRefused"""
        headers = {
            "content-type": "application/octet-stream",
            **action.headers,
            # Without it the client sends chunks, which object stores refuse
            "content-length": str(pointer.size),
        }
        # In pieces: such a file may not fit into memory
        with self._send("PUT", action.href, headers, iter(lambda: file.read(PIECE), b"")):
            return

    def verify(self, action: Action, pointer: Pointer) -> None:
        document = {"oid": pointer.oid, "size": pointer.size}
        headers = {"content-type": MEDIA_TYPE, "accept": MEDIA_TYPE, **action.headers}
        with self._send("POST", action.href, headers, json.dumps(document).encode()):
            return

    def _json_answer(self, method: str, url: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
        headers = {"accept": MEDIA_TYPE, "content-type": MEDIA_TYPE}
        body = bytearray()
        with self._send(method, url, headers, json.dumps(document).encode()) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MOST_ANSWER:
                    raise GitRefused("The server of Git LFS answers with too much.")
        try:
            answer = json.loads(body)
        # JSON that is nested too deep is no ValueError
        except (ValueError, RecursionError) as error:
            raise GitRefused("The server of Git LFS does not answer as one of Git LFS does.") from error
        if not isinstance(answer, dict):
            raise GitRefused("The server of Git LFS does not answer as one of Git LFS does.")
        return answer

    @contextmanager
    def _send(
        self, method: str, url: str, headers: Mapping[str, str], content: Any = None
    ) -> Iterator[httpx2.Response]:
        for _ in range(MOST_REDIRECTS + 1):
            if urlsplit(url).scheme != "https":
                raise GitRefused(f"The server of Git LFS names an address that is not https: {url[:100]}")
            # Not compressed: a small answer must not unfold into a large one
            sent = {"user-agent": "git-lfs/gateline", "accept-encoding": "identity", **headers}
            # A server that says how to sign in for an object wants that instead of the credential
            if is_same_origin(url, self.endpoint) and "authorization" not in {
                name.lower() for name in headers
            }:
                sent |= self._headers
            try:
                request = self._http.build_request(
                    method, url, headers=sent, content=content, extensions={"trace": self._deadline.trace}
                )
                response = self._http.send(request, stream=True)
            except RefusedAddress as error:
                raise GitRefused(str(error)) from error
            except ERRORS as error:
                raise GitRefused(self._unreachable_message(error)) from error
            try:
                # Only what is fetched is asked for elsewhere: nothing is sent to where a redirect leads
                if response.is_redirect and method == "GET":
                    to = urljoin(url, response.headers.get("location", ""))
                    # They may hold a token, which was meant for the first server alone
                    headers = headers if is_same_origin(url, to) else {}
                    url = to
                    continue
                if not response.is_success:
                    raise GitRefused(_refusal_text(response, urlsplit(url).hostname or ""))
                yield response
                return
            except ERRORS as error:
                raise GitRefused(self._unreachable_message(error)) from error
            finally:
                response.close()
        raise GitRefused("The server of Git LFS redirects too often.")

    def _unreachable_message(self, error: Exception) -> str:
        return f"The server of Git LFS could not be reached: {self._deadline.error_message(error)[:300]}"


def is_same_origin(url: str, other: str) -> bool:
    try:
        first, second = urlsplit(url), urlsplit(other)
        return (first.scheme, first.hostname, first.port or 443) == (
            second.scheme,
            second.hostname,
            second.port or 443,
        )
    # Asking for `port` raises it where that is no number
    except ValueError:
        return False


def _refusal_text(response: httpx2.Response, host: str) -> str:
    if response.status_code in (401, 403):
        return (
            f"The server of Git LFS at {host} refuses access ({response.status_code}). Choose a credential that may "
            "read and write large files of this repository."
        )
    # So answer many hosts where Git LFS is switched off
    if response.status_code == 404:
        return f"There is no Git LFS for this repository at {host}. Switch it on there, or keep the files elsewhere."
    return f"The server of Git LFS at {host} answers with {response.status_code}."


def _read_answer(answer: Mapping[str, Any], requested: Mapping[str, Pointer]) -> Iterator[ObjectActions]:
    objects = answer.get("objects")
    if (
        answer.get("transfer", "basic") != "basic"
        or not isinstance(objects, list)
        or len(objects) > MOST_OBJECTS
    ):
        raise GitRefused("The server of Git LFS asks for a transfer that is not built: basic is.")
    remaining = dict(requested)
    for entry in objects:
        fields = entry if isinstance(entry, dict) else {}
        # Each once, and none that nobody asked for
        pointer = remaining.pop(str(fields.get("oid")), None)
        if pointer is None:
            raise GitRefused("The server of Git LFS speaks of an object that nobody asked for.")
        error = fields.get("error")
        if isinstance(error, dict):
            yield ObjectActions(
                pointer, {}, f"{error.get('code', '')} {str(error.get('message', ''))[:200]}".strip()
            )
            continue
        actions = fields.get("actions")
        entries = actions.items() if isinstance(actions, dict) else ()
        yield ObjectActions(pointer, {str(name): _read_action(value) for name, value in entries})
    # One that is passed over would count as sent, and its pointer would be published
    if remaining:
        raise GitRefused("The server of Git LFS does not say where all objects are.")


def _read_action(value: Any) -> Action:
    fields = value if isinstance(value, dict) else {}
    headers = fields.get("header") or {}
    if (
        not isinstance(fields.get("href"), str)
        or not isinstance(headers, dict)
        or len(headers) > MOST_HEADERS
    ):
        raise GitRefused("The server of Git LFS names no address for an object.")
    return Action(fields["href"], checked_headers(headers))


def checked_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that a call may have. :raises GitRefused: one is no header"""
    checked = {}
    for name, text in headers.items():
        value = str(text)
        if (
            # A line break would begin another header
            not value.isprintable()
            or not value.isascii()
            or len(value) > LONGEST_HEADER
            or not _is_token(name)
        ):
            raise GitRefused("The server of Git LFS asks for a header that cannot be sent.")
        # Whoever may set these could smuggle a second request behind the first
        if name.lower() not in OWN_HEADERS:
            checked[name.lower()] = value
    return checked


def _is_token(name: Any) -> bool:
    return (
        isinstance(name, str)
        and 0 < len(name) <= 100
        and name.replace("-", "").replace("_", "").isalnum()
        and name.isascii()
    )
