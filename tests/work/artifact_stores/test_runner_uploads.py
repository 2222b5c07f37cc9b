"""Large files of a runner: on both kinds of stores the same is kept, and the same is refused. To a bucket they do not
pass the server."""

from __future__ import annotations

import hashlib
import io
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from django.utils import timezone

from pipelines.models import Artifact, Blob, Job, RunnerUpload, UploadAddress
from pipelines.work import storage
from pipelines.work.artifact_stores.store import ArtifactStore
from pipelines.work.runners import direct_uploads
from pipelines.work.runners.direct_uploads import LEFTOVER_TIME
from pipelines.work.transport.http.wire_format import MOST_PART, PROTOCOL
from pipelines.work.workspaces import MOST_BYTES
from tests.factories import World, make_project
from tests.fixtures.bucket import BucketServer, use_store
from tests.fixtures.site import free_port
from tests.work.driving import command, done, text_of
from tests.work.runners.far import FACTS, FarAway

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.moves]
TO_END = {"id": "end", "to": "completed"}
SIZE = MOST_PART + 70_000
LARGE = b"\x07" * SIZE
DIGEST = hashlib.sha256(LARGE).hexdigest()
MAKE = f"""
import json, os
open("large.bin", "wb").write(b"\\x07" * {SIZE})
json.dump({{"artifacts": ["large.bin"]}}, open(os.environ["GATELINE_RESULT"], "w"))
"""
READ = f"""
import os
assert os.path.getsize(os.path.join(os.environ["GATELINE_ARTIFACTS"], "make", "large.bin")) == {SIZE}
"""


@pytest.fixture(autouse=True)
def near(settings: Any, tmp_path: Path) -> None:
    settings.WORKSPACES_DIR = tmp_path / "server"


@pytest.fixture
def far(world: World, tmp_path: Path) -> FarAway:
    return FarAway(tmp_path / "far", world.runner()[1])


@dataclass
class Attempt:
    """A job that a runner holds, and how it sends a file: to the address that it gets, else in parts to the server."""

    far: FarAway
    job: Job
    lease: str

    def ask(self, what: str, document: Any = None, method: str = "POST") -> httpx2.Response:
        return self.far.call(f"/jobs/{self.job.pk}/{what}", document or {}, self.lease, method)

    def address(self, digest: str = DIGEST, size: int = SIZE) -> Any:
        answer = self.ask(f"files/{digest}/address", {"size": size})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, content: bytes, digest: str = DIGEST, size: int = SIZE) -> int:
        """Send what is said to be a file of this digest and size; the status of the last answer."""
        address = self.address(digest, size)
        if address["url"] is None:
            parts = [content[at : at + MOST_PART] for at in range(0, len(content), MOST_PART)]
            names = [hashlib.sha256(part).hexdigest() for part in parts]
            for name, part in zip(names, parts, strict=True):
                assert self.ask(f"files/{name}", part, "PUT").status_code == 204
            return self.ask(f"files/{digest}/parts", {"parts": names}).status_code
        headers = {**address["headers"], "content-length": str(len(content))}
        httpx2.put(address["url"], content=iter([content]), headers=headers)
        return self.ask(f"files/{digest}/stored").status_code

    def hand_over(self, digest: str = DIGEST) -> httpx2.Response:
        artifacts = [{"name": "large.bin", "digest": digest}]
        return self.ask("store", {"artifacts": artifacts, "workspace": None, "git": None})


def attempt_of(world: World, far: FarAway, project: Any = None) -> Attempt:
    more = {"project": project} if project else {}
    job = world.start(world.line(stations=[command("make", "pass", TO_END)], **more)).jobs.get()
    assert far.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    return Attempt(far, job, far.call(f"/jobs/{job.pk}/claim").json()["started"]["lease"])


@pytest.fixture
def attempt(artifact_store: ArtifactStore, world: World, far: FarAway) -> Attempt:
    return attempt_of(world, far)


def stored_content(digest: str = DIGEST) -> bytes:
    with storage.artifact_storage().open(Blob.objects.get(pk=digest).name, "rb") as file:
        content: bytes = file.read()
    return content


def test_a_large_file_comes_from_a_runner_and_goes_to_the_next(
    world: World, far: FarAway, artifact_store: ArtifactStore
) -> None:
    paths: list[str] = []

    def watch(path: str, document: Any) -> Any:
        paths.append(path.rpartition("/")[2])
        return document

    far.lie = watch
    stations = [command("make", MAKE, {"id": "on", "to": "read"}), command("read", READ, TO_END)]
    task = world.start(world.line(stations=stations))
    far.work()
    assert world.status(task) == "completed", text_of(done(task, "make"))
    assert Artifact.objects.get(job=done(task, "make")).blob_id == DIGEST
    assert stored_content() == LARGE
    # Straight to the bucket; through the server to the folder
    assert ("stored" in paths, "parts" in paths) == (
        (True, False) if artifact_store.signs_addresses else (False, True)
    )
    assert not UploadAddress.objects.exists()


