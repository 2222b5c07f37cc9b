"""Bytes that go to a runner and come from it. It gets no file that its job does not start with, and may name none as
what its work left that it did not send."""

from __future__ import annotations

import hashlib
import tempfile
import uuid
from collections.abc import Collection, Sequence
from functools import partial
from typing import BinaryIO, Final

from django.core import signing
from django.core.files import File
from django.db import IntegrityError, transaction
from django.db.models import Count, Sum
from django.utils import timezone

from pipelines.errors import Invalid, NotFound
from pipelines.models import Artifact, Blob, Job, RunnerUpload
from pipelines.ports import leases
from pipelines.work import expiry, storage
from pipelines.work.file_measure import PIECE, measure_file
from pipelines.work.transport.http.wire_format import MOST_PART
from pipelines.work.transport.local import stored_results
from pipelines.work.transport.protocol import LeaseLost
from pipelines.work.worker.attempt_io import MOST_ARTIFACTS
from pipelines.work.workspaces import MOST_BYTES, MOST_FILES

SALT: Final = "gateline.runner.file"
HEX: Final = frozenset("0123456789abcdef")
IN_MEMORY: Final = MOST_PART
MOST_TOGETHER: Final = 2 * MOST_BYTES
"""Of one lease: told before, and counted while it comes."""
MOST_UPLOADS: Final = MOST_FILES + MOST_ARTIFACTS + 2
MOST_PARTS: Final = MOST_BYTES // MOST_PART


# To a runner


def signed_file_name(job_id: int, lease: uuid.UUID, place: str) -> str:
    """A name that opens this place in the storage to whoever holds the lease."""
    return signing.dumps([job_id, lease.hex, place], salt=SALT)


def file_namer(job_id: int, lease: uuid.UUID) -> partial[str]:
    return partial(signed_file_name, job_id, lease)


def stored_place(name: str, worker: uuid.UUID) -> str:
    """Return the place in the storage behind a name. :raises NotFound: nobody gave this name; LeaseLost"""
    try:
        # Without a limit of time: a name opens nothing once its lease has ended
        job_id, lease, place = signing.loads(name, salt=SALT)
    except signing.BadSignature as error:
        raise NotFound from error
    if not leases.has_lease(job_id, uuid.UUID(lease), worker):
        raise LeaseLost
    return str(place)


def open_stored_file(place: str) -> File:
    """:raises NotFound"""
    try:
        return storage.artifact_storage().open(place, "rb")
    except FileNotFoundError as error:
        raise NotFound("This file is no longer stored.") from error


# From a runner


def missing_digests(job: Job, lease: uuid.UUID, sizes: dict[str, int]) -> list[str]:
    """Return the digests that the runner has to send: all that it neither sent nor got with its job.

    :raises Invalid: too many or too large
    """
    if len(sizes) > MOST_UPLOADS:
        raise Invalid.at("files", f"are more than {MOST_UPLOADS} files")
    if sum(sizes.values()) > MOST_TOGETHER:
        raise Invalid.at("files", f"are more than {MOST_TOGETHER // 1024**2} MB together")
    # Not all that is stored here: the answer would tell which content other tasks have
    there = allowed_digests(job, lease, sizes)
    return [digest for digest in sizes if digest not in there]


def allowed_digests(job: Job, lease: uuid.UUID, digests: Collection[str]) -> set[str]:
    """Return those of these digests that this attempt may name: what it sent, what it started with, and, for
    a repeat, what it left already."""
    permitted = set(
        RunnerUpload.objects.filter(job=job, lease=lease, blob__in=list(digests)).values_list(
            "blob_id", flat=True
        )
    )
    permitted |= set(
        Artifact.objects.filter(job=job, blob__in=list(digests)).values_list("blob_id", flat=True)
    )
    before = stored_results.last_snapshot_or_none(job.pk)
    if before is not None:
        permitted |= before.stored.keys() & set(digests)
    return permitted


