"""What becomes due without anybody calling: leases that expired, so far."""

from __future__ import annotations

from collections import Counter

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models import F

from pipelines import engine, leases
from pipelines.models import Job

log = structlog.get_logger(__name__)


def sweep(limit: int = 100) -> Counter[str]:
    """Take expired leases away and let others go on; how many were requeued, ended, kept, or failed.

    Safe to run anywhere, any number of times at once: whether a lease has expired is settled again by the engine."""
    found: Counter[str] = Counter()
    expired = {held.job_id: held for held in leases.expired(limit)}
    for job in Job.objects.filter(pk__in=expired, lease_key=F("lease__key")).order_by("task_id"):
        try:
            found[engine.lose(job.pk, job.attempt, expired[job.pk].key)] += 1
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One task that cannot be moved must not keep the others from being driven on.
            log.exception("sweep_failed", job=job.pk)
            found["failed"] += 1
    return found