def test_what_was_sent_can_be_handed_over(attempt: Attempt) -> None:
    assert attempt.send(LARGE) == 204
    assert attempt.hand_over().status_code == 204
    assert (Artifact.objects.get().blob_id, stored_content()) == (DIGEST, LARGE)


WRONG = {
    "other bytes": (LARGE[:-1] + b"\x08", DIGEST, SIZE),
    "a byte more": (LARGE + b"\x07", DIGEST, SIZE),
    "a byte less": (LARGE[:-1], DIGEST, SIZE),
    "another digest told": (LARGE, "ab" * 32, SIZE),
}


@pytest.mark.smoke(4)
@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_what_was_told_is_not_kept(
    attempt: Attempt, artifact_store: ArtifactStore, what: str
) -> None:
    content, digest, size = WRONG[what]
    assert attempt.send(content, digest, size) == 400
    assert attempt.hand_over(digest).status_code == 422
    assert not Blob.objects.filter(pk__in=[DIGEST, "ab" * 32]).exists()


def test_an_address_is_for_the_size_that_was_told(
    in_bucket: ArtifactStore, world: World, far: FarAway
) -> None:
    attempt = attempt_of(world, far)
    assert attempt.send(LARGE, size=SIZE + 1) == 400
    answer = attempt.ask(f"files/{DIGEST}/address", {"size": SIZE})
    assert answer.status_code == 400 and f"was {SIZE + 1} when" in answer.text
    assert not Blob.objects.exists()


def test_a_file_that_broke_off_is_not_there_and_can_be_sent_again(
    attempt: Attempt, artifact_store: ArtifactStore
) -> None:
    """The runner was killed while it sent."""
    address = attempt.address()
    if address["url"] is None:
        part = hashlib.sha256(LARGE[:MOST_PART]).hexdigest()
        assert attempt.ask(f"files/{part}", LARGE[:MOST_PART], "PUT").status_code == 204
        rest = hashlib.sha256(LARGE[MOST_PART:]).hexdigest()
        answer = attempt.ask(f"files/{DIGEST}/parts", {"parts": [part, rest]})
    else:
        break_off(address)
        answer = attempt.ask(f"files/{DIGEST}/stored")
    assert (answer.status_code == 400 and "sent" in answer.text) or "send it again" in answer.text
    assert attempt.hand_over().status_code == 422
    assert attempt.send(LARGE) == 204
    assert attempt.hand_over().status_code == 204


