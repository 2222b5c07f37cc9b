"""A runner that wants more than its stations need, or says what nobody means (law §15, docs/runners.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Job
from pipelines.work import logs
from tests.factories import World
from tests.vault.conftest import Put, key_file, put
from tests.work.driving import command
from tests.work.remotes import connect, remote
from tests.work.runners.far import FACTS, FarAway

__all__ = ["key_file", "put"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
TO_END = {"id": "end", "to": "completed"}


@pytest.fixture(autouse=True)
def near(settings: Any, tmp_path: Path) -> None:
    settings.REPOSITORY_ROOTS = [tmp_path]
    settings.WORKSPACES_DIR = tmp_path / "server"


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    return FarAway(tmp_path / "far", world.runner()[1])


def claim(far: FarAway, job: Job) -> dict[str, Any]:
    assert far.call("", {**FACTS, "protocol": 1}).status_code == 200
    found: dict[str, Any] = far.call(f"/jobs/{job.pk}/claim").json()["started"]
    return found


@pytest.fixture
def held(world: World, far: FarAway) -> tuple[Job, str]:
    job = world.start(world.line(stations=[command("build", "pass", TO_END)])).jobs.get()
    return job, claim(far, job)["lease"]


def test_a_runner_learns_no_secret_that_its_station_does_not_name(
    world: World, far: FarAway, put: Put, tmp_path: Path
) -> None:
    """Not even to mask it: its own masks are its own secrets, the server masks the rest."""
    for name in ("OWN", "ELSEWHERE", "HOST_TOKEN", "READ"):
        put(world.project, name, f"value of {name}", by=world.admin)
    origin = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n"})
    connect(world.project, origin, credential="READ", host_credential="HOST_TOKEN")
    first = command("first", "pass", {"id": "on", "to": "second"}, work={"env": {"A": {"secret": "OWN"}}})
    second = command("second", "pass", TO_END, work={"env": {"B": {"secret": "ELSEWHERE"}}})
    task = world.start(world.line(stations=[first, second], workspace={"git": {"repository": "app"}}))
    job = task.jobs.get()
    started = claim(far, job)
    assert started["values"]["secrets"] == {"OWN": "value of OWN"}
    assert sorted(started["values"]["masked"]) == ["value of OWN", "value of READ"]
    assert "ELSEWHERE" not in str(started) and "HOST_TOKEN" not in str(started)

    said = {"text": "0.1\tvalue of ELSEWHERE, value of OWN\n", "again": False}
    assert far.call(f"/jobs/{job.pk}/log", said, started["lease"]).status_code == 204
    assert [each.text for each in logs.read(job, 1, 0).lines] == ["•••, •••"]
