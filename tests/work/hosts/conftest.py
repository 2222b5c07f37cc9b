"""A project whose repository is kept by a host, and a line that opens a request there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from pipelines.models import Repository, Task
from pipelines.ports.vault import store
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from tests.factories import World, station
from tests.work.driving import Bench, command, drive
from tests.work.hosts.servers import TOKEN, host
from tests.work.remotes import RemoteRepository, connect, remote

LOOPBACK = Outgoing(Guard(("127.0.0.0/8",)))
GATE = {
    "key": "review",
    "name": "Code review",
    "offers": ["approve", "send_back", "reject"],
    "on_reject": "fail",
}


@pytest.fixture
def origin(tmp_path: Path) -> RemoteRepository:
    return remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})


@pytest.fixture
def hosted(request: pytest.FixtureRequest, world: World, origin: RemoteRepository) -> Iterator[Any]:
    """The server of the host that the test names, with the repository connected."""
    with host(getattr(request, "param", "github"), origin) as server:
        kept(world, "HOST_TOKEN", TOKEN)
        connect(world.project, origin, host=server.key, page=server.page, host_credential="HOST_TOKEN")
        yield server


def kept(world: World, name: str, value: str) -> None:
    store.create_or_replace_value(
        store.ValuePlace(world.project), name, value, kind="secret", by=world.admin, now=timezone.now()
    )


def to(target: str, **more: Any) -> dict[str, Any]:
    return {"id": f"to-{target}", "to": target, "when": {"result": "success"}, **more}


def line(world: World, rules: tuple[dict[str, Any], ...] = (), **work: Any) -> Any:
    """Each round adds a line to a file, people look at it, a request is opened; who rejects it begins again."""
    return world.line(
        stations=[
            command("fix", "open('app.py', 'a').write('y = 2\\n')", to("open", gates=["review"]), name="Fix"),
            station(
                "open",
                *(rules or (to("look"),)),
                kind="deliver",
                work={"to": "request", "gate": "review", **work},
            ),
            command("look", "pass", to("completed", gates=["late"])),
        ],
        gates=[GATE, {**GATE, "key": "late", "name": "Last look", "on_reject": "reviewer_chooses"}],
        workspace={"git": {"repository": "app"}},
    )


def run(bench: Bench, task: Task) -> None:
    drive(bench, task, repository_roots=(str(bench.base.parent),), outgoing=LOOPBACK)


def repository() -> Repository:
    return Repository.objects.get()
