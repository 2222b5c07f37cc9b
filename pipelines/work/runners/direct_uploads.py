"""Large files of a runner that go straight to the artifact store: one signed address for each, for these bytes alone,
and a look at what came there before anything may name it."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils import timezone

from pipelines.errors import Invalid, NotFound
from pipelines.models import Blob, Job, RunnerUpload, UploadAddress
from pipelines.work import storage
from pipelines.work.artifact_stores.store import ADDRESS_SECONDS, SignedAddress, WrongContent
from pipelines.work.runners import files
from pipelines.work.workspaces import MOST_BYTES

LEFTOVER_TIME: Final = timedelta(days=1)
"""After the end of an address: what began before it has come or broken off by then."""
AT_ONCE: Final = 20


def issue_upload_address_or_none(job: Job, lease: uuid.UUID, digest: str, size: int) -> SignedAddress | None:
    """Return where this attempt may put these bytes; None where the store has no addresses, and all go through the
    server. Asked again for the same file: the same place.

    :raises Invalid: it is too large, or one too many"""
    files.check_digest(digest)
    store = storage.artifact_storage()
    if not store.signs_addresses:
        return None
    under_way = UploadAddress.objects.filter(job=job, lease=lease)
    others = under_way.exclude(digest=digest).aggregate(size=Sum("size", default=0))["size"]
    room = min(MOST_BYTES, files.bytes_left_to_send(job, lease) - int(others))
    if size > room:
        raise Invalid.at("size", f"is more than the {max(0, room)} bytes that there is room for")
    address, _made = UploadAddress.objects.get_or_create(
        job=job,
        lease=lease,
        digest=digest,
        defaults={"size": size, "name": storage.new_storage_name(digest), "expires_at": timezone.now()},
    )
    if address.size != size:
        raise Invalid.at("size", f"was {address.size} when an address for this file was asked before")
    address.expires_at = timezone.now() + timedelta(seconds=ADDRESS_SECONDS)
    address.save(update_fields=["expires_at"])
    return store.upload_address(address.name, digest, size)


def keep_uploaded_file(job: Job, lease: uuid.UUID, digest: str) -> None:
    """Keep what came to the address of this file, once it proved to be this file. Again for a repeat: the same.

    :raises NotFound: no address was given. :raises Invalid: nothing came, or something else"""
    address = UploadAddress.objects.filter(job=job, lease=lease, digest=digest).first()
    if address is None:
        if RunnerUpload.objects.filter(job=job, lease=lease, blob=digest).exists():
            return
        raise NotFound("This attempt got no address for this file.")
    store = storage.artifact_storage()
    try:
        # Before the transaction: a store without checksums is read through
        store.verify(address.name, digest, address.size)
    except FileNotFoundError as error:
        raise Invalid.at("file", "did not come to its address; send it again") from error
    except WrongContent as error:
        store.delete(address.name)
        raise Invalid.at("file", "is not what its digest and size say") from error
    for last in (False, True):
        try:
            _record_file(job, lease, address)
            return
        except IntegrityError:
            # Others had stored the same bytes, and those have expired meanwhile.
            if last:
                raise


@transaction.atomic
def _record_file(job: Job, lease: uuid.UUID, address: UploadAddress) -> None:
    # Whoever removes what nobody named takes this row first
    if not UploadAddress.objects.select_for_update().filter(pk=address.pk).exists():
        raise Invalid.at("file", "came too late; ask for another address")
    now = timezone.now()
    storage.record_blobs({address.digest: (address.size, address.name)}, now)
    RunnerUpload.objects.get_or_create(job=job, lease=lease, blob_id=address.digest, defaults={"at": now})
    # Where the same bytes had another name, these are left over: their row stays, by which they are removed
    if Blob.objects.filter(pk=address.digest, name=address.name).exists():
        UploadAddress.objects.filter(pk=address.pk).delete()


def delete_some_leftover_uploads(now: datetime) -> int:
    """Remove what came to addresses and was never named, such as of a runner that was killed. Return how many."""
    with transaction.atomic():
        late = UploadAddress.objects.filter(expires_at__lt=now - LEFTOVER_TIME).order_by("expires_at")
        rows = list(late.select_for_update(skip_locked=True)[:AT_ONCE])
        for row in rows:
            # Bytes before their row: where the store does not answer, it is tried again
            storage.artifact_storage().delete(row.name)
        UploadAddress.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)
