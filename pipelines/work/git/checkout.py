"""Filling an empty folder with the files of a commit. Nothing is run, no link is followed, no setting of the repository
is read: what cannot be filled in as it is, is refused in words."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from dulwich.index import INVALID_DOTNAMES
from dulwich.object_store import BaseObjectStore
from dulwich.objects import S_ISGITLINK, Blob, Commit, ObjectID, Tree

from pipelines.work.git.refusals import GitRefused
from pipelines.work.workspaces import DEEPEST, MOST_BYTES, MOST_FILES

LONGEST_NAME = 255
# 28: mode (6), space, NUL, and the 20 bytes of an id
MOST_TREE = MOST_FILES * (LONGEST_NAME + 28)
"""Bytes of a folder: no more names are in so many."""
MODULES = ".gitmodules"
GIT_LIKE = re.compile(r"\.git|git~\d+", re.IGNORECASE)
"""Names that git takes for its own folder on some system."""
Node = tuple[str, int, ObjectID]


def commit_tree(store: BaseObjectStore, commit: str) -> ObjectID:
    git_object = store[ObjectID(commit.encode())]
    if not isinstance(git_object, Commit):
        raise GitRefused(f"{commit[:12]} is no commit.")
    return git_object.tree


def _raise_fault(fault: GitRefused) -> None:
    raise fault


def tree_nodes(
    store: BaseObjectStore, tree: ObjectID, refuse: Callable[[GitRefused], None] = _raise_fault
) -> Iterator[Node]:
    """Every folder, file and link of a tree: (path, mode, id), folders before what is in them. `refuse` gets each entry
    that is not taken.

    :raises GitRefused: they are too many (a few objects can make billions), or one cannot be a path here"""
    for count, node in enumerate(_nodes_below(store, tree, refuse), start=1):
        # Counted on the way: trees may name each other so that a few objects make billions of paths
        if count > MOST_FILES:
            raise GitRefused(f"The repository has more than {MOST_FILES} files and folders.")
        yield node


def _nodes_below(
    store: BaseObjectStore,
    tree: ObjectID,
    refuse: Callable[[GitRefused], None],
    below: str = "",
    depth: int = 0,
) -> Iterator[Node]:
    if depth > DEEPEST:
        raise GitRefused(f"The folders of the repository are nested more than {DEEPEST} deep.")
    git_object = store[tree]
    if not isinstance(git_object, Tree):
        raise GitRefused("The repository is damaged: a folder of it is none.")
    # Before its entries are read
    if git_object.raw_length() > MOST_TREE:
        raise GitRefused(f"The repository has more than {MOST_FILES} files and folders.")
    visited = set()
    for name, mode, sha in git_object.iteritems():
        try:
            path = below + checked_entry_name(name, below)
            if path in visited:
                raise GitRefused(f"The repository is damaged: it has {path!r} twice.")
        except GitRefused as fault:
            refuse(fault)
            continue
        visited.add(path)
        yield path, mode, sha
        if S_ISDIR(mode):
            yield from _nodes_below(store, sha, refuse, f"{path}/", depth + 1)


@dataclass(frozen=True)
class TreeFaults:
    """`reasons`: why entries are not taken; `count`: of files; `files`: (mode, id) of the submodules, and of the file
    that names them."""

    reasons: list[str]
    count: int
    files: dict[str, tuple[int, ObjectID]]


def tree_faults(store: BaseObjectStore, tree: ObjectID) -> TreeFaults:
    """Say of each entry that no station would get why, and count the files. Of their content only targets of links are
    read.

    :raises GitRefused: they are too many; KeyError: an object is missing"""
    reasons: list[str] = []
    count, files = 0, {}
    for path, mode, sha in tree_nodes(store, tree, lambda fault: reasons.append(str(fault))):
        if S_ISDIR(mode):
            continue
        if S_ISGITLINK(mode) or path == MODULES:
            files[path] = (mode, sha)
        if S_ISGITLINK(mode):
            continue
        count += 1
        if sha not in store:
            raise KeyError(sha)
        blob = store[sha] if S_ISLNK(mode) else Blob()
        try:
            _refuse_content(path, mode, blob.data if isinstance(blob, Blob) else b"")
        except GitRefused as fault:
            reasons.append(str(fault))
    return TreeFaults(reasons, count, files)


def checked_entry_name(name: bytes, below: str) -> str:
    """The name of one entry."""
    try:
        text = name.decode()
    except UnicodeDecodeError as error:
        raise GitRefused(f"{below}{name!r} is not a name in UTF-8. Rename the file.") from error
    if len(name) > LONGEST_NAME:
        raise GitRefused(f"{below}{text[:40]}… has a name of more than {LONGEST_NAME} bytes. Rename it.")
    # In small letters: to some file systems .GIT is the folder .git
    wrong = not text or "/" in text or "\x00" in text or name.lower() in INVALID_DOTNAMES
    if wrong or GIT_LIKE.fullmatch(text):
        raise GitRefused(f"The repository has an entry {below + text!r}, which no file may be called.")
    return text


def write_tree_into_folder(store: BaseObjectStore, tree: ObjectID, folder: Path) -> int:
    """Into an empty folder, and return how many bytes there are; of a submodule the folder alone. In a thread.

    :raises GitRefused: too much, or something that is not taken"""
    size = 0
    for path, mode, sha in tree_nodes(store, tree):
        place = folder / path
        try:
            if S_ISDIR(mode) or S_ISGITLINK(mode):
                place.mkdir(mode=0o755)
                continue
            blob = store[sha]
            if not isinstance(blob, Blob):
                raise GitRefused(f"The repository is damaged: {path!r} is no file.")
            size += blob.raw_length()
            if size > MOST_BYTES:
                raise GitRefused(f"The files of the repository are larger than {MOST_BYTES // 1024**2} MB.")
            write_entry(place, mode, blob.data, path)
        except OSError as error:
            # Its tree was checked for doubles: these names are one only to the file system of this
            # machine
            if error.errno is not None and isinstance(error, FileExistsError):
                raise GitRefused(f"The repository is damaged: it has {path!r} twice.") from error
            raise
    return size


def write_entry(place: Path, mode: int, data: bytes, path: str) -> None:
    """Write one new file or link."""
    _refuse_content(path, mode, data)
    if S_ISLNK(mode):
        place.symlink_to(data.decode())
        return
    # Never through a link, and never over something that is there
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(place, flags, 0o755 if mode & 0o100 else 0o644), "wb") as file:
        file.write(data)
    # The mode of a new file is cut by the umask.
    place.chmod(0o755 if mode & 0o100 else 0o644)


def _refuse_content(path: str, mode: int, data: bytes) -> None:
    if S_ISLNK(mode):
        try:
            target = data.decode()
        except UnicodeDecodeError as error:
            raise GitRefused(
                f"The link {path!r} leads to a name that is not in UTF-8. Rename what it leads to."
            ) from error
        if not target or "\x00" in target:
            raise GitRefused(f"The link {path!r} leads nowhere. Remove it.")
    elif not S_ISREG(mode):
        raise GitRefused(f"The repository has {path!r} of an unknown kind. Remove it.")
