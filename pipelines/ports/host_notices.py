"""Notices on their way out: a row of each, and a ticket, in the transaction of what brought them about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from procrastinate.types import JSONDict

from pipelines.models import HostLink, HostNotice
from pipelines.ports import queue

STARTED, ENDED, STATUS, WITHDRAW = "started", "ended", "status", "withdraw"
TASK, QUEUE = "pipelines.tell_host", "hosts"


def note(wanted: Iterable[tuple[HostLink, str]], now: datetime) -> None:
    """Each once, but for a status: that is sent again, and says what is so when it is sent."""
    tickets: list[JSONDict] = []
    for link, about in wanted:
        row, new = HostNotice.objects.get_or_create(link=link, about=about, defaults={"created_at": now})
        if new or about == STATUS:
            tickets.append({"notice_id": row.pk})
    queue.enqueue(TASK, QUEUE, *tickets)
