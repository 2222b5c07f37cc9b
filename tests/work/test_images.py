"""Stations and services in the files of an image (docs/repositories.md), brought by the podman or the docker of this
machine: made here of programs that it has, with no registry."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.models import Job, Repository, Worker
from pipelines.queries.unclaimable_jobs import count_unclaimable, unclaimed_sentence_by_token_id
from pipelines.work import images
from pipelines.work.images import Images
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import Guard
from pipelines.work.processes.isolation import Isolation, isolation_places, link_folders
from pipelines.work.processes.isolation_choice import choose_isolation
from tests.factories import World, make_worker
from tests.work.driving import PYTHON, Bench, command, done, drive, outcome_of, text_of
from tests.work.remotes import RemoteRepository, connect, remote

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.isolation,
    pytest.mark.usefixtures("artifacts_here"),
]
LIBRARY = re.compile(r"(/\S+)")


def image_of(said: str, program: str) -> str:
    """A shell, a few programs with their libraries, and a file that says which image it is."""
    programs = {name: shutil.which(name) for name in ("sh", "cat", "sleep", "env")}
    files = dict[str, str]()
    for name, path in programs.items():
        assert path is not None
        files[f"usr/bin/{name}"] = path
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        files |= {each.lstrip("/"): each for each in LIBRARY.findall(listed) if os.path.exists(each)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", dereference=True) as tar:
        # As every image has them: docker makes folders that are left out so that nobody but root enters them.
        for folder in sorted({str(each) for place in files for each in Path(place).parents} - {"."}):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for place, path in files.items():
            tar.add(path, place)
        for place, link in (("bin", "usr/bin"), ("made-of.txt", "")):
            info = tarfile.TarInfo(place)
            if link:
                info.type, info.linkname = tarfile.SYMTYPE, link
            info.size = 0 if link else len(said)
            tar.addfile(info, io.BytesIO(said.encode()))
    name = f"localhost/gateline-test-{uuid.uuid4().hex[:12]}:1"
    made = ["import", "--change", "ENV PATH=/usr/bin", "-", name]
    subprocess.run([program, *made], input=packed.getvalue(), capture_output=True, check=True)
    return name


@pytest.fixture(scope="module", params=["podman", pytest.param("docker", marks=pytest.mark.wide)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The one program in a folder of its own. Where docker has a daemon says DOCKER_HOST."""
    found = shutil.which(request.param)
    if found is None or subprocess.run([found, "info"], capture_output=True, check=False).returncode:
        pytest.skip(f"{request.param} does not work on this machine")
    alone = tmp_path_factory.mktemp("engine") / request.param
    alone.symlink_to(found)
    return str(alone)


@pytest.fixture(scope="module")
def built(engine: str) -> Iterator[tuple[str, str]]:
    """One for stations, one for services."""
    names = (image_of("the station", engine), image_of("the service", engine))
    yield names
    subprocess.run([engine, "rmi", "--force", *names], capture_output=True, check=False)


@pytest.fixture
def here(bench: Bench, tmp_path: Path, engine: str) -> dict[str, Any]:
    """The isolation and what brings images, as a runner finds both."""
    bench.base.mkdir(parents=True, exist_ok=True)
    readable = [Path(sys.prefix), Path(sys.base_prefix), *link_folders(Path(PYTHON))]
    isolation = asyncio.run(
        choose_isolation("auto", isolation_places(readable, [], tmp_path), bench.base, None)
    ).isolation
    brings = images.find_image_program(isolation, bench.base, [os.path.dirname(engine)])
    if brings is None:
        pytest.skip("bubblewrap does not work on this machine")
    return {"isolation": isolation, "images": brings, "repository_roots": (str(bench.base.parent),)}


@pytest.fixture
def origin(tmp_path: Path, world: World) -> RemoteRepository:
    made = remote(tmp_path / "origin.git", {"app.py": b"x = 1\n", "deps.lock": b"1\n"})
    connect(world.project, made)
    return made


def task_of(world: World, shell: str, **prepare: Any) -> Any:
    Repository.objects.update(prepare=prepare)
    version = world.line(
        stations=[command("look", "", work={"argv": ["sh", "-c", shell]})],
        workspace={"git": {"repository": "app"}},
    )
    return world.start(version)


LOOK = """
echo "in $(cat /made-of.txt)"; cat prepared.txt; echo "beside $(cat /tmp/up)"
test -e /usr/bin/git || echo 'no program of the machine'
test -e /etc/passwd || echo 'no file of the machine'
(echo x > /made-of.txt) 2>/dev/null || echo 'cannot change the image'
(echo x > /there) 2>/dev/null || echo 'cannot write beside'
while read -r line; do case $line in NoNewPrivs*) echo "$line";; esac; done < /proc/self/status
while read -r line; do case $line in *:*) echo "device $line";; esac; done < /proc/net/dev
echo kept > result.txt
"""


