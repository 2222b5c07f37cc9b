"""Observer that lets hosts know what has happened to a task that belongs to an issue or opened a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.models import Delivery, HostLink
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports.code_host_notices import ENDED, STATUS, WITHDRAW, enqueue_new_notices_and_every_status
from pipelines.ports.observers import (
    Consequence,
    DeliveryEnded,
    GateDecided,
    GateOpened,
    TaskEnded,
    TaskWaits,
    VoteCast,
)
from pipelines.work.statements import LINKS_OF_TASKS

Kind = HostLink.LinkKind


class HostObserver:
    """Puts notices into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    hears = (DeliveryEnded, GateDecided, GateOpened, TaskEnded, TaskWaits, VoteCast)

    def handle_consequences(self, batch: Sequence[Consequence]) -> None:
        events = [event for event in batch if isinstance(event, self.hears)]
        links: dict[int, list[HostLink]] = {}
        # Most tasks have none: that is asked first, in the cheapest way.
        [linked] = execute_all_and_fetch(
            [Statement(LINKS_OF_TASKS, [list({event.task_id for event in events})])]
        )
        for link in HostLink.objects.filter(pk__in=[pk for (pk,) in linked]) if linked else ():
            links.setdefault(link.task_id, []).append(link)
        queued = _queued_request_by_job(events) if links else {}
        for event in events:
            for link in links.get(event.task_id, ()):
                at = event.opened_at if isinstance(event, GateOpened) else event.at
                subjects = _notice_subjects(event, link, queued)
                enqueue_new_notices_and_every_status([(link, about) for about in subjects], at)


def _queued_request_by_job(events: Sequence[Consequence]) -> dict[int, int]:
    """{job: number of its request} of deliveries that ended while a queue of their host has the request: nothing of
    them lands any more by itself (law §15)."""
    ended = [event.job_id for event in events if isinstance(event, DeliveryEnded)]
    rows = Delivery.objects.filter(job__in=ended, at_host=True, landed_at=None) if ended else ()
    return {row.job_id: int((row.request or {}).get("number", 0)) for row in rows}


def _notice_subjects(event: Consequence, link: HostLink, queued: Mapping[int, int]) -> list[str]:
    if isinstance(event, DeliveryEnded):
        is_its_request = link.kind == Kind.REQUEST and queued.get(event.job_id) == link.number
        return [WITHDRAW] if is_its_request else []
    if link.kind == Kind.ISSUE:
        return [ENDED] if isinstance(event, TaskEnded) else []
    if link.kind == Kind.BRANCH:
        return [STATUS]
    subjects = [f"gate:{event.visit_id}"] if isinstance(event, GateDecided) else []
    return [*subjects, STATUS]
