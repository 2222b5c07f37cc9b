"""How hosts learn what has happened to a task that belongs to an issue or opened a request."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.models import Delivery, HostLink
from pipelines.models.plumbing.statements import Statement, send
from pipelines.ports.host_notices import ENDED, STATUS, WITHDRAW, note
from pipelines.ports.observers import Consequence, GateDecided, GateOpened, TaskEnded, TaskWaits, VoteCast
from pipelines.work.statements import LINKS_OF_TASKS

Kind = HostLink.LinkKind


class HostObserver:
    """Puts notices into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    hears = (GateDecided, GateOpened, TaskEnded, TaskWaits, VoteCast)

    def consequences(self, batch: Sequence[Consequence]) -> None:
        heard = [each for each in batch if isinstance(each, self.hears)]
        links: dict[int, list[HostLink]] = {}
        # Most tasks have none: that is asked first, in the cheapest way.
        [linked] = send([Statement(LINKS_OF_TASKS, [list({each.task_id for each in heard})])])
        for link in HostLink.objects.filter(pk__in=[pk for (pk,) in linked]) if linked else ():
            links.setdefault(link.task_id, []).append(link)
        waiting = _waiting(heard) if links else set()
        for each in heard:
            for link in links.get(each.task_id, ()):
                at = each.opened_at if isinstance(each, GateOpened) else each.at
                out = isinstance(each, TaskEnded) and link.kind == Kind.REQUEST and each.task_id in waiting
                told = [*_about(each, link), *([WITHDRAW] if out else [])]
                note([(link, about) for about in told], at)


def _waiting(heard: Sequence[Consequence]) -> set[int]:
    """Tasks that ended while a queue of their host has a request of theirs."""
    ended = [each.task_id for each in heard if isinstance(each, TaskEnded)]
    rows = Delivery.objects.filter(task__in=ended, at_host=True, landed_at=None) if ended else ()
    return {each.task_id for each in rows}


def _about(each: Consequence, link: HostLink) -> list[str]:
    if link.kind == Kind.ISSUE:
        return [ENDED] if isinstance(each, TaskEnded) else []
    if link.kind == Kind.BRANCH:
        return [STATUS]
    said = [f"gate:{each.visit_id}"] if isinstance(each, GateDecided) else []
    return [*said, STATUS]