def receive_and_check_file(job: Job, lease: uuid.UUID, digest: str, body: BinaryIO) -> None:
    """Read a file, or a part of one, to its end, compare it with its digest, keep it. Again for a repeat: the same.

    :raises Invalid: it is too large, another one, or one too many"""
    check_digest(digest)
    room = most = min(MOST_PART, bytes_left_to_send(job, lease))
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        while piece := body.read(PIECE):
            room -= len(piece)
            if room < 0:
                raise Invalid.at("file", f"is larger than the {most} bytes that there is room for")
            file.write(piece)
        file.seek(0)
        measured = measure_file(file)  # type: ignore[arg-type]
        if measured.digest != digest:
            raise Invalid.at("file", "is not what its digest says")
        file.seek(0)
        keep_file(job, lease, digest, measured.size, file)  # type: ignore[arg-type]


def join_parts(job: Job, lease: uuid.UUID, digest: str, parts: Sequence[str]) -> None:
    """Keep the file that these parts make in this order, and the parts no longer. Again for a repeat: the same.

    :raises Invalid: they make another file, a too large one, or were not sent under this lease"""
    check_digest(digest)
    if RunnerUpload.objects.filter(job=job, lease=lease, blob=digest).exists():
        return
    if len(parts) > MOST_PARTS:
        raise Invalid.at("parts", f"make more than {MOST_BYTES // 1024**2} MB")
    sent = RunnerUpload.objects.filter(job=job, lease=lease, blob__in=set(parts))
    sizes = dict(sent.values_list("blob_id", "blob__size"))
    if missing := set(parts) - sizes.keys():
        raise Invalid.at("parts", f"were not all sent, {min(missing)[:12]} among them")
    places, size = storage.storage_names_by_digest(sizes), sum(sizes[part] for part in parts)
    if size > MOST_BYTES:
        raise Invalid.at("parts", f"make more than {MOST_BYTES // 1024**2} MB")
    sha = hashlib.sha256()
    with tempfile.TemporaryFile() as file:
        for part in parts:
            with storage.artifact_storage().open(places[part], "rb") as source:
                while piece := source.read(PIECE):
                    sha.update(piece)
                    file.write(piece)
        if sha.hexdigest() != digest:
            raise Invalid.at("parts", "do not make what its digest says")
        keep_file(job, lease, digest, size, file)
    sent.delete()
    # A part may be the whole file
    expiry.delete_unused_blobs(sizes.keys() - {digest})


def check_digest(digest: str) -> None:
    if len(digest) != 64 or not set(digest) <= HEX:
        raise Invalid.at("digest", "is no SHA-256")


def bytes_left_to_send(job: Job, lease: uuid.UUID) -> int:
    """Bytes that this attempt may still send. :raises Invalid: no more files"""
    sent = RunnerUpload.objects.filter(job=job, lease=lease)
    together = sent.aggregate(files=Count("pk"), size=Sum("blob__size", default=0))
    if together["files"] >= MOST_UPLOADS:
        raise Invalid.at("files", f"are more than {MOST_UPLOADS} files")
    return max(0, MOST_TOGETHER - int(together["size"]))


def keep_file(job: Job, lease: uuid.UUID, digest: str, size: int, file: BinaryIO) -> None:
    """Store bytes whose digest was computed here, and note that this attempt may name them."""
    for last in (False, True):
        now = timezone.now()
        if not storage.keep_and_return_stored_digests([digest]):
            file.seek(0)
            storage.record_blobs(
                {
                    digest: (
                        size,
                        storage.save_bytes_and_return_name(storage.artifact_storage(), digest, file),
                    )
                },
                now,
            )
        try:
            with transaction.atomic():
                RunnerUpload.objects.get_or_create(job=job, lease=lease, blob_id=digest, defaults={"at": now})
            return
        except IntegrityError:
            # The bytes were there, and have expired meanwhile.
            if last:
                raise


def stored_size_by_digest(digests: Collection[str]) -> dict[str, int]:
    return dict(Blob.objects.filter(pk__in=list(digests)).values_list("pk", "size"))
