"""Repository of a task as a worker knows it, and what the worker asks the server before it pushes: values,
nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pipelines.ports.server_folders import ServerFolders
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.hosting import HostAccess, RequestText


@dataclass(frozen=True)
class GitOrder:
    """`problem` says why there is no repository to work in; then the rest is empty. `base`, `head` and `branch` are
    templates, "" the usual; `commit`: visit, squash or none. `station` and `author`: whose work a commit is."""

    repository: int = 0
    name: str = ""
    address: str = ""
    default_branch: str = ""
    base: str = ""
    head: str = ""
    branch: str = ""
    commit: str = "visit"
    station: str = ""
    author: str = ""
    author_key: str = ""
    problem: str = ""
    # Patterns of paths whose change is marked; none: the usual ones.
    sensitive: tuple[str, ...] = ()
    # Who keeps it, its page there, and a GitHub App: "" as the address says.
    host: str = ""
    page: str = ""
    host_app: str = ""
    # How its environment is prepared, as `Preparation.to_dict`.
    prepare: Mapping[str, Any] = field(default_factory=dict)
    # Whether it is the station of a join, before which branches are merged.
    joins: bool = False
    # Of the visit of somebody who pushed to the branch: as they are named. Then there is no other work.
    pushed_by: str = ""


@dataclass(frozen=True)
class GitBranch:
    """State of one of the branches that met at a join. `name`: of the station that committed last."""

    name: str
    base: str
    head: str


@dataclass(frozen=True)
class GitState:
    """State of the branch of a task: "" where nothing was committed yet. `packs`: where `fetch` finds the
    objects that visits added, oldest first. `moved`: a delivery detected that the base is not where it
    was. `pushed`: the commit of the branch on the remote, as far as is known. `conflicted`: a visit since
    learned that the moved base changed the same lines.

    `joined`: branches met since, which no station has merged yet: `branches`, in the order of the join, on
    top of the head. Without one nothing of what they did goes on.
    """

    branch: str = ""
    base_branch: str = ""
    base: str = ""
    head: str = ""
    tree: str = ""
    packs: tuple[str, ...] = ()
    moved: bool = False
    joined: bool = False
    branches: tuple[GitBranch, ...] = ()
    pushed: str = ""
    conflicted: bool = False
    # What of the task is on the host, of whatever branch: the commit that was pushed or merged last, and its tree.
    shown: str = ""
    shown_tree: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        """Commits that have to be known to go on."""
        shas = (self.head, *(branch.head for branch in self.branches))
        return tuple(dict.fromkeys(sha for sha in shas if sha))


@dataclass(frozen=True)
class GitLeft:
    """State of the branch after a visit. `pack`: digest of the objects that the visit added; "" where it
    added none. `before`: {path: its entry at the base, or None} of what changed since the base."""

    repository: int
    name: str
    branch: str
    base_branch: str
    base: str
    head: str
    tree: str
    pack: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DeliveryPermission:
    """Answer of the server to a delivery, under the lock of its task. `refused`: why not, else "". `wait`:
    seconds to look again after, while another delivery to the branch comes first. `at`: seconds since
    1970, the same for every attempt of the job. `onto`: the commit that the branch has to stand at, "" for
    a new one. `tree`: what was cleared, and nothing else may be pushed. `approval`: which visit of the
    gate approved it. `request`: what a request says, where one is to be opened. `at_host`: what a previous
    attempt left there."""

    refused: str = ""
    failure_type: str = ""
    wait: float = 0.0
    at: int = 0
    branch: str = ""
    onto: str = ""
    tree: str = ""
    gate: str = ""
    approval: str = ""
    request: RequestText | None = None
    at_host: AtHost | None = None


@dataclass(frozen=True)
class AtHost:
    """Progress of a delivery that its host merges. `head`: the commit of the task's branch that it merges;
    `way`: merge or queue; `waits`: whether the host has it in its queue; `request`: {host, number, sign,
    url}, None before one is open. `commit`, `tree`: what landed, "" before it has."""

    head: str = ""
    way: str = ""
    waits: bool = False
    request: Mapping[str, Any] | None = None
    commit: str = ""
    tree: str = ""


class DeliveryPort(Protocol):
    """The server, as a delivery asks it."""

    async def permit_or_refuse_delivery(self) -> DeliveryPermission: ...

    async def report_landed(
        self, commit: str, request: Mapping[str, Any] | None = None, base: str | None = None
    ) -> None:
        """`base`: where the branch stood before; None where that was told."""

    async def report_host_progress(self, host_state: AtHost) -> None:
        """It goes on through the merge call or the queue of its host."""

    async def seconds_to_wait(self) -> float:
        """Seconds after which to look again; 0.0: nothing comes first."""

    async def find_stored_files(self, digests: Sequence[str]) -> Mapping[str, str]:
        """Return where `fetch` finds those of these that the task left."""

    async def report_base_moved(self, onto: str, tree: str) -> None:
        """The base stands at `onto`; `tree`: what the approved change makes of it, where it is the same; else ""."""

    async def report_push_by_others(self, commit: str, who: Sequence[str], logins: Sequence[str]) -> None:
        """People pushed this to the branch of the task. `who`: e-mail addresses of its new commits; `logins`: of who
        pushed, as the host tells them."""


@dataclass(frozen=True)
class RepositoryAccess:
    """Access of this worker to the repository of one job. `credential` never enters an attempt."""

    order: GitOrder
    state: GitState
    mirrors: Path
    folders: ServerFolders = field(default_factory=ServerFolders, repr=False)
    guard: Guard = field(default_factory=Guard, repr=False)
    credential: str = field(default="", repr=False)
    fetch: Callable[[str, Path], None] = field(default=lambda stored, path: None, repr=False)
    # {digest: where `fetch` finds the bytes} of the files before the job.
    stored: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Who keeps its pull or merge requests, where somebody does.
    host: HostAccess | None = field(default=None, repr=False)
    # Rendered. `head`: of a branch whose changes are there from the start.
    base: str = ""
    head: str = ""
    branch: str = ""


@dataclass(frozen=True)
class ChecksOrder:
    """Order to wait for checks of the host: `contexts`, none for those that it requires of the base branch.
    `begun`: when the task came to the station, in seconds since 1970; `timeout`: from then on. `rerun`:
    the host is asked first to run again what failed."""

    access: RepositoryAccess
    contexts: tuple[str, ...]
    begun: float
    timeout: float
    rerun: bool = False


@dataclass(frozen=True)
class DeliveryOrder:
    """Order of a delivery: what it says of itself in its commit, and whom it asks."""

    access: RepositoryAccess
    port: DeliveryPort = field(repr=False)
    job: int
    task: str
    title: str
    station: str
    to: str = "merge"
    rebase: str = "never"
    # When the task came to the station, in seconds since 1970.
    begun: float = 0.0
