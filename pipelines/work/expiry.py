"""Expiry of uploaded files that nobody needs any more: their rows, and their bytes if nothing else shares them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction

from pipelines.models import Artifact, Blob, RunnerUpload, Snapshot, Upload, VisitCommit
from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.work.statements import UNUSED_UPLOADS
from pipelines.work.storage import artifact_storage

AT_ONCE = 100
"""Files of one transaction."""


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
    # Snapshots last: a query for each, so only for what nothing else uses.
    left = set(digests) - used
    return used | {
        digest for digest in left if Snapshot.objects.filter(manifest__contains=[{"digest": digest}]).exists()
    }
