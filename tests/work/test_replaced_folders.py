"""A station that puts a link in place of its own folder: the worker, which may read more than the station, follows it
nowhere."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from pipelines.models import Snapshot
from pipelines.work.processes.isolation import Isolation, isolation_places, link_folders
from tests.factories import World
from tests.work.agents.tool_client import write_program
from tests.work.driving import Bench, command, done, drive, text_of
from tests.work.isolations import BOTH, isolation_or_skip

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
SECRET = "hidden-5c1e"


def isolation_of(name: str, tmp_path: Path, *readable: Path) -> Isolation:
    folders = [*readable, Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(sys.executable))]
    return asyncio.run(isolation_or_skip(name, isolation_places(folders, [], tmp_path / "nobody"), tmp_path))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What the station cannot read, and the worker can."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "key.txt").write_text(SECRET)
    return folder


@pytest.mark.parametrize("name", BOTH)
def test_a_link_in_place_of_the_workspace_leads_nowhere(
    world: World, bench: Bench, tmp_path: Path, outside: Path, name: str
) -> None:
    swap = (
        "import os; here = os.getcwd(); os.chdir('/'); os.rename(here, here + '-old'); "
        f"os.symlink({str(outside)!r}, here)"
    )
    artifacts = [{"path": "key.txt", "required": False}]
    task = world.start(world.line(stations=[command("swap", swap, artifacts=artifacts), "ship"]))
    drive(bench, task, isolation=isolation_of(name, tmp_path))
    job = done(task, "swap")
    assert job.outcome is not None and job.outcome["exit_code"] == 0, text_of(job)
    assert "in place of its folder workspace" in text_of(job)
    snapshot = Snapshot.objects.filter(job=job).first()
    assert snapshot is None or snapshot.manifest == []
    assert "artifacts" not in job.outcome and SECRET not in str(job.outcome)
    assert [entry.name for entry in outside.iterdir()] == ["key.txt"]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", BOTH)
def test_a_link_in_place_of_an_agents_home_leads_nowhere(
    world: World, bench: Bench, tmp_path: Path, outside: Path, name: str
) -> None:
    """Its next visit would find its session there, and the worker would write into it."""
    body = (
        "home = os.environ['HOME']\nopen('made.txt', 'a').write('x')\n"
        f"os.rename(home, home + '-old')\nos.symlink({str(outside)!r}, home)\nend()\n"
    )
    path = (write_program(tmp_path / "bin", body), *os.environ["PATH"].split(os.pathsep))
    work = {"kind": "agent", "agent": "claude", "prompt": "Do it.", "network": "open"}
    again = {"id": "again", "when": {"result": "success"}, "to": "fix", "max_retries": 1}
    task = world.start(world.line(stations=[{"key": "fix", "work": work, "rules": [again]}, "ship"]))
    drive(bench, task, station_path=path, isolation=isolation_of(name, tmp_path, tmp_path / "bin"))
    for visit in (1, 2):
        assert "in place of its folder home" in text_of(done(task, "fix", visit))
        assert done(task, "fix", visit).result == "success"
    assert [entry.name for entry in outside.iterdir()] == ["key.txt"]
