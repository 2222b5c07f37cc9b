"""A line that works in a repository, and its remote."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from pipelines.models import Task
from tests.factories import World, station
from tests.work.driving import Bench, command, drive
from tests.work.remotes import RemoteRepository, connect, remote

FIX = "open('app.py', 'w').write('x = 2\\n'); open('new.txt', 'w').write('new\\n')"
GATE = {
    "key": "review",
    "name": "Code review",
    "offers": ["approve", "send_back", "reject"],
    "on_reject": "fail",
}


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(
        tmp_path / "origin.git", {"app.py": b"x = 1\n", "tests/test_app.py": b"", "doc/a.md": b"a\n"}
    )
    connect(world.project, made)
    return made


def to(target: str, **more: Any) -> dict[str, Any]:
    return {"id": f"to-{target}", "to": target, "when": {"result": "success"}, **more}


def line(
    world: World,
    program: str = FIX,
    *,
    deliver: dict[str, Any] | None = None,
    again: str = "fix",
    **more: Any,
) -> Any:
    """Fix, a look at it, the review, the merge; a moved base leads back."""
    said = {"to": "merge", "gate": "review", **(deliver or {})}
    back = {
        "id": "again",
        "to": again,
        "when": {"eval": {"op": "equals", "value": "base_moved"}},
        "max_retries": 3,
    }
    return world.line(
        stations=[
            command("fix", program, to("check"), name="Fix"),
            command("check", "print(sorted(__import__('os').listdir('.')))", to("merge", gates=["review"])),
            station("merge", to("completed"), back, kind="deliver", work=said),
        ],
        gates=[GATE],
        workspace={"git": {"repository": "app", **more.pop("workspace", {})}},
        **more,
    )


def run(bench: Bench, task: Task, **more: Any) -> None:
    drive(bench, task, repository_roots=(str(bench.base.parent),), **more)


def run_on(bench: Bench, task: Task) -> None:
    try:
        run(bench, task)
    finally:
        connection.close()


def together(works: list[Callable[[], None]]) -> None:
    with ThreadPoolExecutor(len(works)) as pool:
        for each in [pool.submit(work) for work in works]:
            each.result()
