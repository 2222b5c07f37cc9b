"""Fetching with dulwich, for a machine without git. Folders and https; ssh needs the system's git and ssh."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from dulwich.client import HTTPUnauthorized
from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.object_store import peel_sha
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, SYMREF, Ref
from dulwich.repo import Repo

from pipelines.work.outgoing.git import HttpsGitClient
from pipelines.work.outgoing.guard import RefusedAddress

from .references import Wanted, not_there, wanted
from .report import StationError
from .source import Address, Folder
from .text import clip, one_line
from .way_out import checked, guard


class Dulwich:
    """`store` is the repository that holds the commits: the folder itself, or a bare copy in `home`."""

    def __init__(self, origin: Folder | Address, home: Path, limit: float) -> None:
        self.origin, self.limit = origin, limit
        self.store = origin.path if isinstance(origin, Folder) else home / "it.git"

    def fetch(self, revision: str) -> Wanted:
        """Bring the commit that `revision` means into the store.

        :raises StationError: `unreachable`, `no_such_revision`, `refused`.
        """
        if isinstance(self.origin, Folder):
            with closing(Repo(self.store)) as repository:
                return local(repository, revision)
        if self.origin.scheme != "https":
            # Where it leads comes first: a forbidden address is refused, whatever is installed.
            checked(self.origin)
            raise StationError(
                "Reading a repository over ssh needs git on this worker: install git.", "missing_tool"
            )
        try:
            return self.remote(self.origin, revision)
        except (GitProtocolError, NotGitRepository, HTTPUnauthorized, OSError) as error:
            why = clip(one_line(str(error))) or type(error).__name__
            raise StationError(f"{self.origin} could not be read: {why}", "unreachable") from error

    def remote(self, origin: Address, revision: str) -> Wanted:
        try:
            return self._fetched(origin, revision)
        except RefusedAddress as error:
            raise StationError(str(error), "refused") from error

    def _fetched(self, origin: Address, revision: str) -> Wanted:
        self.store.mkdir()
        with (
            closing(HttpsGitClient(origin.url, guard(), self.limit, thin_packs=True)) as client,
            closing(Repo.init_bare(self.store)) as repository,
        ):
            found = client.get_refs(b"")
            refs = {text(name): text(value) for name, value in found.refs.items() if value}
            want = wanted(peeled(refs), text(found.symrefs.get(HEADREF, b"")), revision)
            commits = [number(want.commit)] if want.complete else heads(refs)
            depth = 1 if want.complete else None

            def wants(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
                return commits

            client.fetch(b"", repository, determine_wants=wants, depth=depth)
            return settled(repository, want, refs)


def local(repository: Repo, revision: str) -> Wanted:
    refs = {text(name): text(value) for name, value in repository.get_refs().items()}
    head = repository.refs.read_ref(HEADREF) or b""
    branch = text(head.removeprefix(SYMREF)) if head.startswith(SYMREF) else ""
    return settled(repository, wanted(refs, branch, revision), refs)


def settled(repository: Repo, want: Wanted, refs: dict[str, str]) -> Wanted:
    """`want` with the number of a commit that is in the store: tags followed, short numbers completed."""
    if want.complete:
        found = [number(want.commit)] if number(want.commit) in repository.object_store else []
    else:
        near = dict.fromkeys(repository.object_store.iter_prefix(want.commit.encode()))
        found = [it for it in near if repository.object_store[it].type_name in (b"commit", b"tag")]
    if len(found) != 1:
        raise not_there(want.commit, refs)
    _, target = peel_sha(repository.object_store, found[0])
    if target.type_name != b"commit":
        raise StationError(f"{want.commit} is a {text(target.type_name)}, not a commit.", "no_such_revision")
    return Wanted(text(target.id), want.ref, want.branch)


def peeled(refs: dict[str, str]) -> dict[str, str]:
    """The references with annotated tags replaced by what they are put on (advertised as `name^{}`)."""
    return {name.removesuffix("^{}"): value for name, value in sorted(refs.items())}


def heads(refs: dict[str, str]) -> list[ObjectID]:
    kinds = ("refs/heads/", "refs/tags/", "HEAD")
    return sorted({number(value) for name, value in refs.items() if name.startswith(kinds)})


def number(commit: str) -> ObjectID:
    return ObjectID(commit.encode())


def text(value: bytes | Ref) -> str:
    return bytes(value).decode("utf-8", "surrogateescape")
