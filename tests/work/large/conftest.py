"""A host of git and what a task does with its repositories, without a server of ours between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.ports.server_folders import ServerFolders
from pipelines.work.git.attempt import Prepared, Trailers, commit_attempt, prepare_workspace
from pipelines.work.git.delivery_push import LandedCommit, Permission, push_delivery
from pipelines.work.git.settled_files import settle_files
from pipelines.work.outgoing.authorities import (
    SETTING,
    Authorities,
    configured_authorities,
    set_trusted_authorities,
)
from pipelines.work.outgoing.guard import Guard
from pipelines.work.spec.repository import (
    DeliveryOrder,
    DeliveryPermission,
    GitLeft,
    GitOrder,
    GitState,
    RepositoryAccess,
)
from pipelines.work.workspaces import Picture, picture_of_workspace
from tests.outgoing.authority import CompanyAuthority, company_authority
from tests.work.large.git_host import GitHost, git_host

TOKEN = "the-token-of-the-repository"
LISTED = Guard(("localhost",))


@pytest.fixture
def authority(tmp_path: Path) -> Iterator[CompanyAuthority]:
    company = company_authority(tmp_path)
    set_trusted_authorities(configured_authorities({SETTING: str(company.bundle)}))
    yield company
    set_trusted_authorities(Authorities())


@pytest.fixture
def host(tmp_path: Path, authority: CompanyAuthority) -> Iterator[GitHost]:
    (tmp_path / "host").mkdir()
    with git_host(tmp_path / "host", authority.server, TOKEN) as found:
        yield found


@dataclass
class Visits:
    """One task in one repository, visit after visit; each in a new folder unless it goes on with the last one."""

    home: Path
    address: str
    credential: str = ""
    folders: ServerFolders = field(default_factory=ServerFolders)
    guard: Guard = LISTED
    commit: str = "visit"
    state: GitState = field(default_factory=GitState)
    notes: list[str] = field(default_factory=list)
    number: int = 0
    picture: Picture | None = None
    left: GitLeft | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    def access(self) -> RepositoryAccess:
        order = GitOrder(
            1, "app", self.address, station="Fix", author="Fix", author_key="fix", commit=self.commit
        )
        return RepositoryAccess(
            order,
            self.state,
            self.home / "spaces",
            folders=self.folders,
            guard=self.guard,
            credential=self.credential,
            branch="gateline/1",
            fetch=lambda stored, path: path.write_bytes(Path(stored).read_bytes()) and None,
            stored={digest: str(path) for digest, path in self.files.items()},
        )

    def begin(self, again: Path | None = None) -> tuple[Prepared, Path]:
        self.number += 1
        workspace = again or self.home / f"attempt{self.number}" / "workspace"
        workspace.mkdir(parents=True, exist_ok=True)
        ready = prepare_workspace(self.access(), workspace, again is not None, self.notes.append)
        return ready, workspace

    def end(self, ready: Prepared, workspace: Path) -> None:
        root = workspace.parent
        but = (".git", *ready.modules.git_folders)
        settled = settle_files(ready, root, workspace, picture_of_workspace(workspace, None, but))
        self.picture = settled.picture
        sources = {digest: workspace / path for digest, (path, _size) in settled.picture.files.items()}
        sources |= {digest: root / path for digest, (path, _size) in settled.sources.items()}
        trailers = Trailers("WI-1", "Fix", self.number, self.number)
        self.left, self.facts, made = commit_attempt(
            ready, root, workspace, settled.picture.manifest, trailers, settled.pins
        )
        self.files |= sources | {digest: root / path for digest, (path, _size) in made.items()}
        left = self.left
        packs = (*self.state.packs, *([str(self.files[left.pack])] if left.pack else []))
        self.state = GitState(left.branch, left.base_branch, left.base, left.head, left.tree, packs)

    def deliver(self, **more: Any) -> LandedCommit:
        order = DeliveryOrder(self.access(), None, 7, "WI-1", "Fix it", "merge")  # type: ignore[arg-type]
        clearance = DeliveryPermission(
            at=1_700_000_000, branch="main", onto=self.state.base, tree=self.state.tree
        )
        permission = Permission(lambda: clearance, lambda: False, **more)
        return push_delivery(order, permission, self.notes.append)

    def elsewhere(self, home: Path) -> Visits:
        """The same task, as another machine goes on with it."""
        home.mkdir()
        return replace(self, home=home)

    def shown(self) -> dict[str, Any]:
        """{path: entry} of what reviewers see."""
        assert self.picture is not None
        return {str(entry["path"]): entry for entry in self.picture.manifest if "folder" not in entry}
