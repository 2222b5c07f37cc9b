"""A whole line over submodules and large files: what people read in the review is what lands."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from pipelines.models import Job, Snapshot, VisitCommit
from tests.factories import World, station
from tests.pages.conftest import client_of
from tests.work.driving import Bench, command, done, outcome_of, text_of
from tests.work.large.test_large_files import ATTRIBUTES, pointer_of, store_beside
from tests.work.large.test_submodules import modules, pin
from tests.work.remotes import RemoteRepository, allow, connect, remote
from tests.work.repository_lines import GATE, line, run, to
from tests.work.runners.far import FarAway

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
LOGO, NEW = b"\x89PNG\r\n\x1a\n" + bytes(4000), b"\x89PNG\r\n\x1a\nnew" + bytes(3000)
FIX = """
import os, pathlib
assert pathlib.Path('logo.png').read_bytes().startswith(b'\\x89PNG')
assert pathlib.Path('lib/one.c').read_text() == 'int one;\\n'
pathlib.Path('logo.png').write_bytes(b'\\x89PNG\\r\\n\\x1a\\nnew' + bytes(3000))
pathlib.Path('lib/one.o').write_text('built')
"""


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    library = remote(tmp_path / "library.git", {"one.c": b"int one;\n"})
    files = {
        ".gitattributes": ATTRIBUTES.replace(b"*.bin", b"*.png"),
        ".gitmodules": modules(("lib", "../library.git")),
        "logo.png": pointer_of(LOGO).text,
        "app.py": b"x = 1\n",
    }
    made = remote(tmp_path / "origin.git", files)
    pin(made, "lib", library.head())
    store_beside(made, LOGO)
    connect(world.project, made)
    for one in (made, library):
        allow(world.project.owner, one.path)
    return made


def test_a_large_file_is_reviewed_and_lands_with_its_pointer(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = world.start(line(world, FIX), title="Draw it anew")
    run(bench, task)
    assert world.status(task) == "awaiting_review", text_of(done(task, "fix"))
    facts = outcome_of(task, "fix")["facts"]["git"]
    assert (facts["paths"], facts["insertions"], facts["deletions"]) == (["logo.png"], 0, 0)
    entries = {entry["path"]: entry for entry in Snapshot.objects.get(job__station="fix").manifest}
    assert entries["logo.png"]["digest"] == sha256(NEW).hexdigest()
    assert "lib/one.o" not in entries and entries["lib"]["size"] == len("Subproject commit \n") + 40
    before = VisitCommit.objects.get(job__station="fix").before
    assert before.keys() == {"logo.png"} and before["logo.png"]["digest"] == sha256(LOGO).hexdigest()
    # The picture itself, and no pointer
    place = reverse("gate-visit", args=[world.visit(task).pk])
    page = client_of(world.reviewer).get(place, {"tab": "changes"}).content.decode()
    assert "logo.png" in page and "git-lfs" not in page and entries["logo.png"]["digest"] in page
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed", text_of(done(task, "merge"))
    assert origin.commit().tree.decode() == facts["tree"]
    oid = sha256(NEW).hexdigest()
    assert (origin.path / "lfs/objects" / oid[:2] / oid[2:4] / oid).read_bytes() == NEW


def test_a_runner_does_the_same_and_the_servers_own_worker_lands_it(
    world: World, bench: Bench, origin: RemoteRepository, settings: Any, tmp_path: Path
) -> None:
    """The server finds the files in the commit by itself; another station changes them, so that two are published."""
    settings.REPOSITORY_ROOTS, settings.WORKSPACES_DIR = [tmp_path], tmp_path / "server"
    again = "open('logo.png', 'wb').write(b'last' * 500)"
    stations = [
        command("fix", FIX, to("again")),
        command("again", again, to("merge", gates=["review"])),
        station("merge", to("completed"), kind="deliver", work={"to": "merge", "gate": "review"}),
    ]
    git = {"git": {"repository": "app"}}
    task = world.start(world.line(stations=stations, gates=[GATE], workspace=git))
    FarAway(tmp_path / "far", world.runner()[1]).work()
    assert world.status(task) == "awaiting_review", [job.outcome for job in Job.objects.filter(task=task)]
    facts = outcome_of(task, "again")["facts"]["git"]
    assert facts["paths"] == ["logo.png"] and facts["source"]["observed_by"] == "server"
    before = VisitCommit.objects.get(job__station="again").before
    assert before["logo.png"]["digest"] == sha256(LOGO).hexdigest()
    world.vote(task)
    run(bench, task)
    assert world.status(task) == "completed", text_of(done(task, "merge"))
    assert origin.commit().tree.decode() == facts["tree"]
    for content in (NEW, b"last" * 500):
        oid = sha256(content).hexdigest()
        assert (origin.path / "lfs/objects" / oid[:2] / oid[2:4] / oid).read_bytes() == content
