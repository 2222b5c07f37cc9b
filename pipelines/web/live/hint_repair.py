"""Repair of the live view: lost hints, lost memberships, ended sessions. One process asks for all of its
sockets.

Once per second one query names the tasks that changed lately in the watched projects, and the sockets get
a hint for those whose version they had not received (house §4) by the next look: a hint that is on its
way, or waits for a busy loop, is not lost, and to send it twice would make that loop busier. Every two
seconds one look-up each for people, memberships and sessions closes the sockets that may no longer see.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from channels.db import database_sync_to_async
from django.db import DatabaseError

from pipelines.models.plumbing.compiled_queries import fetch
from pipelines.web.live.audiences import Audiences, LiveSocket
from pipelines.web.live.hints import Row
from pipelines.web.live.subscriptions import subscription_check
from pipelines.web.statements import CHANGED_TASKS, LINE_NUMBERS

log = logging.getLogger(__name__)

EVERY = 1.0
SEATS_EVERY = 2  # ticks
OVERLAP = timedelta(seconds=5)  # a commit becomes visible this much after its changed_at, at most
MOST = 2_000  # rows; beyond, the sockets are told to take a new snapshot


class RepairedSocket(LiveSocket, Protocol):
    def tell_to_refetch_if_behind(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ChangedTask:
    project_id: int
    line_id: int
    name: str
    seq: int


def now_and_changed_tasks(
    project_ids: Iterable[int], since: datetime | None
) -> tuple[datetime, list[ChangedTask]]:
    """The database's clock now, and what changed after `since` (None: only the clock), by one query."""
    # One row more than MOST tells that there are more.
    rows = fetch(CHANGED_TASKS, [list(project_ids) if since else [], since or datetime.now(UTC), MOST + 1])
    changed_tasks = [
        ChangedTask(project, line, f"WI-{key}-{number}", seq)
        for _, project, line, key, number, seq in rows
        # Where nothing changed there is one row, with the clock alone.
        if project is not None
    ]
    return rows[0][0], changed_tasks


def current_revision_by_line(line_ids: Iterable[int]) -> dict[tuple[int, str], int]:
    """The numbers of the lines that are open on a canvas, by one query."""
    rows = fetch(LINE_NUMBERS, [list(line_ids)])
    numbers: dict[tuple[int, str], int] = {}
    for line_id, draft, live, comments in rows:
        numbers |= {
            (line_id, "draft"): draft,
            (line_id, "live"): live or 0,
            (line_id, "comments"): comments or 0,
        }
    return numbers


