"""Uploaded files go when nothing needs them, and never before."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.utils import timezone

from pipelines import engine
from pipelines.errors import Conflict
from pipelines.lines import triggers
from pipelines.lines.triggers import TriggerRequest
from pipelines.models import Artifact, Blob, Snapshot, Task, Upload
from pipelines.work import expiry, storage
from tests.factories import World
from tests.work.conftest import artifacts_here

__all__ = ["artifacts_here"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("artifacts_here")]
NOW = timezone.now()
LATER = NOW + timedelta(days=91)


def upload(world: World, content: bytes = b"patch") -> dict[str, Any]:
    return storage.store_upload(world.project, "fix.patch", SimpleUploadedFile("x", content), "t", NOW)


def stored() -> int:
    """How many files there are, of those that the database knows."""
    found = [storages["artifacts"].exists(name) for name in Blob.objects.values_list("name", flat=True)]
    assert all(found)
    return len(found)


def test_a_file_that_nothing_uses_goes_with_its_bytes(world: World) -> None:
    upload(world)
    name = Blob.objects.get().name
    assert expiry.delete_expired_uploads(NOW + timedelta(days=89)) == 0
    assert expiry.delete_expired_uploads(LATER) == 1
    assert (Upload.objects.count(), stored(), storages["artifacts"].exists(name)) == (0, 0, False)


def test_a_file_stays_while_a_task_uses_it_and_as_long_after_its_end(world: World) -> None:
    version = world.line(inputs=[{"key": "patch", "type": "file"}])
    task = world.start(version, inputs={"patch": upload(world)})
    assert expiry.delete_expired_uploads(LATER) == 0
    engine.cancel(task.pk, actor=engine.Actor.person(world.operator), reason="Enough")
    Upload.objects.update(at=NOW - timedelta(days=60))
    assert expiry.delete_expired_uploads(NOW + timedelta(days=85)) == 0
    assert expiry.delete_expired_uploads(LATER) == 1
    assert Task.objects.get().inputs["patch"]["name"] == "fix.patch"
    with pytest.raises(Conflict, match=r"fix\.patch has expired"):
        engine.start_retry_task(task.pk, station="", actor=engine.Actor.person(world.operator))


def test_a_file_stays_while_a_trigger_starts_tasks_with_it(world: World) -> None:
    version = world.line(inputs=[{"key": "patch", "type": "file"}])
    options = {"cron": "0 2 * * *", "zone": "UTC", "missed": "once"}
    trigger = triggers.add_trigger(
        version.line, "schedule", TriggerRequest(options, inputs={"patch": upload(world)}), by=world.operator
    )
    assert expiry.delete_expired_uploads(LATER) == 0
    triggers.delete_trigger(trigger, by=world.operator)
    assert expiry.delete_expired_uploads(LATER) == 1


def test_a_file_that_is_uploaded_again_stays(world: World) -> None:
    upload(world)
    storage.store_upload(world.project, "fix.patch", SimpleUploadedFile("x", b"patch"), "t", LATER)
    assert expiry.delete_expired_uploads(LATER) == 0


@pytest.mark.parametrize("other", ["upload", "artifact", "snapshot"])
def test_bytes_stay_that_something_else_has(world: World, other: str) -> None:
    digest = upload(world)["digest"]
    task = world.start(world.line())
    if other == "upload":
        Upload.objects.create(project=world.project, blob_id=digest, name="newer", by="t", at=LATER)
    elif other == "artifact":
        Artifact.objects.create(task=task, job=world.job(task), name="a", blob_id=digest)
    else:
        manifest = [{"path": "a", "mode": 420, "digest": digest, "size": 5}]
        Snapshot.objects.create(
            task=task, job=world.job(task), digest="0" * 64, manifest=manifest, size=5, created_at=NOW
        )
    assert expiry.delete_expired_uploads(LATER) == 1
    assert stored() == 1


def test_they_are_kept_where_the_setting_says_so(world: World, settings: Any) -> None:
    upload(world)
    settings.UPLOAD_DAYS = 0
    assert expiry.delete_expired_uploads(LATER) == 0


def test_the_command_says_how_many(world: World) -> None:
    upload(world)
    Upload.objects.update(at=NOW - timedelta(days=91))
    out = io.StringIO()
    call_command("expire_files", stdout=out)
    assert out.getvalue() == "1 files deleted.\n"
    assert storage.store_upload(world.project, "a", SimpleUploadedFile("x", b"patch"), "t", NOW)["size"] == 5
    assert stored() == 1
