"""Files that a station leaves: blobs and a snapshot, as a worker stores them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from pipelines.models import Snapshot, Task
from pipelines.work import storage
from pipelines.work.workspaces import manifest_digest
from tests.factories import World


def manifest_of(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    known, stored = storage.keep_and_return_stored_digests(digests.values()), {}
    for path, digest in digests.items():
        if digest not in known and digest not in stored:
            name = storage.save_bytes_and_return_name(
                storage.artifact_storage(), digest, io.BytesIO(files[path])
            )
            stored[digest] = (len(files[path]), name)
    storage.record_blobs(stored, timezone.now())
    return [
        {"path": path, "mode": 0o644, "digest": digests[path], "size": len(data)}
        for path, data in sorted(files.items())
    ]


def leave(world: World, task: Task, files: Mapping[str, bytes], **outcome: Any) -> None:
    """The station that is due leaves these files and succeeds."""
    job = world.started(task)
    entries = manifest_of(files)
    Snapshot.objects.create(
        task=task,
        job=job,
        digest=manifest_digest(tuple(entries)),
        manifest=entries,
        size=sum(entry["size"] for entry in entries),
        created_at=timezone.now(),
    )
    world.report(task, {"result": "success", **outcome})
