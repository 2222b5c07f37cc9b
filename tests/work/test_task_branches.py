"""The branch of a task for people: told and given by the API, and taken over by a push (law §15)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dulwich.bundle import read_bundle

from tests.factories import World
from tests.pages.conftest import client_of
from tests.work.driving import Bench, outcome_of
from tests.work.remotes import RemoteRepository
from tests.work.test_repository_lines import line, origin, run

__all__ = ["origin"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]


def api(world: World, task: Any, rest: str = "branch") -> Any:
    base = f"/api/owners/acme/projects/{world.project.key}/stages/{task.line.key}/tasks/{task.name}"
    return client_of(world.operator).get(f"{base}/{rest}")


def test_the_api_tells_and_gives_the_branch(
    world: World, bench: Bench, origin: RemoteRepository, tmp_path: Path
) -> None:
    task = world.start(line(world), title="Fix the answer")
    assert api(world, task).status_code == 409
    run(bench, task)
    said, head = api(world, task).json(), outcome_of(task, "fix")["facts"]["git"]["head"]
    assert said == {
        "repository": "app",
        "address": str(origin.path),
        "branch": f"gateline/{task.name}-fix-the-answer",
        "base_branch": "main",
        "base": origin.head(),
        "head": head,
        "pushed": "",
    }
    answer = api(world, task, "branch/bundle")
    assert answer.status_code == 200
    file = tmp_path / "task.bundle"
    file.write_bytes(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    with file.open("rb") as opened, read_bundle(opened) as bundle:
        assert [each.decode() for each, _ in bundle.prerequisites] == [origin.head()]
        assert [each.decode() for each in bundle.references.values()] == [head]
    if shutil.which("git") is None:
        return
    clone = tmp_path / "clone"
    git = ["git", "-c", "safe.directory=*"]
    subprocess.run([*git, "clone", "-q", str(origin.path), str(clone)], check=True)
    fetch = ["fetch", "-q", str(file), f"{said['branch']}:mine"]
    subprocess.run([*git, "-C", str(clone), *fetch], check=True)
    subprocess.run([*git, "-C", str(clone), "checkout", "-q", "mine"], check=True)
    assert (clone / "app.py").read_text() == "x = 2\n"
