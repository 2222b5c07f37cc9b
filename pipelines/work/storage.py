"""Content-addressed storage for artifacts and snapshots of workspaces, in STORAGES["artifacts"].

A `Blob` row says that the bytes are there; it is written after them. Two workers that store the same bytes at once
leave one row; a file without a row is only waste.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import storages
from django.db import IntegrityError, transaction

from pipelines.models import Blob, Project, Upload
from pipelines.routing.basics.file_signatures import LEAD, content_kind
from pipelines.work.artifact_stores.store import ArtifactStore
from pipelines.work.file_measure import PIECE, Measured, measure_file


def artifact_storage() -> ArtifactStore:
    store: ArtifactStore = storages["artifacts"]  # type: ignore[assignment]
    return store


def storage_path(digest: str) -> str:
    """Return the path of the bytes in the storage: a few thousand files per folder at most."""
    return f"{digest[:2]}/{digest[2:4]}/{digest}"


def new_storage_name(digest: str) -> str:
    """Return a name for these bytes that nobody else has: two who store the same at once must not write into one
    file."""
    return f"{storage_path(digest)}.{uuid.uuid4().hex[:12]}"


def save_bytes_and_return_name(storage: ArtifactStore, digest: str, file: BinaryIO) -> str:
    """Store the bytes, without the database; the name under which they are. Nobody else has this name, so what a full
    disk cut off can be removed again.

    :raises OSError: nothing is stored"""
    name = new_storage_name(digest)
    try:
        return storage.save(name, File(file))
    except OSError:
        storage.delete(name)
        raise


def has_room(storage: ArtifactStore, folder: Path) -> bool:
    """Return whether something can be written: to the storage, and to a folder on this machine."""
    probe = folder / f".room-{uuid.uuid4().hex}"
    try:
        # With bytes in it: an empty file fits on a full disk, too
        probe.write_bytes(bytes(PIECE))
        with probe.open("rb") as file:
            storage.delete(save_bytes_and_return_name(storage, probe.name, file))
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)
    return True


def store_upload(project: Project, name: str, file: BinaryIO, by: str, now: datetime) -> dict[str, Any]:
    """Keep a file for an input of this project: the input's value, {name, digest, size}.

    :raises TooLarge: more than UPLOAD_BYTES"""
    measured = measure_file(file, settings.UPLOAD_BYTES)
    plain = "".join(
        char if char.isprintable() else "_" for char in name.replace("\\", "/").rpartition("/")[2]
    )
    file_name = plain[:200].strip() or "file"
    file.seek(0)
    content = content_kind(file.read(LEAD))
    for last in (False, True):
        _store_bytes(measured, file, now)
        try:
            with transaction.atomic():
                Upload.objects.update_or_create(
                    project=project,
                    blob_id=measured.digest,
                    name=file_name,
                    defaults={"at": now, "content": content},
                    create_defaults={"by": by[:200], "at": now, "content": content},
                )
            break
        except IntegrityError:
            # The bytes were there, and have expired meanwhile.
            if last:
                raise
    return {"name": file_name, "digest": measured.digest, "size": measured.size}


def _store_bytes(measured: Measured, file: BinaryIO, now: datetime) -> None:
    if not keep_and_return_stored_digests([measured.digest]):
        file.seek(0)
        stored = save_bytes_and_return_name(artifact_storage(), measured.digest, file)
        record_blobs({measured.digest: (measured.size, stored)}, now)


def keep_and_return_stored_digests(digests: Iterable[str]) -> set[str]:
    """Return those of these digests that are stored, and stay so: whoever asks is about to use them."""
    rows = Blob.objects.filter(pk__in=list(digests))
    stored = dict(rows.values_list("pk", "released_at"))
    if released := [digest for digest, at in stored.items() if at is not None]:
        # Waits for whoever deletes one at this moment
        Blob.objects.filter(pk__in=released).update(released_at=None)
        return set(rows.values_list("pk", flat=True))
    return set(stored)


def record_blobs(stored: Mapping[str, tuple[int, str]], now: datetime) -> None:
    """Write the rows of stored bytes, {digest: (size, name)}."""
    # Before the insert: whoever is deleting one is waited for, and then it is gone and written anew
    Blob.objects.filter(pk__in=list(stored), released_at__isnull=False).update(released_at=None)
    blobs = [
        # In one order: two workers that insert the same rows cannot deadlock
        Blob(digest=d, size=size, name=name, created_at=now)
        for d, (size, name) in sorted(stored.items())
    ]
    Blob.objects.bulk_create(blobs, ignore_conflicts=True)


def storage_names_by_digest(digests: Iterable[str]) -> dict[str, str]:
    """{digest: name in the storage} of stored bytes."""
    return dict(Blob.objects.filter(pk__in=list(digests)).values_list("pk", "name"))


def copy_stored_bytes(storage: ArtifactStore, name: str, target: Path) -> None:
    """Copy stored bytes into a new file. No database."""
    with storage.open(name, "rb") as source, target.open("xb") as file:
        while piece := source.read(PIECE):
            file.write(piece)
