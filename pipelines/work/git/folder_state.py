"""The state of a repository in a folder: parts that it lacks, and branches that are checked out."""

from __future__ import annotations

import time
from pathlib import Path
from stat import S_ISDIR

from dulwich.objects import S_ISGITLINK, Commit, ObjectID, Tag, Tree
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

SHALLOW = (
    "The repository is a shallow clone: it lacks its history. Run git fetch --unshallow in it, or connect a complete "
    "clone."
)
PARTIAL = (
    "The repository is a partial clone: it lacks objects until they are needed. Connect a complete clone, made without "
    "--filter."
)
SYMBOLIC, HEADS = "ref: ", "refs/heads/"
LONGEST = 1_000
SECONDS = 10.0
"""In which a clone has to show that it is complete."""


def missing_parts_text_or_empty(repository: Repo) -> str:
    """Say what a clone lacks by its kind; "" where it is complete."""
    if repository.get_shallow():
        return SHALLOW
    # So git marks the packs of a partial clone.
    promised = any(Path(repository.object_store.pack_dir).glob("*.promisor"))
    return PARTIAL if promised and not _has_all_objects(repository) else ""


def _has_all_objects(repository: Repo) -> bool:
    """True if all that its branches and tags lead to is there, which the mark of a partial clone does not rule out:
    the mark stays when the rest was fetched. False where that takes too long to see."""
    store, deadline = repository.object_store, time.monotonic() + SECONDS
    queue, visited = list(repository.get_refs().values()), set[ObjectID]()
    while queue:
        number = queue.pop()
        if number in visited:
            continue
        visited.add(number)
        if number not in store or time.monotonic() > deadline:
            return False
        item = store[number]
        if isinstance(item, Commit):
            queue += [item.tree, *item.parents]
        elif isinstance(item, Tag):
            queue.append(item.object[1])
        elif isinstance(item, Tree):
            # The commit of a submodule is no object of this repository.
            entries = [entry for entry in item.iteritems() if not S_ISGITLINK(entry.mode or 0)]
            queue += [entry.sha for entry in entries if S_ISDIR(entry.mode or 0)]
            # Files are looked for, and not read.
            if not all(entry.sha in store for entry in entries):
                return False
    return True


def is_checked_out(repository: Repo, branch: str) -> bool:
    """Say whether files of this branch lie in the folder of the repository, or in one of its worktrees."""
    control = Path(repository.controldir())
    heads = list(control.glob("worktrees/*/HEAD"))
    # A bare repository is on a branch, too, but no files of it lie there
    if not repository.bare:
        heads.append(control / "HEAD")
    return any(_head_text(place) == f"{SYMBOLIC}{HEADS}{branch}" for place in heads if place.is_file())


def clone_branch_or_empty(repository: Repo) -> str:
    """Return the branch from which tasks start in a folder in which somebody works: the one that the repository was
    cloned for, else the one that is checked out now. "" where nobody works in it: there HEAD says it."""
    # Nobody works there: HEAD says which branch is the main one
    if repository.bare:
        return ""
    symrefs = repository.refs.get_symrefs()
    cloned = symrefs.get(Ref(b"refs/remotes/origin/HEAD"), b"").decode(errors="surrogateescape")
    branch = cloned.removeprefix("refs/remotes/origin/")
    if branch and f"{HEADS}{branch}".encode(errors="surrogateescape") in repository.refs.allkeys():
        return branch
    return symrefs.get(HEADREF, b"").decode(errors="surrogateescape").removeprefix(HEADS)


def _head_text(place: Path) -> str:
    # The name of a branch is bytes: one that is not UTF-8 is another branch, and no error
    with place.open(errors="surrogateescape") as file:
        return file.read(LONGEST).strip()
