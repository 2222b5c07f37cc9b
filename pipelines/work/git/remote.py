"""A repository somewhere else: what it has, fetching from it, and one fast-forward push to it. All calls block."""

from __future__ import annotations

import os
import shlex
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dulwich.client import GitClient, HTTPUnauthorized, LocalGitClient, SendPackResult
from dulwich.errors import GitProtocolError, HangupException, NotGitRepository, SendPackError
from dulwich.file import FileLocked
from dulwich.object_store import PackBasedObjectStore
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from pipelines.ports.server_folders import FolderRefused, ServerFolders
from pipelines.work.git.addresses import RepositoryAddress
from pipelines.work.git.bounds import WHOLE_SECONDS, Bounds
from pipelines.work.git.folder_state import SHALLOW, clone_branch_or_empty, is_checked_out
from pipelines.work.git.refusals import BASE_MOVED, PUSH_REFUSED, GitRefused
from pipelines.work.git.sizes import check_folder_object_sizes, check_pack_sizes
from pipelines.work.git.ssh import open_ssh_client
from pipelines.work.outgoing.git_client import HttpsGitClient
from pipelines.work.outgoing.guard import Guard, RefusedAddress

HEADS, TAGS = "refs/heads/", "refs/tags/"
# In git's protocol: there is no such branch.
ZERO = "0" * 40
# What servers take beside a token: they look at the token alone.
TOKEN_USER = "x-access-token"  # the name of a user, not of a token
SECONDS = 60.0
ASKING = 3
"""Times as long as it may be silent, a server has in all to say what it has."""
LOCKED_SECONDS = 10.0
"""How long a push waits for another one to the same folder."""
ERRORS = (
    GitProtocolError, HangupException, HTTPUnauthorized, NotGitRepository, SendPackError, OSError, ValueError, KeyError,
    IndexError, zlib.error,
)  # fmt: skip
ProgressCallback = Callable[[str], None]


class FetchTooLarge(Exception):
    """More bytes than a mirror may hold."""


@dataclass(frozen=True)
class References:
    """`refs` {name: commit}, tags peeled; `head`: the branch that HEAD is on, "" where it says none."""

    refs: Mapping[str, str]
    head: str = ""

    def branch_commit(self, name: str) -> str:
        """The commit of a branch; "" where there is none."""
        return self.refs.get(HEADS + name, "")

    def commit_of_branch_or_tag(self, name: str) -> str:
        """Return the commit of a branch or a tag."""
        return self.branch_commit(name) or self.refs.get(TAGS + name, "")

    @property
    def branches(self) -> list[str]:
        return sorted(name.removeprefix(HEADS) for name in self.refs if name.startswith(HEADS))


