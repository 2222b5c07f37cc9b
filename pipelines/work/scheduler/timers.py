"""Timers of what becomes due on its own: expired leases, the due times of the engine, and triggers. Everything here is
safe to run anywhere, any number of times at once: the engine checks again, under the task's lock, whether
a lease has expired or a time has come. Uses the database's clock only."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import NamedTuple

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models import F

from pipelines import engine
from pipelines.models import Job
from pipelines.models.plumbing.compiled_queries import execute, fetch
from pipelines.ports import leases
from pipelines.ports.due_notices import LOOK_SECONDS
from pipelines.work.statements import DELAY_DUE_TIME, DUE_TIMES, DUE_TRIGGERS, OUTLOOK
from pipelines.work.triggers import starting

log = structlog.get_logger(__name__)

AT_WORK_SECONDS = 1.0
"""Between two looks while anything is at work: what ends without a word is noticed as soon."""
TRIGGERS_AT_ONCE = 20
"""So many at midnight do not keep due times waiting."""
AFTER_A_FAULT = 60.0
"""Seconds until a due time is tried again whose function failed: it must not keep the others waiting."""


def expire_due_leases(limit: int = 100) -> Counter[str]:
    """Take expired leases away so that others continue. Returns how many were requeued, ended, kept or failed."""
    counts: Counter[str] = Counter()
    expired = {lease.job_id: lease for lease in leases.expired_leases_oldest_first(limit)}
    # They were found without a lock: a lease that was granted since belongs to another attempt
    for job in Job.objects.filter(pk__in=expired, lease_key=F("lease__key")).order_by("task_id"):
        try:
            counts[engine.expire_lease(job.pk, job.attempt, expired[job.pk].key)] += 1
        # The database is away, which is not this task's fault
        # The database itself: all that are due would meet the same
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One task that cannot be moved must not keep the others from being driven on.
            log.exception("sweep_failed", job=job.pk)
            counts["failed"] += 1
    return counts


def run_due_timers_and_triggers(now: datetime | None = None, limit: int = 100) -> Counter[str]:
    """Do what is due, the longest overdue first, and then start what triggers start by the clock. Returns how many
    fired, were gone or failed, and the outcomes of triggers. `now`: the database's clock, unless told."""
    counts: Counter[str] = Counter()
    past = [row[0] for row in fetch(DUE_TIMES, [now, limit])]
    for due_id in past:
        try:
            counts[engine.fire_due_time_and_return_result(due_id, now)] += 1
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("timer_failed", due=due_id)
            counts["failed"] += 1
            # Later again, so that one which always fails does not keep the others waiting
            execute(DELAY_DUE_TIME, [AFTER_A_FAULT, due_id])
    return counts + _start_triggers(now)


def _start_triggers(now: datetime | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (trigger_id,) in fetch(DUE_TRIGGERS, [now, TRIGGERS_AT_ONCE]):
        try:
            counts[starting.start_due_trigger_and_return_outcome(trigger_id, now)] += 1
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("trigger_failed", trigger=trigger_id)
            # It would fail again at each look
            starting.pause_and_record_fault(trigger_id, now)
            counts["failed"] += 1
    return counts


class Outlook(NamedTuple):
    """Seconds until something is due, negative when it is overdue; None: nothing waits for a time."""

    due: float | None
    ticket: float | None
    to_sweep: bool
    is_at_work: bool
    has_queued_jobs: bool

    @property
    def has_due_timer(self) -> bool:
        return self.due is not None and self.due <= 0

    @property
    def has_due_ticket(self) -> bool:
        return self.ticket is not None and self.ticket <= 0

    @property
    def seconds_to_sleep(self) -> float:
        """Seconds to sleep. A ticket that is overdue waits for a seat, and for no time."""
        longest = AT_WORK_SECONDS if self.to_sweep or self.is_at_work else LOOK_SECONDS
        due = longest if self.due is None else max(self.due, 0.0)
        ticket = longest if self.ticket is None or self.has_due_ticket else self.ticket
        return min(due, ticket, longest)


def read_outlook() -> Outlook:
    """Return what comes next, by one statement."""
    return Outlook(*fetch(OUTLOOK)[0])
