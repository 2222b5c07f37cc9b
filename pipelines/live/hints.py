"""The way of a hint out of a process: after the commit, merged for at most 50 ms, ids and versions only (house §4).

`push` is the sink that `pipelines.ports` calls (settings.HINT_SINK); it never waits and never fails a caller. A thread
of its own sends, so that no move waits for the bus. What is lost on the way is healed by `pipelines.live.healing`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from channels.layers import get_channel_layer
from django.db import DatabaseError, close_old_connections

from pipelines.models import Task
from pipelines.ports import Hint

log = logging.getLogger(__name__)

WINDOW = 0.05  # seconds between two sendings of one process
PER_MESSAGE = 80  # hints; a task name has at most 64 + 23 characters, so 80 stay under 8,000 bytes
KNOWN_NAMES = 20_000

Row = tuple[int, str, int]  # line id, task name, version


def group_of(project_id: int) -> str:
    return f"live.project.{project_id}"


def message_of(rows: Sequence[Row]) -> dict[str, Any]:
    return {"type": "live.hints", "hints": [list(row) for row in rows]}


class Names:
    """`WI-app-42` of task ids: they never change, so each is read once per process."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def of(self, task_ids: Iterable[int]) -> dict[int, str]:
        wanted = set(task_ids)
        if len(self._names) > KNOWN_NAMES:
            self._names.clear()
        missing = wanted - self._names.keys()
        if missing:
            tasks = Task.objects.filter(id__in=missing).values_list("id", "project__key", "number")
            self._names.update({task_id: f"WI-{project}-{number}" for task_id, project, number in tasks})
        return {task_id: self._names[task_id] for task_id in wanted if task_id in self._names}


class Sender:
    """Merges hints (the highest version of a task wins) and hands them to the channel layer from its own thread."""

    def __init__(self) -> None:
        self._pending: dict[int, Hint] = {}
        self._work = threading.Condition()
        self._busy = False
        self._thread: threading.Thread | None = None
        self._names = Names()

    def put(self, hints: Iterable[Hint]) -> None:
        with self._work:
            for hint in hints:
                known = self._pending.get(hint.task_id)
                if known is None or known.seq < hint.seq:
                    self._pending[hint.task_id] = hint
            if self._pending and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="live-hints", daemon=True)
                self._thread.start()
                atexit.register(self.drain, 1.0)
            self._work.notify_all()

    def drain(self, timeout: float) -> bool:
        """Wait until all is sent: a short command would else exit before its hints have left."""
        deadline = time.monotonic() + timeout
        with self._work:
            sent = self._work.wait_for(lambda: not self._pending and not self._busy, timeout)
        drain = getattr(get_channel_layer(), "drain", None)
        return sent and (drain is None or drain(max(0.0, deadline - time.monotonic())))

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while True:
                with self._work:
                    self._work.wait_for(lambda: bool(self._pending))
                    batch, self._pending, self._busy = list(self._pending.values()), {}, True
                self._send(runner, batch)
                with self._work:
                    self._busy = False
                    self._work.notify_all()
                time.sleep(WINDOW)

    def _send(self, runner: asyncio.Runner, batch: list[Hint]) -> None:
        try:
            names = self._names.of(hint.task_id for hint in batch)
            runner.run(_publish(batch, names))
        except (DatabaseError, OSError) as error:
            log.warning("live: %d hints lost, healing will replace them: %s", len(batch), str(error).strip())
        finally:
            close_old_connections()


async def _publish(batch: list[Hint], names: dict[int, str]) -> None:
    layer = get_channel_layer()
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for hint in batch:
        if hint.task_id in names:
            rows[hint.project_id].append((hint.line_id, names[hint.task_id], hint.seq))
    for project_id, of_project in rows.items():
        for start in range(0, len(of_project), PER_MESSAGE):
            await layer.group_send(group_of(project_id), message_of(of_project[start : start + PER_MESSAGE]))


sender = Sender()


def push(hints: Sequence[Hint]) -> None:
    """What a commit changed. Called after it, by any thread."""
    sender.put(hints)
