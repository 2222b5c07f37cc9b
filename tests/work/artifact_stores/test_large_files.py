"""Gigabytes from runners to a bucket and back, with a runner that is killed in the middle: the web process holds none
of it. GATELINE_SOAK_GB says how many (2)."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from pipelines.models import Artifact, Blob, Task, UploadAddress
from pipelines.work.artifact_stores.store import ArtifactStore
from pipelines.work.runners import direct_uploads
from pipelines.work.runners.direct_uploads import LEFTOVER_TIME
from tests.factories import World
from tests.fixtures.bucket import KEYS, BucketServer, use_store
from tests.fixtures.site import start_web, stop
from tests.waiting import until
from tests.work.artifact_stores.test_downloads import memory_of
from tests.work.driving import command
from tests.work.runners.running import RunnerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.soak, pytest.mark.moves]
GIGABYTES = int(os.environ.get("GATELINE_SOAK_GB", "2"))
SIZE = 1024**3
# Another content for each task, written quickly
MAKE = f"""
import json, os
block = (os.environ["NUMBER"].encode() + bytes(1024 * 1024))[:1024 * 1024]
with open("large.bin", "wb") as file:
    for _ in range({SIZE // 1024**2}):
        file.write(block)
json.dump({{"artifacts": ["large.bin"]}}, open(os.environ["GATELINE_RESULT"], "w"))
"""


def digest_of(number: int) -> str:
    sha, block = hashlib.sha256(), (str(number).encode() + bytes(1024 * 1024))[: 1024 * 1024]
    for _ in range(SIZE // 1024**2):
        sha.update(block)
    return sha.hexdigest()


def test_gigabytes_pass_the_web_process_by(
    world: World, settings: Any, keys: None, bucket_server: BucketServer, tmp_path: Path
) -> None:
    address = bucket_server.address()
    store = use_store(settings, address)
    tasks = [start_task(world, number) for number in range(GIGABYTES)]
    site = start_web(
        tmp_path,
        GATELINE_ARTIFACT_STORE=address,
        AWS_ACCESS_KEY_ID=KEYS.access_key,
        AWS_SECRET_ACCESS_KEY=KEYS.secret_key,
        GATELINE_RUNNER_LEASE="10",
    )
    worker = RunnerProcess(site.url, world.runner()[1], tmp_path / "far", more=("--concurrency", "1"))
    worker.start()
    before, highest, was_killed = memory_of(site), 0, False

    def has_ended(task: Task) -> bool:
        nonlocal highest, was_killed
        highest = max(highest, memory_of(site))
        assert worker.process is not None and worker.process.poll() is None, worker.log.read_text()[-3000:]
        if not was_killed and UploadAddress.objects.exists():
            # In the midst of its first gigabyte
            worker.kill()
            worker.start()
            was_killed = True
        task.refresh_from_db()
        return task.ended_at is not None

    try:
        for task in tasks:
            until(lambda task=task: has_ended(task), lambda: worker.log.read_text()[-3000:])
        check_what_is_stored(world, tasks, store)
        print(
            f"{GIGABYTES} GiB, killed once; the web process had {before >> 20} MiB, and {highest >> 20} at most"
        )
        assert was_killed
        assert highest - before < 48 * 1024**2
    finally:
        worker.end()
        stop(site.process)


def start_task(world: World, number: int) -> Task:
    station = command("make", MAKE, {"id": "end", "to": "completed"}, work={"env": {"NUMBER": str(number)}})
    return world.start(world.line(key=f"line{number}", stations=[station]))


def check_what_is_stored(world: World, tasks: list[Task], store: ArtifactStore) -> None:
    for number, task in enumerate(tasks):
        assert world.status(task) == "completed"
        artifact = Artifact.objects.get(task=task)
        assert (artifact.blob_id, artifact.blob.size) == (digest_of(number), SIZE)
    # Read back as a browser would
    sha = hashlib.sha256()
    blob = Blob.objects.get(pk=digest_of(0))
    with httpx2.stream("GET", store.download_address(blob.name, "large.bin", "text/plain")) as answer:
        for piece in answer.iter_bytes():
            sha.update(piece)
    assert sha.hexdigest() == blob.pk
    direct_uploads.delete_some_leftover_uploads(timezone.now() + 2 * LEFTOVER_TIME)
    assert not UploadAddress.objects.exists()
    assert Blob.objects.count() == len(tasks)