@dataclass(frozen=True)
class Remote:
    """`credential`: a token of an https address, a private key of an ssh address. `known_hosts`: where the keys of
    hosts are kept that ssh has seen."""

    address: RepositoryAddress
    guard: Guard = field(default_factory=Guard, repr=False)
    credential: str = field(default="", repr=False)
    known_hosts: Path = Path(os.devnull)
    seconds: float = SECONDS
    folders: ServerFolders = field(default_factory=ServerFolders, repr=False)

    @contextmanager
    def _client(self, bounds: Bounds | None = None) -> Iterator[tuple[GitClient, str]]:
        """Open a client, with the path that it asks for. :raises GitRefused: it cannot be reached, in words"""
        address, bounds = self.address, bounds or Bounds(ASKING * self.seconds)
        try:
            if address.scheme == "folder":
                self.check_folder()
                # Not thin: packs go into the store as they come, where all bases of their deltas
                # have to be
                yield LocalGitClient(thin_packs=False, quiet=True), address.path
            elif address.scheme == "ssh":
                with open_ssh_client(
                    address, self.guard, self.credential, self.known_hosts, bounds
                ) as client:
                    yield client, address.path
            else:
                url = f"https://{address.host}:{address.port}{address.path}"
                https = HttpsGitClient(
                    url,
                    self.guard,
                    self.seconds,
                    TOKEN_USER,
                    self.credential,
                    bounds.subtract_read_bytes,
                    total_seconds=bounds.seconds_left,
                )
                with closing(https):
                    yield https, ""
        except RefusedAddress as error:
            raise GitRefused(str(error)) from error
        except ERRORS as error:
            raise GitRefused(self.describe_error(error)) from error

    def check_folder(self) -> None:
        """A folder may be another one than a moment ago. :raises GitRefused: it is not allowed as it is now"""
        if self.address.scheme != "folder":
            return
        try:
            if self.folders.allowed_real_folder(self.address.path) == self.address.path:
                return
        except FolderRefused as refused:
            raise GitRefused(str(refused)) from refused
        raise GitRefused("The folder changed while it was read. Try again.")

    def describe_error(self, error: BaseException) -> str:
        """Describe what an error of the connection means, and what can be done."""
        if isinstance(error, HTTPUnauthorized):
            return (
                "The server refuses access. Choose a secret that holds a token which may read this repository."
                if not self.credential
                else "The server refuses the token. Check that it is valid and may be used for this repository."
            )
        if isinstance(error, NotGitRepository):
            if self.address.scheme == "folder":
                return "The folder is not a git repository."
            return "There is no repository at this address, or the credential may not see it."
        # So dulwich says which object is missing: by its number alone
        if isinstance(error, KeyError) and isinstance(number := next(iter(error.args), None), bytes):
            return (
                f"The repository lacks the object {_git_text(number)[:12]}: it is damaged, or no complete clone. "
                "Connect a complete one."
            )
        text = str(error).strip() or type(error).__name__
        if self.address.scheme == "folder":
            text = text.replace(self.address.path, "its folder")
        line = " ".join(text.split())[:300]
        # Ssh itself tells it on its errors, as “Permission denied (publickey)”
        if self.address.scheme == "ssh" and "denied" in line.lower():
            return f"The server refuses the key: {line}"
        return f"The repository could not be reached: {line}"

    def read_references(self) -> References:
        with self._client() as (client, path):
            listing = client.get_refs(path.encode())
        refs = {_git_text(name): _git_text(value) for name, value in listing.refs.items() if value}
        head = _git_text(listing.symrefs.get(HEADREF, b"") or b"")
        # Sorted, `v1^{}` follows `v1`: the commit takes the place of the annotated tag.
        peeled = {name.removesuffix("^{}"): value for name, value in sorted(refs.items())}
        return References(peeled, head.removeprefix(HEADS) if head.startswith(HEADS) else "")

    def fetch(
        self,
        into: Repo,
        commits: list[str],
        most: int,
        report: ProgressCallback,
        *,
        depth: int | None = None,
        seconds: float = WHOLE_SECONDS,
    ) -> None:
        """Bring these commits, with all of their history unless there is a `depth` of at least 2.

        :raises FetchTooLarge: nothing is kept"""
        store = into.object_store
        missing = [_object_id(commit) for commit in commits if _object_id(commit) not in store]
        if not missing:
            return
        assert isinstance(store, PackBasedObjectStore)
        file, commit, abort = store.add_pack()
        size, bounds = 0, Bounds(seconds)

        def write_within_bounds(data: bytes) -> int:
            nonlocal size
            size += len(data)
            bounds.add_room_for_object(len(data))
            if size > most:
                raise FetchTooLarge
            return file.write(data)

        def missing_commits(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
            # Whatever the server offers: other branches would bring their history, too
            return missing

        try:
            if self.address.scheme == "folder":
                self._check_folder_sizes()
            with self._client(bounds) as (client, path):
                answer = client.fetch_pack(
                    path.encode(),
                    missing_commits,
                    into.get_graph_walker(),
                    write_within_bounds,
                    progress=FetchProgress(report),
                    depth=depth,
                )
            # Where no depth was asked for, or one below these commits, only a shallow clone has no more.
            if (edge := answer.new_shallow) and (depth is None or edge.intersection(missing)):
                raise GitRefused(SHALLOW)
            # Before `commit_of_branch_or_tag`, which inflates the objects.
            check_pack_sizes(file)
            self.check_folder()
        except ERRORS as error:
            abort()
            raise GitRefused(self.describe_error(error)) from error
        except BaseException:
            abort()
            raise
        commit()

    def _check_folder_sizes(self) -> None:
        """Check the sizes in a folder, since this process reads it itself."""
        self.check_folder()
        try:
            with closing(Repo(self.address.path)) as there:
                # This process reads the folder itself: nobody else limits what it unpacks
                check_folder_object_sizes(there.object_store)
        except ERRORS as error:
            raise GitRefused(self.describe_error(error)) from error

    def push(
        self, source: Repo, branch: str, old: str, new: str, last: Callable[[], None] = lambda: None
    ) -> None:
        """Move a branch from one commit to the next: never force, never anything else. `old` "": the branch is new.
        `last` is called when the server has answered and nothing was sent yet; what it raises stops the push.

        :raises GitRefused: base_moved where it stands elsewhere; push_refused"""
        ref = Ref((HEADS + branch).encode())
        expected = _object_id(old or ZERO)

        def moved_ref_or_refuse(refs: dict[Ref, ObjectID]) -> dict[Ref, ObjectID]:
            now = refs.get(ref, _object_id(ZERO))
            # By what the server has now, not by what was read before.
            if now != expected:
                raise GitRefused(
                    moved_message(branch, old, "" if _git_text(now) == ZERO else _git_text(now)), BASE_MOVED
                )
            last()
            self.check_folder()
            return {ref: _object_id(new)}

        def pack_data_of_push(have: Any, want: Any, **more: Any) -> Any:
            # The server may have commits that this mirror never saw.
            known = {sha for sha in have if sha in source.object_store}
            return source.object_store.generate_pack_data(known, want, **more)

        self.check_not_checked_out(branch)
        try:
            with self._client(Bounds(WHOLE_SECONDS)) as (client, path):
                answer = _push_when_unlocked(
                    lambda: client.send_pack(path.encode(), moved_ref_or_refuse, pack_data_of_push), branch
                )
        except GitRefused as error:
            raise (
                error
                if error.failure_type == BASE_MOVED
                else GitRefused(f"The push failed. {error}", PUSH_REFUSED)
            ) from error
        if why := _ref_refusal_or_empty(answer, ref):
            raise GitRefused(f"The server refused the push to {branch}: {why}", PUSH_REFUSED)

    def check_not_checked_out(self, branch: str) -> None:
        """Git refuses this, too: the files there would no longer be those of the branch. :raises GitRefused"""
        if self.address.scheme != "folder":
            return
        self.check_folder()
        with closing(Repo(self.address.path)) as there:
            if is_checked_out(there, branch):
                # By its last name: who may not see folders of the server reads this, too.
                name = Path(self.address.path).name
                command = shlex.join(
                    ["git", "clone", "--bare", name, f"{name.removesuffix('.git')}-bare.git"]
                )
                raise GitRefused(
                    f"{branch} is checked out in that folder: a merge would change it below whoever works there. "
                    f"In the folder above it, run {command} and connect {name.removesuffix('.git')}-bare.git in its "
                    f"place; what is merged you pull from there. Or check out another branch in {name}, such as by "
                    f"git switch -c work, and test again: {branch} stays the branch of its tasks.",
                    PUSH_REFUSED,
                )

    def clone_branch(self) -> str:
        """Return the branch from which tasks start where it is a folder in which somebody works, "" anywhere else: HEAD
        is there what they have checked out at the moment. :raises GitRefused"""
        if self.address.scheme != "folder":
            return ""
        self.check_folder()
        with closing(Repo(self.address.path)) as there:
            return clone_branch_or_empty(there)

    def push_refusal(self) -> str:
        """Return why pushing is not allowed; "" where it is, as far as can be known without pushing."""
        if self.address.scheme == "folder":
            folder = Path(self.address.path)
            inner = folder / ".git" if (folder / ".git").is_dir() else folder
            writable = all(os.access(inner / name, os.W_OK) for name in ("objects", "refs"))
            return "" if writable else "The worker may not write to this folder."
        try:
            with self._client() as (client, path):
                if isinstance(client, HttpsGitClient):
                    # As a push begins: the server refuses here already whom it lets push nothing
                    client._discover_references(b"git-receive-pack", client._get_url(path))
                else:
                    # Asks as a push does, and changes nothing.
                    client.send_pack(path.encode(), lambda refs: {}, _no_objects_to_send)
        except GitRefused as error:
            return str(error)
        return ""


def _push_when_unlocked(push: Callable[[], SendPackResult], branch: str) -> SendPackResult:
    """A folder has a lock for each branch, which is held for as long as one is written."""
    until = time.monotonic() + LOCKED_SECONDS
    while True:
        try:
            return push()
        except FileLocked as error:
            if time.monotonic() > until:
                lock = Path(os.fsdecode(error.lockfilename))
                raise GitRefused(
                    f"Somebody else is writing to {branch}. Try again later; if nobody is, a program died there: "
                    f"then remove {lock.name} beside the branch."
                ) from error
            time.sleep(0.05)


def moved_message(branch: str, old: str, now: str) -> str:
    if not old:
        return f"{branch} is there already, at {now[:7]}."
    if not now:
        return f"{branch} was deleted on the remote; it was at {old[:7]}."
    return f"{branch} moved from {old[:7]} to {now[:7]} in the meantime."


class FetchProgress:
    """Progress reported by a server, a line at a time, each kind of line once and at its end."""

    def __init__(self, report: ProgressCallback) -> None:
        self._told = report
        self._rest = ""

    def __call__(self, data: bytes) -> None:
        self._rest += data.decode("utf-8", "replace")
        *lines, self._rest = self._rest.split("\n")
        for line in lines:
            # A server writes over its line by CR: only the last state counts.
            if text := line.rpartition("\r")[2].strip() or line.strip():
                self._told(text[:200])
        # A line that never ends takes no more memory than this
        self._rest = self._rest.rpartition("\r")[2][-1000:]


def _no_objects_to_send(have: Any, want: Any, **more: Any) -> Any:
    return 0, iter(())


def _ref_refusal_or_empty(answer: SendPackResult, ref: Ref) -> str:
    reason = (answer.ref_status or {}).get(ref)
    return " ".join(str(reason).split())[:300] if reason else ""


def _git_text(value: bytes) -> str:
    return bytes(value).decode("utf-8", "surrogateescape")


def _object_id(commit: str) -> ObjectID:
    return ObjectID(commit.encode())
