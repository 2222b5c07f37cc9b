"""What a repository input may say: a folder under a listed root, or an https or ssh address (house §5)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .report import StationError

PORTS = {"https": 443, "ssh": 22}
SCP_LIKE = re.compile(
    r"(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>[^/:].*)"
)
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9a-fA-F:.]+")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
REFUSED_IN_REVISION = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


@dataclass(frozen=True)
class Folder:
    """A repository on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class Address:
    """A repository on another machine."""

    url: str
    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return self.url


def refused(why: str) -> StationError:
    return StationError(why, "refused")


def source(value: str, roots: Sequence[str]) -> Folder | Address:
    """What `value` names. Nothing outside `roots` is looked at, not even to say that it exists.

    :raises StationError: `refused`, with what would be accepted; `not_a_repository`.
    """
    if not value.strip():
        raise refused("The repository input is empty: give a folder or an https or ssh address.")
    if not value.isprintable():
        raise refused("The repository input holds a control character.")
    if value.startswith("-"):
        raise refused("A repository cannot begin with a dash: give a folder or an https or ssh address.")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*::", value):
        raise refused("Addresses of the form transport::address are not allowed: use https or ssh.")
    if "://" in value:
        return address(value)
    if scp := SCP_LIKE.fullmatch(value):
        return address(f"ssh://{scp['user']}@{scp['host']}/{scp['path']}")
    if value.startswith("/"):
        return folder(value, roots)
    raise refused(
        f"“{value}” is neither an absolute folder (/srv/repositories/it) nor an https or ssh address "
        "(https://host/path, ssh://user@host/path)."
    )


def address(value: str) -> Address:
    """An https or ssh address, without a password in it."""
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as error:
        raise refused(f"The address cannot be read: {error}.") from error
    if parts.scheme == "file":
        raise refused("Give the folder itself instead of a file: address.")
    if parts.scheme not in PORTS:
        raise refused(f"The transport {parts.scheme}: is not allowed: use https or ssh.")
    if parts.password is not None or (parts.scheme == "https" and parts.username is not None):
        raise refused("Keep names and passwords out of the address: everybody who sees the task can read it.")
    if parts.username is not None and not USER.fullmatch(parts.username):
        raise refused("The user in the address is not a plain name.")
    if not parts.hostname or not HOST.fullmatch(parts.hostname):
        raise refused("The address names no host.")
    if parts.query or parts.fragment:
        raise refused("A repository address has no ? or # in it.")
    return Address(value, parts.scheme, parts.hostname, port or PORTS[parts.scheme])


def folder(value: str, roots: Sequence[str]) -> Folder:
    """A repository below one of `roots`, whose parts all lie there too: its git folder may be elsewhere."""
    path = inside(Path(value), roots)
    if not path.is_dir():
        raise StationError(f"There is no folder {value} on this worker.", "not_a_repository")
    for part in repository_parts(path):
        inside(part, roots)
    return Folder(path)


def inside(path: Path, roots: Sequence[str]) -> Path:
    """`path` with its links followed, which must lie in one of `roots`."""
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(os.path.realpath(root)) for root in roots):
        known = ", ".join(roots) or "none is listed"
        raise refused(f"{path} is not in a folder the worker may read (GATELINE_REPOSITORY_ROOTS: {known}).")
    return real


def repository_parts(path: Path) -> list[Path]:
    """The folders that make up the repository at `path`: its git folder, the common one of a worktree, alternates."""
    git = git_folder(path)
    parts = [git]
    common = git / "commondir"
    if common.is_file():
        parts.append(git / text(common))
    alternates = parts[-1] / "objects" / "info" / "alternates"
    if alternates.is_file():
        lines = text(alternates).splitlines()
        parts += [parts[-1] / "objects" / line for line in lines if line and not line.startswith("#")]
    return parts


def git_folder(path: Path) -> Path:
    """The git folder of a working copy, of a worktree, or a bare repository itself."""
    dot = path / ".git"
    if dot.is_file():
        pointer = text(dot)
        if pointer.startswith("gitdir:"):
            return path / pointer.removeprefix("gitdir:").strip()
    for candidate in (dot, path):
        if (candidate / "HEAD").is_file() and (candidate / "objects").is_dir():
            return candidate
    raise StationError(
        f"{path} is not a git repository: it has no .git. Give the top folder of a repository; "
        "for a plain folder of sources, run `git init`, `git add .` and `git commit` in it first.",
        "not_a_repository",
    )


def text(path: Path) -> str:
    return path.read_bytes()[:65536].decode("utf-8", "surrogateescape").strip()


def revision(value: str) -> str:
    """A branch, a tag or a commit, as typed; empty means HEAD.

    :raises StationError: `refused` for anything that git would read as more than a name.
    """
    value = value.strip() or "HEAD"
    plain = value.isprintable() and len(value) <= 255 and not value.startswith(("-", "/"))
    if not plain or REFUSED_IN_REVISION.search(value) or value.endswith((".lock", "/", ".")):
        raise refused(f"“{value}” is not the name of a branch or a tag, nor a commit's number.")
    return value
