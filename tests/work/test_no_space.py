"""A full disk: the job says so at once, nothing stays behind, and there is a way to see that there is room again."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.models import Blob, Job, Snapshot, Token
from pipelines.work import storage
from tests.factories import World
from tests.work.driving import Bench, command, outcome_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.moves,
    pytest.mark.usefixtures("artifacts_here"),
]
LARGE = "open('large', 'wb').write(bytes(6 << 20))"


@pytest.fixture
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB on the folder of this test that the parameter names."""
    folder = tmp_path / request.param
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a file system that can be full needs the right to mount: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def driven(bench: Bench, token: int) -> bool:
    """Drive until the token rests; whether the driver met a full disk."""

    async def go() -> bool:
        async with bench.driver() as driver:
            await driver.drive_token(token)
            return driver.execution.no_space

    return asyncio.run(go())


@pytest.mark.parametrize("small", ["artifacts"], indirect=True)
def test_a_full_storage_is_no_space_and_leaves_nothing(world: World, bench: Bench, small: Path) -> None:
    rule = {"id": "full", "when": {"failure_type": "no_space"}, "to": "failed"}
    task = world.start(world.line(stations=[command("a", LARGE, rule)]))
    assert driven(bench, Token.objects.get(task=task).pk)
    outcome = outcome_of(task, "a")
    assert (outcome["result"], outcome["failure_type"]) == ("failure", "no_space")
    assert "disk of this worker is full" in outcome["summary"]
    assert (world.status(task), Job.objects.get(task=task).attempt) == ("failed", 1)
    assert files_in(small) == [] and files_in(bench.base) == []
    assert not Blob.objects.exists() and not Snapshot.objects.exists()


@pytest.mark.parametrize("small", ["workspaces"], indirect=True)
def test_a_full_workspace_is_no_space_before_the_work_starts(world: World, bench: Bench, small: Path) -> None:
    task = world.start(world.line(stations=[command("a", "open('ran', 'w')")]))
    filler = small / "filler"
    with pytest.raises(OSError, match="No space"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert driven(bench, Token.objects.get(task=task).pk)
    assert outcome_of(task, "a")["failure_type"] == "no_space"
    assert files_in(small) == [filler]


@pytest.mark.parametrize("small", ["workspaces"], indirect=True)
def test_room_is_seen_by_writing(bench: Bench, small: Path) -> None:
    filler = small / "filler"
    assert storage.has_room(storage.artifact_storage(), small)
    filler.write_bytes(bytes(5 << 19))
    assert not storage.has_room(storage.artifact_storage(), small)
    filler.unlink()
    assert storage.has_room(storage.artifact_storage(), small)
    assert files_in(small) == []