@pytest.mark.wide
def test_stations_and_services_run_in_the_files_of_their_images(
    world: World, bench: Bench, here: dict[str, Any], built: tuple[str, str], origin: RemoteRepository
) -> None:
    serve = {
        "name": "beside",
        "image": built[1],
        "argv": ["sh", "-c", "cat /made-of.txt > /tmp/up; exec sleep 600"],
        "health": ["sh", "-c", "test -s /tmp/up"],
    }
    prepare = {"image": built[0], "argv": ["sh", "-c", "echo prepared in $(cat /made-of.txt) > prepared.txt"]}
    task = task_of(world, LOOK, **prepare, cache="deps.lock", services=[serve])
    drive(bench, task, **here)
    said = text_of(done(task, "look"))
    assert world.status(task) == "completed", said
    lines = [line.partition("\t")[2] or line for line in said.splitlines()]
    for line in (
        "in the station",
        "prepared in the station",
        "beside the service",
        "no program of the machine",
        "no file of the machine",
        "cannot change the image",
        "cannot write beside",
    ):
        assert any(each.endswith(line) for each in lines), (line, said)
    assert re.search(r"NoNewPrivs:\s*1", said), said
    devices = [each.partition("device ")[2].split(":")[0].strip() for each in lines if "device " in each]
    assert devices == ["lo"], "a loopback of its own"
    assert "was unpacked (" in said
    assert outcome_of(task, "look")["facts"]["git"]["paths"] == ["result.txt"]


@pytest.mark.wide
def test_what_is_not_there_is_named_as_itself(
    world: World, bench: Bench, here: dict[str, Any], built: tuple[str, str], origin: RemoteRepository
) -> None:
    # A registry that refuses: a port of this machine's loopback where nobody listens.
    absent = "127.0.0.1:9/team/absent:1"
    task = task_of(world, "true", image=absent)
    drive(bench, task, **here, outgoing=Outgoing(guard=Guard(("127.0.0.1",))))
    outcome = outcome_of(task, "look")
    assert outcome["failure_type"] == "prepare_failed"
    assert (
        outcome["summary"]
        == f"Image {absent} is not on this runner, and {here['images'].name} could not pull it."
    )
    assert "127.0.0.1:9" in text_of(done(task, "look")).partition(" pulls it")[2], "with what it said"
    Repository.objects.update(prepare={"image": built[0]})
    program = world.start(
        world.line(
            stations=[command("look", "", work={"argv": ["python3", "-V"]})],
            workspace={"git": {"repository": "app"}},
        )
    )
    drive(bench, program, **here)
    assert f"there is no program python3 in the image {built[0]}" in outcome_of(program, "look")["summary"]


def test_a_runner_without_podman_leaves_it_and_the_task_says_so(
    world: World, bench: Bench, origin: RemoteRepository
) -> None:
    task = task_of(world, "true", image="localhost/any:1")
    Worker.objects.update(offers=["kind:command"])
    drive(bench, task, isolation=Isolation("none"), repository_roots=(str(bench.base.parent),))
    job = Job.objects.get(task=task)
    assert job.state == Job.State.QUEUED
    said = unclaimed_sentence_by_token_id(task, {job.token_id: job})[job.token_id]
    assert said.text == "No active runner has podman or docker, which the images of this repository take."
    assert count_unclaimable() == 1
    make_worker(offers=["kind:command", "images"])
    assert count_unclaimable() == 0 and not unclaimed_sentence_by_token_id(task, {job.token_id: job})


def test_a_docker_without_its_daemon_brings_nothing(tmp_path: Path) -> None:
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert images.find_image_program(Isolation("bubblewrap"), tmp_path, [str(tmp_path)]) is None
    program.write_text("#!/bin/sh\nexit 0\n")
    assert images.find_image_program(Isolation("bubblewrap"), tmp_path, [str(tmp_path)]) == Images(
        str(program), tmp_path
    )
    assert images.find_image_program(Isolation("landlock"), tmp_path, [str(tmp_path)]) is None


@pytest.mark.parametrize(
    ("image", "listed", "asked"),
    [
        ("127.0.0.1:9/team/app:1", (), False),
        ("localhost/app", (), False),
        ("169.254.169.254/latest:1", (), False),
        ("127.0.0.1:9/team/app:1", ("127.0.0.1",), True),
        ("nobody.invalid/app", (), True),
        ("team/app:1", (), True),
    ],
)
def test_no_registry_at_a_private_address_is_asked_that_nobody_listed(
    tmp_path: Path, image: str, listed: tuple[str, ...], asked: bool
) -> None:
    """An image is named by whoever connects a repository: it must not reach what is beside the worker."""
    program, calls = tmp_path / "podman", tmp_path / "calls"
    program.write_text(f"#!/bin/sh\necho $1 >> {calls}\nexit 1\n")
    program.chmod(0o755)
    said: list[str] = []

    async def tell(text: str) -> None:
        said.append(text)

    with pytest.raises(images.ImageAbsent) as absent:
        asyncio.run(Images(str(program), tmp_path).unpacked_image_root(image, Guard(listed), tell))
    assert ("pull" in calls.read_text().split()) is asked is bool(said)
    assert ("has the private address" in str(absent.value)) is not asked
