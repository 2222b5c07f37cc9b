"""The state of a repository in a folder: parts that it lacks, and branches that are checked out."""

from __future__ import annotations

from pathlib import Path

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


def lacking(repository: Repo) -> str:
    """Say what a clone lacks by its kind; "" where it is complete."""
    if repository.get_shallow():
        return SHALLOW
    return PARTIAL if any(Path(repository.object_store.pack_dir).glob("*.promisor")) else ""


def checked_out(repository: Repo, branch: str) -> bool:
    """Say whether files of this branch lie in the folder of the repository, or in one of its worktrees."""
    control = Path(repository.controldir())
    heads = list(control.glob("worktrees/*/HEAD"))
    if not repository.bare:
        heads.append(control / "HEAD")
    return any(_head(place) == f"{SYMBOLIC}{HEADS}{branch}" for place in heads if place.is_file())


def _head(place: Path) -> str:
    with place.open(errors="surrogateescape") as file:
        return file.read(LONGEST).strip()
