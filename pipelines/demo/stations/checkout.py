"""repository-checkout: the committed files of one revision, in the folder `tree`."""

from __future__ import annotations

import os
import stat
import tempfile
import zlib
from contextlib import closing
from pathlib import Path

from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    NotGitRepository,
    ObjectMissing,
    WrongObjectException,
)
from dulwich.index import validate_path_element_ntfs
from dulwich.object_store import MaxTreeDepthExceeded, iter_tree_contents
from dulwich.objects import S_ISGITLINK, Blob, Commit, TreeEntry
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from . import git_dulwich, git_system, tree
from .references import Wanted
from .report import KEPT, Report, StationError, arguments, listed, say
from .source import Address, Folder, revision, source
from .text import clean, clip, count, one_line

MOST_FILES = 50_000  # a task's workspace holds at most twice as many entries
LeftOut = tuple[bytes, str]  # the path, and why
MOST_BYTES = 1 << 30  # one GiB
LISTED = 50  # of what is left out
# What reading or writing a damaged repository, or one of a kind that is not known here, ends with.
DAMAGED = (
    *(ApplyDeltaError, ChecksumMismatch, FileFormatException, MaxTreeDepthExceeded, NotGitRepository),
    *(ObjectMissing, UnsupportedExtension, UnsupportedVersion, WrongObjectException),
    *(AssertionError, KeyError, OSError, ValueError, zlib.error),
)
# Findings of an earlier checkout must not be taken for this one's.
OTHERS = ("lint", "tests", "security")


def main() -> Report:
    given = arguments(
        "Check out one revision of a git repository.",
        repository={"required": True},
        revision={"default": ""},
        limit={"type": float, "default": 600.0},
    )
    origin = source(given.repository, listed("GATELINE_REPOSITORY_ROOTS", os.pathsep))
    name = revision(given.revision)
    clear()
    say(f"Fetching {name} of {origin}")
    try:
        found, left_out = fetched(origin, name, given.limit)
    except DAMAGED as error:
        why = clip(one_line(f"{type(error).__name__}: {error}"))
        raise StationError(
            f"{origin} cannot be checked out: it is damaged or incomplete ({why}).", "damaged"
        ) from error
    return report(origin, found, left_out)


def fetched(origin: Folder | Address, name: str, limit: float) -> tuple[Wanted, list[LeftOut]]:
    """Fetch the revision `name` and write its files."""
    with tempfile.TemporaryDirectory(dir=".", prefix=".fetch-") as home:
        fetcher = git_system.Git if git_system.installed() else git_dulwich.Dulwich
        place = fetcher(origin, Path(home).absolute(), limit)
        found = place.fetch(name)
        with closing(Repo(place.store)) as repository:
            return found, write(repository, found.commit)


def clear() -> None:
    """Start from an empty place: a retry, or a second round after triage, finds nothing of the one before."""
    tree.remove(tree.TREE)
    for station in OTHERS:
        (KEPT / f"{station}.json").unlink(missing_ok=True)


def write(repository: Repo, commit: str) -> list[LeftOut]:
    """Write the files of `commit` into the tree; what is left out of it.

    Straight from the objects: no hook, filter, attribute or configuration of the repository takes part.
    """
    found = repository[commit.encode()]
    assert isinstance(found, Commit)
    every = list(iter_tree_contents(repository.object_store, found.tree))
    limits(repository, every)
    tree.TREE.mkdir()
    left_out, links = [], []
    for entry in every:
        safe(entry.path)
        place = os.path.join(os.fsencode(tree.TREE), entry.path)
        if why := unwritable(entry):
            left_out.append((entry.path, why))
            continue
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if stat.S_ISLNK(entry.mode):
            links.append((place, data(repository, entry)))
        else:
            file(place, data(repository, entry), bool(entry.mode & stat.S_IXUSR))
    for place, target in links:  # last, so that nothing is ever written through one
        os.symlink(target, place)
    return left_out + without_outside()


def unwritable(entry: TreeEntry) -> str:
    """Why an entry of the commit is left out, or nothing. A task's workspace only keeps names that are UTF-8."""
    if S_ISGITLINK(entry.mode):
        return "a submodule"
    return "" if tree.name(entry.path).encode() == entry.path else "its name is not UTF-8"


def without_outside() -> list[LeftOut]:
    """Remove the links that lead out of the tree: no later station may read what they lead to."""
    outside = tree.outside(tree.TREE)
    for path in outside:
        os.unlink(os.path.join(os.fsencode(tree.TREE), path))
    return [(path, "a link that leads outside") for path in outside]


def limits(repository: Repo, found: list[TreeEntry]) -> None:
    if len(found) > MOST_FILES:
        raise StationError(
            f"The revision holds {len(found)} files; at most {MOST_FILES} are checked out.", "too_large"
        )
    size = 0
    for entry in found:
        if not S_ISGITLINK(entry.mode):
            size += repository.object_store[entry.sha].raw_length()
        if size > MOST_BYTES:
            raise StationError(
                f"The files of the revision are larger than {MOST_BYTES >> 20} MiB.", "too_large"
            )


def safe(path: bytes) -> None:
    for part in path.split(b"/"):
        if not part or b"\0" in part or not validate_path_element_ntfs(part):
            raise StationError(
                f"The revision holds the path “{tree.name(path)}”, which no checkout may write.", "refused"
            )


def data(repository: Repo, entry: TreeEntry) -> bytes:
    blob = repository.object_store[entry.sha]
    assert isinstance(blob, Blob)
    return blob.data


def file(place: bytes, content: bytes, executable: bool) -> None:
    with open(
        os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if executable else 0o644), "wb"
    ) as out:
        out.write(content)


def report(origin: Folder | Address, found: Wanted, left_out: list[LeftOut]) -> Report:
    entries = list(tree.entries(tree.TREE))
    size = sum(entry.size for entry in entries)
    where = f" on {found.branch}" if found.branch else ""
    notes = ["Uncommitted changes are not included."] if isinstance(origin, Folder) else []
    if left_out:
        notes.append(f"Left out: {count(len(left_out), 'entry', 'entries')}.")
    return Report(
        f"Checked out {found.commit[:12]}{where}: {count(len(entries), 'file')}, {size} bytes.",
        output={
            "repository": clean(str(origin)),
            "commit": found.commit,
            "branch": clean(found.branch),
            "files": len(entries),
            "bytes": size,
            "tree": tree.digest(entries),
            "left_out": [{"path": tree.name(path), "why": why} for path, why in left_out[:LISTED]],
            "triage": "none",
        },
        comment=" ".join(notes),
    )
