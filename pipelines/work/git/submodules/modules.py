"""The file `.gitmodules`, and what it may name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from dulwich.config import ConfigFile, parse_submodules
from dulwich.object_store import BaseObjectStore
from dulwich.objects import S_ISGITLINK, Blob, ObjectID

from pipelines.ports.server_folders import ServerFolders
from pipelines.work.git.addresses import RepositoryAddress, parsed_repository_address
from pipelines.work.git.checkout import MODULES
from pipelines.work.git.refusals import GitRefused
from pipelines.work.results.files import FileRefused, open_plain_file

MOST_TEXT = 64 * 1024
MOST_MODULES = 100
"""Of a repository, with those of its submodules."""
DEEPEST = 5
GITLINK = 0o160000
REMEDY = "Correct .gitmodules, or put the files of the submodule in its place."


@dataclass(frozen=True)
class Module:
    path: str
    url: str


class SubmoduleRefused(GitRefused):
    """Refusal because of one submodule."""

    def __init__(self, path: str, reason: str, failure_type: str = "prepare_failed") -> None:
        super().__init__(f"Submodule {path}: {reason}", failure_type, (path,))


def submodule_text(pin: ObjectID) -> bytes:
    """Return what stands for a submodule where people read the change, as git writes it."""
    return b"Subproject commit " + pin + b"\n"


def submodules_by_path(data: bytes) -> dict[str, Module]:
    """{path: module}. :raises GitRefused: it cannot be read, or names too many"""
    # An include would read another file of this machine
    if len(data) > MOST_TEXT or b"[include" in data.lower():
        raise GitRefused(f"{MODULES} is too long, or includes other files. {REMEDY}")
    try:
        entries = list(parse_submodules(ConfigFile.from_file(io.BytesIO(data))))
        modules = [Module(path.decode(), url.decode()) for path, url, _name in entries]
    except (ValueError, LookupError) as error:
        raise GitRefused(f"{MODULES} cannot be read: {str(error)[:200]}. {REMEDY}") from error
    if len(modules) > MOST_MODULES:
        raise GitRefused(f"{MODULES} names more than {MOST_MODULES} submodules.")
    return {module.path.rstrip("/"): module for module in modules}


def submodules_of_tree(
    store: BaseObjectStore, files: Mapping[str, tuple[int, ObjectID]]
) -> dict[str, Module]:
    """:raises GitRefused: it is a link, or cannot be read"""
    mode, sha = files.get(MODULES, (0, ObjectID(b"")))
    if not mode:
        return {}
    # A link could lead to any other file: git refuses one as well
    blob = store[sha] if S_ISREG(mode) else None
    if not isinstance(blob, Blob):
        raise GitRefused(f"{MODULES} is no plain file, which git does not take. {REMEDY}")
    return submodules_by_path(blob.data)


def submodules_of_workspace(workspace: Path) -> dict[str, Module]:
    """:raises GitRefused: it is a link, or cannot be read"""
    try:
        # Not `exists`, which passes over a link that leads nowhere
        (workspace / MODULES).lstat()
    except FileNotFoundError:
        return {}
    try:
        with open_plain_file(workspace, MODULES) as file:
            # The byte more shows that it is too long
            return submodules_by_path(file.read(MOST_TEXT + 1))
    except FileRefused as error:
        raise GitRefused(f"{MODULES} is no plain file, which git does not take. {REMEDY}") from error


def pinned_commit_by_path(files: Mapping[str, tuple[int, ObjectID]]) -> dict[str, ObjectID]:
    """{path: commit} of the submodules of a tree."""
    return {path: sha for path, (mode, sha) in files.items() if S_ISGITLINK(mode)}


def submodule_repository_address(
    path: str, modules: Mapping[str, Module], parent: RepositoryAddress, folders: ServerFolders
) -> RepositoryAddress:
    """Return where the repository of a submodule is. :raises SubmoduleRefused"""
    module = modules.get(path)
    if module is None:
        raise SubmoduleRefused(path, f"{MODULES} does not say its address. {REMEDY}")
    try:
        return _submodule_address(module.url, parent, folders)
    except GitRefused as error:
        raise SubmoduleRefused(path, str(error)) from error


def _submodule_address(url: str, parent: RepositoryAddress, folders: ServerFolders) -> RepositoryAddress:
    text = _absolute_url(url, parent) if url.startswith(("./", "../")) else url
    if parent.scheme == "folder":
        text = text.removeprefix("file://") if text.startswith("file:///") else text
    # A task could so have any folder of this machine read
    elif text.startswith(("/", "file:")):
        raise GitRefused("It names a folder, which only a repository in a folder of the server may.")
    address = parsed_repository_address(text, folders)
    # As people sign in with their own keys, and Gateline with the token of this host
    if parent.scheme == "https" and address.scheme == "ssh" and address.host == parent.host:
        return parsed_repository_address(
            f"{_server_origin_or_empty(parent)}/{address.path.lstrip('/')}", folders
        )
    return address


def _absolute_url(url: str, parent: RepositoryAddress) -> str:
    """An address relative to that of the repository around it, as git reads it."""
    parts = parent.path.strip("/").split("/")
    for part in url.split("/"):
        if part == "..":
            if not parts:
                raise GitRefused("Its address leads above the host. Enter the whole address.")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return f"{_server_origin_or_empty(parent)}/{'/'.join(parts)}"


def _server_origin_or_empty(address: RepositoryAddress) -> str:
    if address.scheme == "folder":
        return ""
    # Only brackets tell the colons of IPv6 from the one before a port
    host = f"[{address.host}]" if ":" in address.host else address.host
    user = f"{address.user}@" if address.user else ""
    return f"{address.scheme}://{user}{host}:{address.port}"


def is_same_server(address: RepositoryAddress, other: RepositoryAddress) -> bool:
    """True if a credential for the one may go to the other."""
    return address.scheme != "folder" and (address.scheme, address.host, address.port) == (
        other.scheme,
        other.host,
        other.port,
    )
