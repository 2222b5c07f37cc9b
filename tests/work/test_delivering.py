"""A delivery asks the server last, pushes exactly what it was cleared for, and nothing once nobody waits for it."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from dulwich.objects import ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

from pipelines.work.git import commits
from pipelines.work.git.mirror import Mirrors
from pipelines.work.git.task_mirror import open_task_mirror
from pipelines.work.handlers import deliver
from pipelines.work.spec.handler_io import Attempt, Outcome, Spec
from pipelines.work.spec.repository import (
    DeliveryOrder,
    DeliveryPermission,
    GitOrder,
    GitState,
    RepositoryAccess,
)
from tests.waiting import eventually, let_others_run
from tests.work.remotes import RemoteRepository, folders, remote

TASK = "gateline/WI-1"


@dataclass
class Server:
    answer: DeliveryPermission
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    landed_as: str = ""
    landed_on: str | None = None
    has_moved: bool = False
    people_pushed: tuple[str, list[str], list[str]] | None = None

    async def permit_or_refuse_delivery(self) -> DeliveryPermission:
        self.asked.set()
        await self.go_on.wait()
        return self.answer

    async def report_landed(self, commit: str, base: str | None = None) -> None:
        self.landed_as, self.landed_on = commit, base

    async def seconds_to_wait(self) -> float:
        return 0.0

    async def find_stored_files(self, digests: Sequence[str]) -> Mapping[str, str]:
        return {}

    async def report_base_moved(self, onto: str, tree: str) -> None:
        self.has_moved = True

    async def report_push_by_others(self, commit: str, who: Sequence[str], logins: Sequence[str]) -> None:
        self.people_pushed = (commit, list(who), list(logins))


class Silent:
    async def write(self, stream: str, data: bytes) -> None: ...

    async def note(self, text: str) -> None: ...


@pytest.fixture
def origin(tmp_path: Path) -> RemoteRepository:
    return remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})


@pytest.fixture
def access(origin: RemoteRepository, tmp_path: Path) -> RepositoryAccess:
    """A task whose commit this machine has."""
    base = origin.head()
    origin.add({"app.py": b"x = 1\n"}, "Start", branch="work")
    head = origin.add({"app.py": b"x = 2\n"}, "Fix", branch="work")
    state = GitState(TASK, "main", base, head, origin.commit(head).tree.decode())
    found = RepositoryAccess(
        GitOrder(1, "app", str(origin.path)), GitState(), tmp_path / "spaces", folders=folders(origin.path)
    )
    with open_task_mirror(found, print) as (mirror, there):
        mirror.fetch_commits(there, [base, head], print)
    return replace(found, state=state)


def cleared(access: RepositoryAccess) -> DeliveryPermission:
    state = access.state
    return DeliveryPermission(at=1_700_000_000, branch="main", onto=state.base, tree=state.tree)


def delivering(
    access: RepositoryAccess, server: Server, title: str = "Fix it", to: str = "merge"
) -> asyncio.Task[Outcome]:
    order = DeliveryOrder(access, server, 7, "WI-1", title, "merge", to)
    spec = Spec("deliver", Attempt(access.mirrors), delivery=order)
    return asyncio.create_task(deliver.run(spec, Silent()))


def at_work() -> bool:
    """A thread has begun with the repository. `asyncio.run` waits for the end of each."""
    return any(thread.name.startswith("asyncio_") for thread in threading.enumerate())


def test_the_server_is_asked_when_the_repository_is_held(
    access: RepositoryAccess, origin: RemoteRepository
) -> None:
    server = Server(cleared(access))
    server.go_on.set()
    name = hashlib.sha256(str(origin.path).encode()).hexdigest()[:32]

    async def held() -> None:
        with (Mirrors(access.mirrors).base / f"{name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            work = delivering(access, server)
            await eventually(at_work)
            await let_others_run()
            assert not server.asked.is_set()
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

    asyncio.run(held())
    assert not server.asked.is_set() and origin.head() == access.state.base


def test_a_delivery_that_is_cancelled_while_it_is_cleared_pushes_nothing(
    access: RepositoryAccess, origin: RemoteRepository
) -> None:
    server = Server(cleared(access))

    async def cancelled() -> None:
        work = delivering(access, server)
        await eventually(server.asked.is_set)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        server.go_on.set()

    asyncio.run(cancelled())
    assert origin.head() == access.state.base


def test_what_was_cleared_and_nothing_else_is_pushed(
    access: RepositoryAccess, origin: RemoteRepository
) -> None:
    async def outcome(answer: DeliveryPermission) -> Outcome:
        server = Server(answer)
        server.go_on.set()
        return await delivering(access, server)

    other = asyncio.run(outcome(replace(cleared(access), tree="1" * 40)))
    assert other["failure_type"] == "not_approved" and origin.head() == access.state.base
    refused = asyncio.run(outcome(DeliveryPermission("Nobody may push.", "push_refused")))
    assert (refused["failure_type"], refused["summary"]) == ("push_refused", "Nobody may push.")
    assert asyncio.run(outcome(cleared(access)))["output"]["commit"] == origin.head()
    assert origin.files() == {"app.py": b"x = 2\n"}


@pytest.mark.parametrize(
    ("said", "author", "found"),
    [
        ({"Task": "WI-1", commits.DELIVERY: "7"}, commits.COMMITTER, True),
        ({"Task": "WI-1", commits.DELIVERY: "8"}, commits.COMMITTER, False),
        ({commits.DELIVERY: "7"}, commits.station_author("Fix", "fix"), False),
    ],
)
def test_what_landed_before_a_crash_is_found_by_the_job_that_it_names(
    access: RepositoryAccess, origin: RemoteRepository, said: dict[str, str], author: bytes, found: bool
) -> None:
    """Whatever the attempt that pushed it said of it besides, and below what others pushed since."""
    base, tree = access.state.base, ObjectID(access.state.tree.encode())
    text = commits.commit_message("An earlier title", "", said)
    landed = commits.new_commit(tree, [base], text, 1_700_000_500, author)
    with closing(Repo(str(origin.path))) as repo:
        repo.object_store.add_object(landed)
        repo.refs[Ref(b"refs/heads/main")] = landed.id
    later = origin.add({"app.py": b"x = 3\n"}, "Later")

    async def outcome() -> tuple[Outcome, str]:
        server = Server(cleared(access))
        server.go_on.set()
        return await delivering(access, server, "A later title"), server.landed_as

    outcome_now, told = asyncio.run(outcome())
    assert origin.head() == later
    assert (outcome_now["eval"], told) == (("delivered", landed.id.decode()) if found else ("base_moved", ""))


@pytest.mark.parametrize("remote_branch", ["deleted", "pushed to", "somebody's"])
def test_the_branch_of_a_task_that_people_changed(
    access: RepositoryAccess, origin: RemoteRepository, remote_branch: str
) -> None:
    """Deleted after a merge it is pushed anew; what people pushed to it stays, and is said."""
    onto = "" if remote_branch == "somebody's" else origin.add({"app.py": b"x = 1\n"}, "Ours", branch="was")
    theirs = ""
    if remote_branch != "deleted":
        origin.branch(TASK, "was" if onto else "main")
        theirs = origin.add({"theirs.py": b"y = 1\n"}, "Theirs", branch=TASK)
    server = Server(replace(cleared(access), branch=TASK, onto=onto))
    server.go_on.set()

    async def delivers() -> Outcome:
        return await delivering(access, server, to="push")

    said = asyncio.run(delivers())
    assert not server.has_moved
    if remote_branch == "deleted":
        assert said["eval"] == "delivered" and server.landed_as == origin.head(TASK)
        assert server.landed_on == "", "the end that was deleted is no base"
        assert [each.decode() for each in origin.commit(TASK).parents] == [access.state.head]
        return
    assert said["eval"] == said["failure_type"] == "branch_changed" and origin.head(TASK) == theirs
    assert server.people_pushed == (theirs, ["somebody@example.com"], [])
    assert theirs[:7] in said["summary"] and f"delete {TASK} there, and deliver again" in said["summary"]


def test_a_lock_that_somebody_left_is_said(
    access: RepositoryAccess, origin: RemoteRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git leaves it where a program died; nobody but a person can say whether one lives."""
    monkeypatch.setattr("pipelines.work.git.remote.LOCKED_SECONDS", 0.0)
    (origin.path / "refs/heads/main.lock").touch()
    server = Server(cleared(access))
    server.go_on.set()

    async def delivers() -> Outcome:
        return await delivering(access, server)

    refused = asyncio.run(delivers())
    assert refused["failure_type"] == "push_refused" and "remove main.lock" in refused["summary"]
    assert origin.head() == access.state.base
