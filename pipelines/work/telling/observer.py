"""How hosts learn what has happened to a task that belongs to an issue or opened a request."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.models import HostLink
from pipelines.ports.host_notices import ENDED, STATUS, note
from pipelines.ports.observers import Consequence, GateDecided, GateOpened, TaskEnded, TaskWaits

HEARD = (GateDecided, GateOpened, TaskEnded, TaskWaits)
Kind = HostLink.Kind


class HostObserver:
    """Puts notices into the outbox. Reads no clock, talks to no network, changes no task (house §1)."""

    def consequences(self, batch: Sequence[Consequence]) -> None:
        heard = [each for each in batch if isinstance(each, HEARD)]
        if not heard:
            return
        links: dict[int, list[HostLink]] = {}
        for link in HostLink.objects.filter(task__in={each.task_id for each in heard}):
            links.setdefault(link.task_id, []).append(link)
        for each in heard:
            for link in links.get(each.task_id, ()):
                at = each.opened_at if isinstance(each, GateOpened) else each.at
                note([(link, about) for about in _about(each, link)], at)


def _about(each: Consequence, link: HostLink) -> list[str]:
    if link.kind == Kind.ISSUE:
        return [ENDED] if isinstance(each, TaskEnded) else []
    said = [f"gate:{each.visit_id}"] if isinstance(each, GateDecided) else []
    return [*said, STATUS]
