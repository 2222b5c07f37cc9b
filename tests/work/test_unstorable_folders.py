"""A station that leaves what no snapshot can hold: it has its outcome at its first run, and the worker goes on."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from pipelines.models import Snapshot
from pipelines.work.workspace_folder.folders import remove_folder
from pipelines.work.workspaces import DEEPEST, Folders, WorkspaceTooLarge, picture_of_workspace
from tests.factories import World
from tests.work.driving import Bench, command, done, drive, outcome_of, text_of

DEEPER_THAN_PYTHON_FOLLOWS = 1500
NEST = "import os\nfor _ in range({levels}):\n    os.mkdir({name!r})\n    os.chdir({name!r})\n"
on_the_database = pytest.mark.django_db(transaction=True)


def nest(folder: Path, levels: int, name: str = "d") -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("last", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


@on_the_database
@pytest.mark.moves
@pytest.mark.parametrize(
    ("levels", "name"),
    [(DEEPER_THAN_PYTHON_FOLLOWS, "d"), pytest.param(40, "d" * 100, marks=pytest.mark.wide)],
)
def test_folders_nested_too_deep_are_an_outcome(world: World, bench: Bench, levels: int, name: str) -> None:
    task = world.start(world.line(stations=[command("nest", NEST.format(levels=levels, name=name)), "ship"]))
    drive(bench, task)
    said = outcome_of(task, "nest")
    assert (said["failure_type"], done(task, "nest").attempt) == ("workspace_too_large", 1)
    assert f"more than {DEEPEST} folders" in said["summary"]
    # The driver has ended in order, which removes all of its folders
    assert list(bench.base.glob("*/*/workspace")) == []


@on_the_database
@pytest.mark.moves
def test_a_link_to_a_name_that_is_not_utf8_is_left_out_and_told(world: World, bench: Bench) -> None:
    link = "import os; os.symlink(b'\\xff\\xfe', b'odd'); open('a.txt', 'w').write('1')"
    task = world.start(world.line(stations=[command("link", link), "ship"]))
    drive(bench, task)
    job = done(task, "link")
    assert (job.result, job.attempt) == ("success", 1), job.outcome
    assert "Left out, as it cannot be stored: odd" in text_of(job)
    assert [entry["path"] for entry in Snapshot.objects.get(job=job).manifest] == ["a.txt"]


def test_any_depth_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    (folder / "beside").mkdir(parents=True)
    nest(folder, DEEPER_THAN_PYTHON_FOLLOWS)
    (folder / "beside").chmod(0)
    remove_folder(folder)
    assert not folder.exists()


def test_a_worker_removes_what_a_dead_one_left_however_deep(tmp_path: Path) -> None:
    dead = Folders(tmp_path, uuid.uuid4())
    nest(dead.home, DEEPER_THAN_PYTHON_FOLLOWS)
    dead._lock.close()  # what the kernel does when a process is killed
    assert Folders(tmp_path, uuid.uuid4()).remove_folders_of_dead_workers() == [dead.home.name]


def test_a_picture_says_what_it_cannot_hold(tmp_path: Path) -> None:
    (tmp_path / "shallow").mkdir()
    nest(tmp_path / "shallow", DEEPEST - 2)
    os.symlink(b"\xff", os.fsencode(tmp_path) + b"/odd")
    picture = picture_of_workspace(tmp_path)
    assert picture.skipped == ("odd",) and len(picture.manifest) == DEEPEST
    nest(tmp_path, DEEPEST + 1)
    with pytest.raises(WorkspaceTooLarge):
        picture_of_workspace(tmp_path)
