"""Stored results of an attempt when its processes have ended: artifacts and the snapshot of its workspace.

Files are read and stored first, without the database; then the rows are written, if the attempt still has
its lease. The report comes last, so whoever reads the outcome finds what it names.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction

from pipelines.models import Artifact, Job, Purpose, Snapshot, Task, Upload
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.work import storage
from pipelines.work.artifact_stores.store import repeat_while_away
from pipelines.work.results.files import open_plain_file
from pipelines.work.statements import HOLD_LEASE
from pipelines.work.transport.local.repositories import branch_state_for_job, store_commit_of_visit
from pipelines.work.transport.local.workspace_history import (
    ancestor_ids,
    workspace_digest_and_manifest_or_none,
)
from pipelines.work.transport.protocol import (
    AttemptResults,
    EarlierFile,
    FileSources,
    InputFile,
    LeaseLost,
    Material,
    StartingWorkspace,
)

# {digest: (size, name in the storage)} of what was stored just now
Stored = dict[str, tuple[int, str]]


def job_material(job_id: int, task_id: int, project_id: int, inputs: Mapping[str, Any]) -> Material:
    return Material(
        last_snapshot_or_none(job_id),
        tuple(artifacts_of_last_visits(task_id)),
        tuple(uploaded_files(project_id, inputs)),
        branch_state_for_job(job_id),
    )


def last_snapshot_or_none(job_id: int) -> StartingWorkspace | None:
    snapshot = workspace_digest_and_manifest_or_none(job_id)
    if snapshot is None:
        return None
    digest, manifest = snapshot
    digests = {entry["digest"] for entry in manifest if "digest" in entry}
    return StartingWorkspace(digest, manifest, storage.storage_names_by_digest(digests))


def artifacts_of_last_visits(task_id: int, before: int | None = None) -> list[EarlierFile]:
    """Return what the last visit of each station handed over, oldest first; of a retry also those of the
    tasks before it. `before`: the job that a visit has to come before to count."""
    done = Artifact.objects.filter(
        task_id__in=_task_and_retried(task_id), job__state=Job.State.DONE, job__purpose=Purpose.STATION
    )
    if before is not None:
        done = done.filter(job__lt=before)
    rows = done.order_by("job_id", "name")
    last: dict[str, tuple[int, list[EarlierFile]]] = {}
    for job, station, name, stored in rows.values_list("job_id", "job__station", "name", "blob__name"):
        # Jobs come in order: a later visit replaces what an earlier one handed over
        if last.get(station, (0, []))[0] != job:
            last[station] = (job, [])
        last[station][1].append(EarlierFile(station, name, stored))
    return [output for _, outputs in last.values() for output in outputs]


def uploaded_files(project_id: int, inputs: Mapping[str, Any]) -> list[InputFile]:
    files = {
        key: value
        for key, value in inputs.items()
        if isinstance(value, dict) and value.keys() >= {"name", "digest"}
    }
    rows = Upload.objects.filter(project=project_id, blob__in=[value["digest"] for value in files.values()])
    stored = dict(rows.values_list("blob_id", "blob__name")) if files else {}
    return [
        InputFile(key, str(value["name"]), stored[value["digest"]])
        for key, value in files.items()
        if value["digest"] in stored
    ]


def files_of_task(task_id: int, digests: Sequence[str]) -> dict[str, str]:
    """Return {digest: name in the storage} of those of these that visits of the task left, or of one that it
    retries."""
    requested, matches = set(digests), set[str]()
    manifests = Snapshot.objects.filter(task_id__in=_task_and_retried(task_id)).values_list(
        "manifest", flat=True
    )
    # One at a time: each may name 100,000 files
    for manifest in manifests.iterator(chunk_size=1):
        matches |= {entry["digest"] for entry in manifest if entry.get("digest") in requested}
        if matches == requested:
            break
    return storage.storage_names_by_digest(matches)


def _task_and_retried(task_id: int) -> list[int]:
    """The task, the one that it retries, and so on."""
    retried = Task.objects.values_list("retry_of__task_id", flat=True)
    return ancestor_ids(task_id, lambda pk: retried.filter(pk=pk).first())


def store_new_bytes(root: Path, sources: FileSources, known: set[str]) -> Stored:
    """Store the bytes that are not stored yet. The work's processes are gone: nothing changes any more."""
    into, stored = storage.artifact_storage(), {}
    for digest, (path, size) in sources.items():
        if digest not in known:
            with open_plain_file(root, path) as file:
                name = repeat_while_away(partial(storage.save_bytes_and_return_name, into, digest, file))
                stored[digest] = (size, name)
    return stored


@transaction.atomic
def write_results(
    job_id: int, task_id: int, lease: uuid.UUID, attempt_results: AttemptResults, stored: Stored
) -> None:
    """The rows of what an attempt left. Again for a repeat: the same rows.

    :raises LeaseLost: nothing is written"""
    now = lock_lease_and_read_time(job_id, lease)
    storage.record_blobs(stored, now)
    # The call may come again, and its rows are those of the last one
    Artifact.objects.filter(job_id=job_id).delete()
    Artifact.objects.bulk_create(
        Artifact(task_id=task_id, job_id=job_id, name=one.name, media_type=one.media_type, blob_id=one.digest)
        for one in attempt_results.artifacts
        if not one.error
    )
    if attempt_results.workspace is not None:
        rows = {
            "task_id": task_id,
            "digest": attempt_results.workspace.digest,
            "manifest": list(attempt_results.workspace.manifest),
            "size": attempt_results.workspace.size,
            "created_at": now,
        }
        Snapshot.objects.update_or_create(job_id=job_id, defaults=rows)
    if attempt_results.git is not None:
        store_commit_of_visit(job_id, task_id, attempt_results.git, now)


def lock_lease_and_read_time(job_id: int, lease: uuid.UUID) -> datetime:
    """Hold the lease's row to the end of the transaction; the database's time."""
    lease_rows = fetch(HOLD_LEASE, [job_id, lease])
    if not lease_rows:
        raise LeaseLost
    now: datetime = lease_rows[0][0]
    return now
