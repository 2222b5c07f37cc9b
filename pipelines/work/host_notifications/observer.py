"""Observer that lets hosts know what has happened to a task that belongs to an issue or opened a request."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.models import Delivery, HostLink
from pipelines.models.plumbing.compiled_queries import Statement, execute_all_and_fetch
from pipelines.ports.code_host_notices import ENDED, STATUS, WITHDRAW, enqueue_new_notices_and_every_status
from pipelines.ports.observers import Consequence, GateDecided, GateOpened, TaskEnded, TaskWaits, VoteCast
from pipelines.work.statements import LINKS_OF_TASKS

Kind = HostLink.LinkKind


class HostObserver:
    """Puts notices into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    hears = (GateDecided, GateOpened, TaskEnded, TaskWaits, VoteCast)

    def consequences(self, batch: Sequence[Consequence]) -> None:
        events = [event for event in batch if isinstance(event, self.hears)]
        links: dict[int, list[HostLink]] = {}
        # Most tasks have none: that is asked first, in the cheapest way.
        [linked] = execute_all_and_fetch(
            [Statement(LINKS_OF_TASKS, [list({event.task_id for event in events})])]
        )
        for link in HostLink.objects.filter(pk__in=[pk for (pk,) in linked]) if linked else ():
            links.setdefault(link.task_id, []).append(link)
        waiting = _withdrawable_tasks(events) if links else set()
        for event in events:
            for link in links.get(event.task_id, ()):
                at = event.opened_at if isinstance(event, GateOpened) else event.at
                out = isinstance(event, TaskEnded) and link.kind == Kind.REQUEST and event.task_id in waiting
                subjects = [*_notice_subjects(event, link), *([WITHDRAW] if out else [])]
                enqueue_new_notices_and_every_status([(link, about) for about in subjects], at)


def _withdrawable_tasks(events: Sequence[Consequence]) -> set[int]:
    """Tasks that ended while a queue of their host has a request of theirs."""
    ended = [event.task_id for event in events if isinstance(event, TaskEnded)]
    rows = Delivery.objects.filter(task__in=ended, at_host=True, landed_at=None) if ended else ()
    return {row.task_id for row in rows}


def _notice_subjects(event: Consequence, link: HostLink) -> list[str]:
    if link.kind == Kind.ISSUE:
        return [ENDED] if isinstance(event, TaskEnded) else []
    if link.kind == Kind.BRANCH:
        return [STATUS]
    subjects = [f"gate:{event.visit_id}"] if isinstance(event, GateDecided) else []
    return [*subjects, STATUS]
