"""The objects of Git LFS of one repository: beside a repository in a folder, or at a server that speaks its
batch API. All calls block."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit

from pipelines.work.git.bounds import Bounds
from pipelines.work.git.lfs.batch_api import (
    LfsHttp,
    ObjectActions,
    checked_headers,
    is_same_origin,
)
from pipelines.work.git.lfs.local_objects import check_content, copy_bounded, object_path
from pipelines.work.git.lfs.pointers import Pointer
from pipelines.work.git.refusals import PUSH_REFUSED, GitRefused
from pipelines.work.git.remote import ASKING, ERRORS, TOKEN_USER, Remote
from pipelines.work.git.ssh import open_ssh_client
from pipelines.work.results.files import FileRefused, open_plain_file

DOWNLOAD, UPLOAD = "download", "upload"
MOST_ANSWER = 64 * 1024
"""Bytes of what ssh answers."""
Keep = Callable[[Pointer, Callable[[BinaryIO], None], str], None]
PathsWithPointers = Sequence[tuple[str, Pointer]]
"""(path of a file, its pointer)."""


class LfsServer(Protocol):
    def download(self, pointers: PathsWithPointers, keep: Keep) -> None:
        """`keep` checks and stores what is written. :raises GitRefused: an object is missing, or is another one"""

    def upload(self, pointers: PathsWithPointers, path_of: Callable[[Pointer], Path | None]) -> int:
        """Send what the server does not have yet, and return how many that were. `path_of`: where the content is, None
        where nobody has it. :raises GitRefused"""


@contextmanager
def open_lfs_server(remote: Remote, configured: str) -> Iterator[LfsServer]:
    """`configured`: the address that the base branch says in `.lfsconfig`, "" the usual. :raises GitRefused"""
    if remote.address.scheme == "folder":
        yield FolderServer(remote)
        return
    with closing(HttpServer(remote, configured)) as server:
        yield server


class FolderServer:
    """Objects in the git folder of a repository on this machine."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def _git_folder(self) -> Path:
        self._remote.check_folder()
        folder = Path(self._remote.address.path)
        return folder / ".git" if (folder / ".git").is_dir() else folder

    def download(self, pointers: PathsWithPointers, keep: Keep) -> None:
        folder = self._git_folder()
        for path, pointer in pointers:
            try:
                with open_plain_file(folder, object_path(pointer.oid)) as source:
                    keep(pointer, partial(copy_bounded, source, most=pointer.size), path)
            except FileRefused as error:
                raise missing_object_error(path, "The repository") from error

    def upload(self, pointers: PathsWithPointers, path_of: Callable[[Pointer], Path | None]) -> int:
        folder, count = self._git_folder(), 0
        for path, pointer in pointers:
            # A damaged one is refused before a pointer to it is published
            with suppress(FileRefused), open_plain_file(folder, object_path(pointer.oid)) as present:
                check_content(present, pointer, path)
                continue
            source = path_of(pointer)
            if source is None:
                raise missing_object_error(path, "Nobody", PUSH_REFUSED)
            try:
                with source.open("rb") as content:
                    _write_new_file(folder, object_path(pointer.oid), content)
            except OSError as error:
                raise GitRefused(
                    f"The large file {path} could not be stored in the repository: {error.strerror}.",
                    PUSH_REFUSED,
                ) from error
            count += 1
        return count


def _write_new_file(root: Path, relative: str, content: BinaryIO) -> None:
    """Write a file whose folders are made on the way; no step of it is a link."""
    *folders, name = relative.split("/")
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in folders:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=here)
            # The folder is open to others, who could put a link there meanwhile
            deeper = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = deeper
        # Under its name only when it is complete: git-lfs takes what is there for the object
        temporary = f".{name}.{os.getpid()}"
        # A process that had this number before may have ended in the middle
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=here)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o644, dir_fd=here), "wb") as file:
            while piece := content.read(1024**2):
                file.write(piece)
            file.flush()
            # Its pointer is pushed next, and after a loss of power must not lead to an empty file
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)
    finally:
        os.close(here)


