"""What stays of an attempt when its processes are gone: artifacts and the snapshot of its workspace.

Files are read and stored first, without the database; then the rows are written, if the attempt still has its lease.
The report comes last, so whoever reads the outcome finds what it names."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from django.db import connection, transaction

from pipelines.models import Artifact, Job, Purpose, Snapshot, Task, Upload
from pipelines.work import storage
from pipelines.work.orders.order import ARTIFACTS, CONTEXT, HANDOFF, INPUTS
from pipelines.work.results.document import read_document
from pipelines.work.results.files import Refused, opened
from pipelines.work.results.text import escaped
from pipelines.work.spec.base import Attempt
from pipelines.work.transport.lineage import workspace_of
from pipelines.work.workspaces import Entry, Picture

MOST_ARTIFACTS = 200
MOST_BYTES = 1024**3
MEDIA_TYPE = "application/octet-stream"
DOCUMENT = "result-document.json"


class LeaseLost(Exception):
    """The attempt has no lease any more: it was cancelled, or another worker goes on."""


@dataclass(frozen=True)
class HandedOver:
    """A file that the work named. `error` says why it was not kept."""

    name: str
    media_type: str = MEDIA_TYPE
    digest: str = ""
    size: int = 0
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        if self.error:
            return {"name": self.name, "error": self.error}
        return {"name": self.name, "media_type": self.media_type, "digest": self.digest, "size": self.size}


# {digest: (path below the attempt's root, size)}
Wanted = dict[str, tuple[str, int]]
# {digest: (size, name in the storage)} of what was stored just now
Stored = dict[str, tuple[int, str]]


@dataclass(frozen=True)
class Leavings:
    """`picture` is None where the workspace is as the snapshot before has it."""

    artifacts: tuple[HandedOver, ...] = ()
    picture: Picture | None = None
    stored: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def collect(attempt: Attempt, named: Iterable[Any]) -> tuple[tuple[HandedOver, ...], Wanted]:
    """Read the artifacts that an outcome names: a path, or {path, name, media_type}, inside the workspace."""
    found: dict[str, HandedOver] = {}
    wanted: Wanted = {}
    room = MOST_BYTES
    for index, entry in enumerate(named):
        said = {"path": entry} if isinstance(entry, str) else entry if isinstance(entry, dict) else {}
        name, path = label(said, index), str(said.get("path") or said.get("name") or "")
        try:
            if index >= MOST_ARTIFACTS:
                raise Refused(f"more than {MOST_ARTIFACTS} artifacts")
            with opened(attempt.workspace, path) as file:
                measured = storage.measure(file, room)
        except (Refused, storage.TooLarge) as error:
            found[name] = HandedOver(name, error=escaped(str(error)))
            continue
        room -= measured.size
        wanted[measured.digest] = (f"{attempt.below(attempt.workspace)}/{path}", measured.size)
        kind = said.get("media_type")
        media_type = escaped(kind)[:100] if isinstance(kind, str) and kind else MEDIA_TYPE
        found[name] = HandedOver(name, media_type, measured.digest, measured.size)
    return tuple(found.values()), wanted


def whole_document(attempt: Attempt, limit: int) -> tuple[tuple[HandedOver, ...], Wanted]:
    """The result document itself, if it says more than an outcome has room for."""
    if not read_document(attempt, limit).more:
        return (), {}
    path = attempt.below(attempt.result)
    with opened(attempt.root, path) as file:
        measured = storage.measure(file)
    kept = HandedOver(DOCUMENT, "application/json", measured.digest, measured.size)
    return (kept,), {measured.digest: (path, measured.size)}


def label(wanted: Mapping[str, Any], index: int) -> str:
    """What the artifact is called: data, never a path of ours."""
    name = wanted.get("name") or PurePosixPath(str(wanted.get("path") or "")).name or f"artifact {index + 1}"
    return escaped(str(name))[:300]


@dataclass(frozen=True)
class Before:
    """The workspace that a job starts from. `names` {digest: name in the storage}."""

    digest: str
    manifest: tuple[Entry, ...] = field(repr=False)
    names: Mapping[str, str] = field(repr=False)

    def fetch(self, digest: str, path: Path) -> None:
        storage.fetch(storage.artifacts(), self.names[digest], path)


def last_snapshot(job_id: int) -> Before | None:
    found = workspace_of(job_id)
    if found is None:
        return None
    digest, manifest = found
    digests = {entry["digest"] for entry in manifest if "digest" in entry}
    return Before(digest, manifest, storage.names(digests))


@dataclass(frozen=True)
class Earlier:
    """A file that a station before handed over. `stored`: its name in the storage."""

    station: str
    name: str
    stored: str


def handed_over(task_id: int) -> list[Earlier]:
    """What the last visit of each station handed over, oldest first; of a retry also those of the tasks before it."""
    done = Artifact.objects.filter(
        task_id__in=_retried(task_id), job__state=Job.State.DONE, job__purpose=Purpose.STATION
    )
    rows = done.order_by("job_id", "name")
    last: dict[str, tuple[int, list[Earlier]]] = {}
    for job, station, name, stored in rows.values_list("job_id", "job__station", "name", "blob__name"):
        if last.get(station, (0, []))[0] != job:
            last[station] = (job, [])
        last[station][1].append(Earlier(station, name, stored))
    return [each for _, found in last.values() for each in found]


@dataclass(frozen=True)
class Given:
    """A file that was uploaded for an input. `stored`: its name in the storage."""

    key: str
    name: str
    stored: str


def uploaded(project_id: int, inputs: Mapping[str, Any]) -> list[Given]:
    files = {
        key: value
        for key, value in inputs.items()
        if isinstance(value, dict) and value.keys() >= {"name", "digest"}
    }
    rows = Upload.objects.filter(project=project_id, blob__in=[value["digest"] for value in files.values()])
    stored = dict(rows.values_list("blob_id", "blob__name")) if files else {}
    return [
        Given(key, str(value["name"]), stored[value["digest"]])
        for key, value in files.items()
        if value["digest"] in stored
    ]


def _retried(task_id: int) -> list[int]:
    """The task, the one that it retries, and so on."""
    found: list[int] = []
    before: int | None = task_id
    while before is not None:
        found.append(before)
        before = Task.objects.filter(pk=before).values_list("retry_of__task_id", flat=True).first()
    return found


def give(
    attempt: Attempt,
    context: Mapping[str, Any],
    artifacts: Iterable[Earlier],
    handoff: Any = None,
    files: Iterable[Given] = (),
) -> None:
    """Lay down what the work may read: the context of the task as JSON, what stations before handed over as
    `artifacts/<station>/<name>`, and what was uploaded for inputs as `inputs/<key>/<name>`. In a thread, before the
    work starts."""
    folder = attempt.given / ARTIFACTS
    folder.mkdir(parents=True)
    (attempt.given / CONTEXT).write_text(json.dumps(dict(context), ensure_ascii=False))
    if handoff is not None:
        (attempt.given / HANDOFF).write_text(json.dumps(handoff, ensure_ascii=False))
    (attempt.given / INPUTS).mkdir()
    for file in files:
        place = attempt.given / INPUTS / file.key / file_name(file.name)
        place.parent.mkdir()
        storage.fetch(storage.artifacts(), file.stored, place)
    for each in artifacts:
        place = folder / each.station / file_name(each.name)
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            storage.fetch(storage.artifacts(), each.stored, place)


def file_name(label: str) -> str:
    """The last part of a path that a label may be: labels are data (house §4)."""
    plain = label.replace("/", "_").replace("\x00", "_")
    plain = plain.encode(errors="replace")[:200].decode(errors="ignore")
    return f"_{plain}" if plain in ("", ".", "..") else plain


def save(attempt: Attempt, wanted: Wanted, known: set[str]) -> Stored:
    """Store the bytes that are not stored yet. The work's processes are gone: nothing changes any more."""
    into, stored = storage.artifacts(), {}
    for digest, (path, size) in wanted.items():
        if digest not in known:
            with opened(attempt.root, path) as file:
                stored[digest] = (size, storage.save(into, digest, file))
    return stored


@transaction.atomic
def write(job_id: int, task_id: int, lease: uuid.UUID, left: Leavings) -> None:
    """The rows of what an attempt left. Again for a repeat: the same rows.

    :raises LeaseLost: nothing is written"""
    now = still_held(job_id, lease)
    storage.record(left.stored, now)
    Artifact.objects.filter(job_id=job_id).delete()
    Artifact.objects.bulk_create(
        Artifact(task_id=task_id, job_id=job_id, name=one.name, media_type=one.media_type, blob_id=one.digest)
        for one in left.artifacts
        if not one.error
    )
    if left.picture is not None:
        rows = {
            "task_id": task_id,
            "digest": left.picture.digest,
            "manifest": list(left.picture.manifest),
            "size": left.picture.size,
            "created_at": now,
        }
        Snapshot.objects.update_or_create(job_id=job_id, defaults=rows)


def still_held(job_id: int, lease: uuid.UUID) -> datetime:
    """Hold the lease's row to the end of the transaction; the database's time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clock_timestamp() FROM pipelines_lease WHERE job_id = %s AND key = %s FOR UPDATE",
            [job_id, lease],
        )
        row = cursor.fetchone()
    if row is None:
        raise LeaseLost
    now: datetime = row[0]
    return now
