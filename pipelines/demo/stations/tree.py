"""The working copy: the folder `tree` in the workspace, the bytes exactly as committed, without a `.git`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .report import StationError

TREE = Path("tree")
TEST_FILE = re.compile(r"(^|/)(tests?/(.*/)?[^/]+|test[^/]*|[^/]*_test)\.py")


@dataclass(frozen=True, order=True)
class Entry:
    """One file or link. `path` is relative to the tree, raw bytes, `/` between its parts; `link` is where a link
    points to, else None; `sha256` is of the bytes, of a link's target for links."""

    path: bytes
    sha256: str
    size: int
    executable: bool = False
    link: bytes | None = None


def entries(root: Path) -> Iterator[Entry]:
    """Every file and link below `root`, in the order of the path's bytes. Sockets and pipes are left out."""
    yield from sorted(_walk(os.fsencode(root), b""))


def _walk(folder: bytes, prefix: bytes) -> Iterator[Entry]:
    with os.scandir(folder) as found:
        for item in found:
            path = prefix + item.name
            if item.is_symlink():
                target = os.readlink(item.path)
                yield Entry(path, hashlib.sha256(target).hexdigest(), len(target), link=target)
            elif item.is_dir():
                yield from _walk(item.path, path + b"/")
            elif item.is_file():
                yield _file(item.path, path, item.stat())


def _file(place: bytes, path: bytes, status: os.stat_result) -> Entry:
    with open(place, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Entry(path, digest, status.st_size, bool(status.st_mode & stat.S_IXUSR))


def digest(found: list[Entry]) -> str:
    """SHA-256 over every path and its content: the same for the same tree on every machine."""
    total = hashlib.sha256()
    for entry in found:
        kind = b"f" if entry.link is None else b"l"
        total.update(b"%s %s %d %s\n" % (kind, entry.sha256.encode(), len(entry.path), entry.path))
    return total.hexdigest()


def checked(expected: str) -> list[Entry]:
    """The entries of the working copy, which must be the ones that the checkout wrote (`expected`, a digest).

    :raises StationError: `changed`: code under test has written into it, or it is gone.
    """
    if TREE.is_symlink() or not TREE.is_dir():
        raise StationError(
            "There is no working copy in this workspace: run the checkout station first.", "changed"
        )
    found = list(entries(TREE))
    if digest(found) != expected:
        raise StationError(
            "The working copy is not the one that was checked out: something has changed it since, "
            "probably the tests. Choose “Fixed” in triage to start again from the checkout.",
            "changed",
        )
    return found


def outside(root: Path) -> list[bytes]:
    """The links below `root` that lead out of it, or in a circle, with their path."""
    top = os.fsencode(os.path.realpath(root))
    return [e.path for e in entries(root) if e.link is not None and not _inside(top, e.path)]


def _inside(top: bytes, path: bytes) -> bool:
    try:
        target = os.path.realpath(os.path.join(top, path), strict=True)
    except FileNotFoundError:
        target = os.path.realpath(os.path.join(top, path))
    except OSError:  # a circle
        return False
    return target == top or target.startswith(top + b"/")


def remove(folder: Path) -> None:
    """Remove a folder, also where tests made parts of it unwritable; nothing there is fine, a link is not followed."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    if not folder.exists():
        return
    os.chmod(folder, stat.S_IRWXU)
    for path, folders, _files in os.walk(folder):  # a folder is yielded before the ones in it are opened
        for child in (os.path.join(path, name) for name in folders):
            if not os.path.islink(child):
                os.chmod(child, stat.S_IRWXU)
    shutil.rmtree(folder)


def name(path: bytes) -> str:
    """A path for people and JSON: what is no UTF-8 in it is escaped."""
    return path.decode("utf-8", "backslashreplace")