class HttpServer:
    """Objects at a server. Of an ssh address it is asked by ssh where that is, as git-lfs does."""

    def __init__(self, remote: Remote, configured: str) -> None:
        self._remote, self._configured = remote, configured
        self._open: dict[str, LfsHttp] = {}

    def close(self) -> None:
        for http in self._open.values():
            http.close()

    def download(self, pointers: PathsWithPointers, keep: Keep) -> None:
        http = self._http_for_operation(DOWNLOAD)
        for path, answer in self._answers(http, DOWNLOAD, pointers):
            action = answer.actions.get(DOWNLOAD)
            if action is None:
                reason = f" It says: {answer.missing}." if answer.missing else ""
                raise missing_object_error(path, "The server of Git LFS", reason=reason)
            keep(answer.pointer, partial(http.download, action, answer.pointer), path)

    def upload(self, pointers: PathsWithPointers, path_of: Callable[[Pointer], Path | None]) -> int:
        http, count = self._http_for_operation(UPLOAD), 0
        for path, answer in self._answers(http, UPLOAD, pointers):
            if answer.missing:
                raise GitRefused(
                    f"The server of Git LFS does not take {path}: {answer.missing}.", PUSH_REFUSED
                )
            action, pointer = answer.actions.get(UPLOAD), answer.pointer
            if action is not None:
                source = path_of(pointer)
                if source is None:
                    raise missing_object_error(path, "Nobody", PUSH_REFUSED)
                with source.open("rb") as file:
                    http.upload(action, pointer, file)
                count += 1
            # Some servers count an object as there only after this call
            if verify := answer.actions.get("verify"):
                http.verify(verify, pointer)
        return count

    def _answers(
        self, http: LfsHttp, operation: str, pointers: PathsWithPointers
    ) -> Iterator[tuple[str, ObjectActions]]:
        paths = {pointer.oid: path for path, pointer in pointers}
        for answer in http.request_object_actions(operation, [pointer for _path, pointer in pointers]):
            yield paths[answer.pointer.oid], answer

    def _http_for_operation(self, operation: str) -> LfsHttp:
        # By ssh a server may give another address and token for sending than for fetching
        if operation not in self._open:
            endpoint, headers = self._endpoint_and_headers(operation)
            self._open[operation] = LfsHttp(endpoint, headers, self._remote.guard, self._remote.seconds)
        return self._open[operation]

    def _endpoint_and_headers(self, operation: str) -> tuple[str, dict[str, str]]:
        address = self._remote.address
        base = f"https://{address.host}" + (f":{address.port}" if address.port not in (443, 22) else "")
        usual = f"{base}{address.path.rstrip('/').removesuffix('.git')}.git/info/lfs"
        endpoint = self._configured or usual
        if address.scheme == "ssh" and not self._configured:
            return self._endpoint_and_headers_by_ssh(operation, usual)
        own = address.scheme == "https" and is_same_origin(endpoint, f"https://{address.host}:{address.port}")
        # To another host than that of the repository no credential goes
        return endpoint, basic_authorization_headers(self._remote.credential) if own else {}

    def _endpoint_and_headers_by_ssh(self, operation: str, usual: str) -> tuple[str, dict[str, str]]:
        remote, address = self._remote, self._remote.address
        # A shell of the server reads it: a quote in the path would end the argument
        path = "'" + address.path.lstrip("/").replace("'", "'\\''") + "'"
        command = f"git-lfs-authenticate {path} {operation}".encode()
        bounds = Bounds(ASKING * remote.seconds, MOST_ANSWER)
        try:
            with open_ssh_client(
                address, remote.guard, remote.credential, remote.known_hosts, bounds
            ) as client:
                connection = client.ssh_vendor.run_command(
                    client.host,
                    command,
                    port=client.port,
                    username=client.username,
                    ssh_command=client.ssh_command,
                )
                answer = connection.read(MOST_ANSWER)
                connection.close()
        except ERRORS as error:
            raise GitRefused(remote.describe_error(error)) from error
        try:
            document: Any = json.loads(answer)
            # Servers leave the address out where it is the usual one
            href, headers = document.get("href") or usual, document.get("header") or {}
            # The token that comes with it must not travel in clear text
            if not isinstance(href, str) or urlsplit(href).scheme != "https" or not isinstance(headers, dict):
                raise ValueError
        except (ValueError, AttributeError) as error:
            raise GitRefused(
                f"The server {address.host} does not say by ssh where its Git LFS is. Use its https address."
            ) from error
        return href, checked_headers(headers)


def basic_authorization_headers(credential: str) -> dict[str, str]:
    if not credential:
        return {}
    encoded = base64.b64encode(f"{TOKEN_USER}:{credential}".encode()).decode()
    return {"authorization": f"Basic {encoded}"}


def missing_object_error(path: str, who: str, failure_type: str = "", reason: str = "") -> GitRefused:
    holder = "Nobody has" if who == "Nobody" else f"{who} does not have"
    message = (
        f"{holder} the large file {path}, only its pointer of Git LFS.{reason} Upload it with git lfs push --all, or "
        "put the file itself in its place."
    )
    return GitRefused(message, failure_type) if failure_type else GitRefused(message)
