"""Downloads of stored files: from a bucket where they are large, through the server a piece at a time."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pipelines.models import Artifact, Job, Task
from pipelines.work import storage
from pipelines.work.artifact_stores import s3
from pipelines.work.artifact_stores.folder import FolderStore
from pipelines.work.artifact_stores.store import ArtifactStore
from pipelines.work.transport.http.wire_format import DIGEST, DIRECT
from tests.factories import World
from tests.fixtures.bucket import BUCKET, KEYS, BucketServer, use_store
from tests.fixtures.site import Site, free_port, health, start_web, stop
from tests.live.conftest import session_of
from tests.pages.conftest import client_of
from tests.waiting import LONG, until
from tests.work.artifact_stores.test_runner_uploads import LARGE, TO_END, attempt_of
from tests.work.driving import command
from tests.work.runners.far import FarAway

pytestmark = pytest.mark.django_db(transaction=True)


def keep(
    task: Task, content: bytes, name: str = "result.bin", media: str = "application/octet-stream"
) -> Artifact:
    digest = hashlib.sha256(content).hexdigest()
    stored = storage.save_bytes_and_return_name(storage.artifact_storage(), digest, io.BytesIO(content))
    storage.record_blobs({digest: (len(content), stored)}, timezone.now())
    job = Job.objects.filter(task=task).latest("pk")
    return Artifact.objects.create(task=task, job=job, name=name, media_type=media, blob_id=digest)


def address_of(artifact: Artifact) -> str:
    task = artifact.task
    return reverse("artifact", args=[task.project.owner.key, task.project.key, task.name, artifact.pk])


@pytest.fixture
def task(world: World, artifact_store: ArtifactStore) -> Task:
    return world.start(world.line(stations=[command("make", "pass", TO_END)]))


def content_of(answer: HttpResponse) -> bytes:
    if answer.status_code == 302:
        return httpx2.get(answer["Location"]).content
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert answer["Content-Length"] == str(len(content))
    return content


def test_a_person_gets_the_bytes_as_an_attachment(
    world: World, task: Task, artifact_store: ArtifactStore
) -> None:
    client = client_of(world.viewer)
    small, large = keep(task, b"small"), keep(task, LARGE, "large.bin")
    answers = [client.get(address_of(artifact)) for artifact in (small, large)]
    assert [content_of(answer) for answer in answers] == [b"small", LARGE]
    assert [answer.status_code for answer in answers] == [200, 302 if artifact_store.signs_addresses else 200]
    assert answers[0]["Content-Disposition"] == 'attachment; filename="result.bin"'
    if artifact_store.signs_addresses:
        assert (
            httpx2.head(answers[1]["Location"]).status_code == 403
            and httpx2.get(answers[1]["Location"]).headers["content-disposition"]
            == 'attachment; filename="large.bin"'
        )


def test_a_picture_that_a_page_shows_comes_through_the_server(world: World, task: Task) -> None:
    picture = keep(task, b"\x89PNG\r\n\x1a\n" + LARGE, "a.png", "image/png")
    assert client_of(world.viewer).get(address_of(picture)).status_code == 200


def test_a_stranger_gets_no_address(world: World, task: Task) -> None:
    large = keep(task, LARGE)
    assert client_of(world.stranger).get(address_of(large)).status_code == 404
    assert Client().get(address_of(large)).status_code == 302
    assert "sign-in" in Client().get(address_of(large))["Location"]


def test_a_runner_is_led_to_the_store_where_it_can_follow(
    world: World, artifact_store: ArtifactStore, tmp_path: Path
) -> None:
    far = FarAway(tmp_path / "far", world.runner()[1])
    stations = [command("make", "pass", {"id": "on", "to": "read"}), command("read", "pass", TO_END)]
    task = world.start(world.line(stations=stations))
    keep(task, LARGE)
    world.report(task)
    job = Job.objects.filter(task=task).latest("pk")
    attempt_of(world, far)  # registers
    lease = far.call(f"/jobs/{job.pk}/claim").json()["started"]["lease"]
    material = far.call(f"/jobs/{job.pk}/material", {}, lease).json()
    path = f"/files/{material['earlier'][0]['stored']}"
    old = far.call(path, method="GET")
    assert (old.status_code, old.content) == (200, LARGE)
    by = {"Authorization": f"Bearer {far.secret}", DIRECT: "yes"}
    new = Client().get(f"/api/v1/runner/{far.id}{path}", headers=by)
    assert new.status_code == (307 if artifact_store.signs_addresses else 200)
    if artifact_store.signs_addresses:
        assert new[DIGEST] == hashlib.sha256(LARGE).hexdigest()
        assert httpx2.get(new["Location"]).content == LARGE
    # Another runner of the same project has another lease
    other = {**by, "Authorization": f"Bearer {world.runner()[1]}"}
    assert Client().get(f"/api/v1/runner/{far.id}{path}", headers=other).status_code == 404


def test_a_store_that_is_away_is_no_failure_of_the_server(
    world: World, settings: Any, keys: None, monkeypatch: pytest.MonkeyPatch, bucket_server: BucketServer
) -> None:
    store = use_store(settings, bucket_server.address())
    artifact = keep(world.start(world.line(stations=[command("make", "pass", TO_END)])), b"x")
    monkeypatch.setattr(s3, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(store, "base", f"http://127.0.0.1:{free_port()}/gateline")
    answer = client_of(world.viewer).get(address_of(artifact))
    assert answer.status_code == 503 and b"artifact store" in answer.content
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    secret = world.token_of(world.operator)[1]
    path = reverse("api-1:file-upload", args=[artifact.task.project.owner.key, artifact.task.project.key])
    answer = Client().post(path, {"file": io.BytesIO(b"y")}, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 503 and "the log of the server says why" in answer.json()["detail"]


def test_a_backup_says_where_artifacts_are_that_are_not_in_it(
    in_bucket: ArtifactStore, tmp_path: Path
) -> None:
    out = io.StringIO()
    call_command("backup", str(tmp_path / "gateline.tar"), stdout=out)
    assert f"Artifacts are not in it. Back up {in_bucket.place} by its own means." in out.getvalue()


# A web process of its own


def test_a_web_process_with_a_bucket_hands_out_what_is_small(
    world: World, in_bucket: ArtifactStore, bucket_server: BucketServer, tmp_path: Path
) -> None:
    task = world.start(world.line(stations=[command("make", "pass", TO_END)]))
    small, large = keep(task, b"small"), keep(task, LARGE, "large.bin")
    world.viewer.set_password("correct horse battery")
    world.viewer.save()
    prefix = in_bucket.place.rpartition("/")[2]
    site = start_web(
        tmp_path,
        GATELINE_ARTIFACT_STORE=f"s3://{BUCKET}/{prefix}?endpoint={bucket_server.endpoint}",
        AWS_ACCESS_KEY_ID=KEYS.access_key,
        AWS_SECRET_ACCESS_KEY=KEYS.secret_key,
    )
    try:
        cookie = {"Cookie": f"gateline_session={session_of(world.viewer)}"}
        answers = [httpx2.get(site.url + address_of(one), headers=cookie) for one in (small, large)]
        assert [answer.status_code for answer in answers] == [200, 302]
        assert (answers[0].content, answers[0].headers["content-length"]) == (b"small", "5")
        assert httpx2.get(answers[1].headers["location"]).content == LARGE
        head = httpx2.head(site.url + address_of(small), headers=cookie)
        assert (head.status_code, head.headers["content-length"], head.content) == (200, "5", b"")
    finally:
        stop(site.process)


@pytest.mark.wide
def test_a_slow_reader_costs_no_memory(world: World, settings: Any, tmp_path: Path) -> None:
    """The server reads no further than the connection takes, and so does a reader who vanishes."""
    store = use_store(settings, (tmp_path / "artifacts").as_uri())
    assert isinstance(store, FolderStore)
    artifact = keep(world.start(world.line(stations=[command("make", "pass", TO_END)])), bytes(64 * 1024**2))
    path = Path(store.path(artifact.blob.name))
    world.viewer.set_password("correct horse battery")
    world.viewer.save()
    site = start_web(tmp_path, GATELINE_ARTIFACT_STORE=(tmp_path / "artifacts").as_uri())
    place = urlsplit(site.url)
    try:
        before = memory_of(site)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LONG)
        cookie = {"Cookie": f"gateline_session={session_of(world.viewer)}"}
        connection.request("GET", address_of(artifact), headers=cookie)
        answer = connection.getresponse()
        assert (answer.status, len(answer.read(1024))) == (200, 1024)
        position = until(lambda: standing_position(site, path), "it stands still")[0]
        assert position is not None and position < 32 * 1024**2
        assert memory_of(site) - before < 24 * 1024**2
        digest = hashlib.sha256(bytes(1024))
        while piece := answer.read(1024**2):
            digest.update(piece)
        assert digest.hexdigest() == artifact.blob_id
        connection.request("GET", address_of(artifact), headers=cookie)
        connection.getresponse().read(1024)
        connection.close()
        until(lambda: read_so_far(site, path) is None, "the file is closed")
    finally:
        stop(site.process)


def standing_position(site: Site, path: Path) -> list[int | None]:
    """Where it stands, if nothing more is read while others are answered."""
    positions = [read_so_far(site, path) for _ in range(20) if health(site.url)]
    return positions[:1] if len(set(positions)) == 1 else []


def read_so_far(site: Site, path: Path) -> int | None:
    """Where the web process stands in the file; None where it has not opened it."""
    folder = Path(f"/proc/{site.process.pid}")
    for entry in (folder / "fd").iterdir():
        try:
            if os.readlink(entry) == str(path):
                return int((folder / "fdinfo" / entry.name).read_text().split()[1])
        except FileNotFoundError:
            continue
    return None


def memory_of(site: Site) -> int:
    """Its resident memory that is no file, in bytes."""
    lines = Path(f"/proc/{site.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))