def break_off(address: Any) -> None:
    """Send half of it, and vanish."""
    url = urlsplit(address["url"])
    lines = [f"PUT {url.path}?{url.query} HTTP/1.1", f"Host: {url.netloc}"]
    lines += [f"{name}: {text}" for name, text in address["headers"].items()]
    with socket.create_connection((url.hostname or "", url.port or 80), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + LARGE[: SIZE // 2])


def test_the_same_file_sent_again_is_the_same_file(attempt: Attempt) -> None:
    assert (attempt.send(LARGE), attempt.send(LARGE)) == (204, 204)
    assert attempt.hand_over().status_code == 204
    # Nothing but these bytes is left, once what was given for the repeat has gone
    direct_uploads.delete_some_leftover_uploads(timezone.now() + 2 * LEFTOVER_TIME)
    assert (stored_content(), UploadAddress.objects.count()) == (LARGE, 0)


def test_an_address_changes_nothing_once_its_file_is_kept(
    in_bucket: ArtifactStore, world: World, far: FarAway
) -> None:
    attempt = attempt_of(world, far)
    address = attempt.address()
    put = {"content": LARGE, "headers": address["headers"]}
    assert httpx2.put(address["url"], **put).status_code == 200
    assert attempt.ask(f"files/{DIGEST}/stored").status_code == 204
    assert attempt.ask(f"files/{DIGEST}/stored").status_code == 204
    for content in (LARGE, LARGE[::-1], b"\x08" * SIZE):
        assert httpx2.put(address["url"], **{**put, "content": content}).status_code in (400, 412)
    assert stored_content() == LARGE


def test_an_attempt_gets_nothing_of_another(
    artifact_store: ArtifactStore, world: World, far: FarAway, tmp_path: Path
) -> None:
    """Neither an address, nor what came to it, nor what is stored by the digest alone."""
    mine = attempt_of(world, far)
    assert mine.send(LARGE) == 204 and mine.hand_over().status_code == 204
    other_project = make_project("other")
    other = FarAway(tmp_path / "other", world.runner(project=other_project)[1])
    assert other.call("", {**FACTS, "protocol": PROTOCOL}).status_code == 200
    for what, document in ((f"files/{DIGEST}/address", {"size": SIZE}), (f"files/{DIGEST}/stored", {})):
        path = f"/jobs/{mine.job.pk}/{what}"
        assert other.call(path, document, mine.lease).status_code in (404, 409)
        stranger = FarAway(tmp_path / "stranger", other.secret, id=far.id)
        assert stranger.call(path, document, mine.lease).status_code in (404, 409)
    second = attempt_of(world, far)
    assert second.ask(f"files/{DIGEST}/stored").status_code == 404
    assert second.hand_over().status_code == 422
    assert second.ask("wanted", {"files": {DIGEST: SIZE}}).json()["wanted"] == [DIGEST]


def test_no_lease_no_address(attempt: Attempt) -> None:
    assert attempt.ask("give-back").status_code == 204
    for what in ("address", "stored"):
        assert attempt.ask(f"files/{DIGEST}/{what}", {"size": SIZE}).status_code == 409


@pytest.mark.smoke(3)
@pytest.mark.parametrize(
    ("digest", "size"),
    [("nothing", 1), ("A" * 64, 1), *((DIGEST, size) for size in (-1, MOST_BYTES + 1, 2**70, "1", None))],
)
def test_what_no_file_can_be_gets_no_address(
    in_bucket: ArtifactStore, world: World, far: FarAway, digest: str, size: Any
) -> None:
    answer = attempt_of(world, far).ask(f"files/{digest}/address", {"size": size})
    assert answer.status_code == 400, answer.text
    assert not UploadAddress.objects.exists()


def test_addresses_count_before_anything_came(in_bucket: ArtifactStore, world: World, far: FarAway) -> None:
    attempt = attempt_of(world, far)
    digests = [hashlib.sha256(bytes([n])).hexdigest() for n in range(3)]
    answers = [attempt.ask(f"files/{one}/address", {"size": MOST_BYTES}) for one in digests]
    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert "is more than the 0 bytes that there is room for" in answers[2].text


def test_what_nobody_named_is_removed_a_day_later(
    in_bucket: ArtifactStore, world: World, far: FarAway
) -> None:
    attempt = attempt_of(world, far)
    address = attempt.address()
    assert httpx2.put(address["url"], content=LARGE, headers=address["headers"]).status_code == 200
    name = UploadAddress.objects.get().name
    assert in_bucket.exists(name)
    soon, later = timezone.now() + timedelta(hours=23), timezone.now() + LEFTOVER_TIME + timedelta(hours=1)
    assert direct_uploads.delete_some_leftover_uploads(soon) == 0
    assert in_bucket.exists(name)
    assert direct_uploads.delete_some_leftover_uploads(later) == 1
    assert (in_bucket.exists(name), UploadAddress.objects.count()) == (False, 0)
    # Whoever comes after that begins anew
    assert attempt.ask(f"files/{DIGEST}/stored").status_code == 404
    assert attempt.send(LARGE) == 204


def test_bytes_that_another_task_has_are_kept_once(
    in_bucket: ArtifactStore, world: World, far: FarAway
) -> None:
    name = storage.save_bytes_and_return_name(in_bucket, DIGEST, io.BytesIO(LARGE))
    storage.record_blobs({DIGEST: (SIZE, name)}, timezone.now())
    attempt = attempt_of(world, far)
    assert attempt.send(LARGE) == 204 and attempt.hand_over().status_code == 204
    own = UploadAddress.objects.get().name
    assert own != name and Blob.objects.get(pk=DIGEST).name == name
    direct_uploads.delete_some_leftover_uploads(timezone.now() + 2 * LEFTOVER_TIME)
    assert (in_bucket.exists(own), in_bucket.exists(name)) == (False, True)
    assert RunnerUpload.objects.get().blob_id == DIGEST


@pytest.mark.wide
def test_where_the_runner_cannot_reach_the_store_files_pass_the_server(
    settings: Any, bucket_server: BucketServer, keys: None, world: World, far: FarAway
) -> None:
    use_store(settings, bucket_server.address(public=f"http://127.0.0.1:{free_port()}"))
    stations = [command("make", MAKE, {"id": "on", "to": "read"}), command("read", READ, TO_END)]
    task = world.start(world.line(stations=stations))
    far.work()
    assert world.status(task) == "completed", text_of(done(task, "make"))
    assert stored_content() == LARGE