class HintRepair:
    """Runs while its process has sockets, on their loop."""

    def __init__(self) -> None:
        self._sockets: set[RepairedSocket] = set()
        self._told: dict[tuple[int, str], tuple[int, datetime | None]] = {}  # by line id and name
        self._missing: dict[tuple[int, str], int] = {}  # versions that nobody was told of at the look before
        self._rooms: dict[tuple[int, str], int] = {}
        self._since: datetime | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def add_socket(self, socket: RepairedSocket) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a test's loop came and went
            self._sockets, self._task, self._loop = set(), None, loop
        self._sockets.add(socket)
        if self._task is None or self._task.done():
            self._since, self._told, self._missing, self._rooms = None, {}, {}, {}
            self._task = loop.create_task(self._run())

    def remove_socket(self, socket: RepairedSocket) -> None:
        self._sockets.discard(socket)

    def count(self) -> int:
        return len(self._sockets)

    def note_sent_versions(self, rows: Iterable[Row]) -> None:
        """Record that these versions have already reached the sockets of this process."""
        for line_id, name, seq in rows:
            known = self._told.get((line_id, name))
            if known is None or known[0] < seq:
                self._told[line_id, name] = (seq, known[1] if known else None)

    def note_sent_revision(self, line_id: int, what: str, number: int) -> None:
        """The canvases of this process have been told."""
        known = self._rooms.get((line_id, what), 0)
        self._rooms[line_id, what] = max(known, number)

    async def _run(self) -> None:
        tick = 0
        while self._sockets:
            try:
                for socket in list(self._sockets):
                    socket.tell_to_refetch_if_behind()
                await self.send_lost_hints()
                await self.send_lost_revisions()
                if tick % SEATS_EVERY == 0:
                    await self.dismiss_unsubscribed_sockets()
            # Nothing is lost: the next look begins where the last one that succeeded ended.
            except (DatabaseError, OSError) as error:
                log.warning("live: healing waits: %s", str(error).strip())
            tick += 1
            await asyncio.sleep(EVERY)

    async def send_lost_hints(self) -> None:
        """Send lost hints, with one query for all sockets of the process."""
        projects = {project for socket in self._sockets for project in socket.subscription.project_ids}
        # The first look takes the clock only: whoever connects takes a snapshot anyway.
        since = self._since - OVERLAP if self._since else None
        now, changed = await database_sync_to_async(now_and_changed_tasks)(projects, since)
        self._since = now
        if len(changed) > MOST:
            await audiences.send_resync_to_sockets()
            return
        news = self._lost_tasks(changed)
        self.note_sent_versions((one.line_id, one.name, one.seq) for one in news)
        self._prune_sent_versions(changed, now)
        for project_id in {one.project_id for one in news}:
            rows = [(one.line_id, one.name, one.seq) for one in news if one.project_id == project_id]
            await audiences.send_hints_to_sockets(project_id, rows)
        if news:
            # The layer may have forgotten who is to hear of them.
            await audiences.join_groups_again()

    def _lost_tasks(self, changed: list[ChangedTask]) -> list[ChangedTask]:
        """Return the tasks of which a version was missing at the previous look and still is."""
        before, self._missing, lost = self._missing, {}, []
        for one in changed:
            task = one.line_id, one.name
            sent_version = self._told.get(task, (0, None))[0]
            # Twice in a row: at the first look its hint may still be on the way
            if task in before and sent_version < before[task]:
                lost.append(one)
            elif sent_version < one.seq:
                self._missing[task] = one.seq
        return lost

    async def send_lost_revisions(self) -> None:
        """Send lost hints of open canvases, with one query more while there are any. A number that arrives
        twice is no news to a page."""
        watched = {
            s.subscription.line_id
            for s in self._sockets
            if s.subscription.draws and s.subscription.line_id is not None
        }
        if not watched:
            self._rooms = {}
            return
        now = await database_sync_to_async(current_revision_by_line)(watched)
        # A number that a page has already is no news to it, so that one too many does no harm
        news = [key for key, number in now.items() if self._rooms.get(key, 0) < number]
        self._rooms = now
        for line_id, what in news:
            await audiences.tell_line_revision(line_id, what, now[line_id, what])

    def _prune_sent_versions(self, changed: list[ChangedTask], now: datetime) -> None:
        """Keep the versions told of what can still show up in the next looks, and drop the others."""
        self._told = {
            task: (seq, at or now)
            for task, (seq, at) in self._told.items()
            # A look goes back by OVERLAP, so what is older than that cannot show up again.
            if at is None or at > now - 4 * OVERLAP
        }
        for one in changed:
            known = self._told.get((one.line_id, one.name), (0, None))[0]
            self._told[one.line_id, one.name] = (known, now)

    async def dismiss_unsubscribed_sockets(self) -> None:
        """Dismiss the sockets of people who signed out, lost or got a membership, or changed their password."""
        sockets = list(self._sockets)
        check = await database_sync_to_async(subscription_check)({socket.subscription for socket in sockets})
        await asyncio.gather(
            *(
                socket.dismiss(again=socket.subscription in check.renewed)
                for socket in sockets
                if socket.subscription not in check.kept
            )
        )


healer = HintRepair()
audiences = Audiences(healer)
