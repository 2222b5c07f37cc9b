"""Expiry of what nobody needs any more: uploaded files, tasks whose retention is over, and bytes that nothing uses."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction

from pipelines import engine
from pipelines.models import Artifact, Blob, RunnerUpload, Upload, VisitCommit
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.work.statements import DIGESTS_OF_SNAPSHOTS, UNUSED_UPLOADS
from pipelines.work.storage import artifact_storage

AT_ONCE = 100
"""Files of one transaction."""
TASKS_AT_ONCE = 50
"""Leases that expire meanwhile wait for no longer transaction."""
BYTES_AT_ONCE = 1_000
RELEASED_FOR = timedelta(days=1)
"""Longer than any attempt takes from asking what is stored until it has stored its results."""


def delete_expired_uploads(now: datetime) -> int:
    """Delete the files that were uploaded more than UPLOAD_DAYS ago and that no task uses which is open or ended later
    than that. How many; tasks keep their names and digests."""
    total = 0
    while deleted := delete_some_expired_uploads(now):
        total += deleted
    return total


def delete_some_expired_uploads(now: datetime) -> int:
    """Expire at most `AT_ONCE` uploads, in one transaction; 0 when none is left."""
    if not settings.UPLOAD_DAYS:
        return 0
    before = now - timedelta(days=settings.UPLOAD_DAYS)
    with transaction.atomic():
        digests: dict[int, str] = dict(fetch(UNUSED_UPLOADS, {"before": before, "most": AT_ONCE}))
        # Locked before checking who else shares the bytes: a new row for them waits, and then finds them gone.
        blobs = list(Blob.objects.select_for_update().filter(pk__in=digests.values()).order_by("pk"))
        Upload.objects.filter(pk__in=digests).delete()
        used = _used_digests({blob.pk for blob in blobs})
        for blob in blobs:
            if blob.pk not in used:
                blob.delete()
                transaction.on_commit(partial(artifact_storage().delete, blob.name))
    return len(digests)


def delete_unused_blobs(digests: Collection[str]) -> None:
    """Delete these bytes where nothing uses them."""
    with transaction.atomic():
        # In the order of their keys, so that no two of these wait for each other.
        blobs = list(Blob.objects.select_for_update().filter(pk__in=list(digests)).order_by("pk"))
        used = _used_digests({blob.pk for blob in blobs})
        for blob in blobs:
            if blob.pk not in used:
                blob.delete()
                transaction.on_commit(partial(artifact_storage().delete, blob.name))


def _used_digests(digests: Collection[str]) -> set[str]:
    """The digests that something other than an expired upload still uses."""
    used = set(Upload.objects.filter(blob__in=digests).values_list("blob_id", flat=True))
    used |= set(Artifact.objects.filter(blob__in=digests).values_list("blob_id", flat=True))
    used |= set(RunnerUpload.objects.filter(blob__in=digests).values_list("blob_id", flat=True))
    used |= set(VisitCommit.objects.filter(pack__in=digests).values_list("pack_id", flat=True))
    # Snapshots last: all of them are read, so only for what nothing else uses.
    left = set(digests) - used
    return used | {digest for (digest,) in fetch(DIGESTS_OF_SNAPSHOTS, [sorted(left)])} if left else used


def purge_some_expired_tasks(now: datetime) -> int:
    """Purge at most `TASKS_AT_ONCE` tasks whose retention is over, in one transaction; 0 when none is left."""
    with transaction.atomic():
        purged = engine.purge_records(now, TASKS_AT_ONCE)
        if not purged.tasks:
            purged = engine.purge_files(now, TASKS_AT_ONCE)
        # Others may use them, too: that is found out once for many
        Blob.objects.filter(pk__in=purged.digests, released_at__isnull=True).update(released_at=now)
    return purged.tasks


def delete_some_released_bytes(now: datetime) -> int:
    """Delete bytes that something released a day ago and that nothing uses now, at most `BYTES_AT_ONCE`; how many were
    looked at. Whoever stores the same bytes meanwhile keeps them (work/storage.py)."""
    with transaction.atomic():
        released = Blob.objects.filter(released_at__lt=now - RELEASED_FOR).order_by("released_at")
        # pk in order, so that no two of these wait for each other
        blobs = list(
            Blob.objects.select_for_update()
            .filter(pk__in=list(released.values_list("pk", flat=True)[:BYTES_AT_ONCE]))
            .order_by("pk")
        )
        used = _used_digests({blob.pk for blob in blobs})
        Blob.objects.filter(pk__in=used).update(released_at=None)
        unused = [blob for blob in blobs if blob.pk not in used]
        Blob.objects.filter(pk__in=[blob.pk for blob in unused]).delete()
        for blob in unused:
            transaction.on_commit(partial(artifact_storage().delete, blob.name))
    return len(blobs)
