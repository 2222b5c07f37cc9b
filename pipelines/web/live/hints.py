"""The way of a hint out of a process: after the commit, merged for at most 50 ms, ids and versions only (house §4).

`push` is the sink that `pipelines.ports.observers` calls (settings.HINT_SINK); it never waits and never fails a caller.
A thread of its own sends, so that no move waits for the bus. What is lost on the way is healed by
`pipelines.web.live.hint_repair`.
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

import psycopg
from channels.layers import get_channel_layer

from pipelines.ports.bus import errors_with_redis_if_loaded
from pipelines.ports.observers import LineHint, LiveHint, PersonHint
from pipelines.web.live.layer import PostgresLayer

log = logging.getLogger(__name__)

WINDOW = 0.05  # seconds between two sendings of one process
PER_MESSAGE = 55  # hints; with the longest key and numbers one takes 130 bytes, and a message has 7,900

Row = tuple[int, str, int]  # line id, task name, version


def project_group_name(project_id: int) -> str:
    return f"live.project.{project_id}"


def line_group_name(line_id: int) -> str:
    """The group of those who have the canvas of this line open."""
    return f"live.line.{line_id}"


def line_message(line_id: int, what: str, number: int) -> dict[str, Any]:
    return {"type": "live.line", "line": line_id, "what": what, "number": number}


def person_group_name(user_id: int) -> str:
    """The group of the sockets of one person."""
    return f"live.person.{user_id}"


def hints_message(project_id: int, rows: Sequence[Row]) -> dict[str, Any]:
    return {"type": "live.hints", "project": project_id, "hints": [list(row) for row in rows]}


class HintSender:
    """Merges hints (the highest version of a task wins) and hands them to the channel layer from its own thread."""

    def __init__(self) -> None:
        self._pending: dict[tuple[int, str], LiveHint] = {}
        self._work = threading.Condition()
        self._busy = self._ending = False
        self._thread: threading.Thread | None = None

    def put(self, hints: Iterable[LiveHint]) -> None:
        with self._work:
            for hint in hints:
                key = _merge_key(hint)
                known = self._pending.get(key)
                if known is None or _hint_number(known) < _hint_number(hint):
                    self._pending[key] = hint
            if self._pending and self._thread is None:
                # A daemon: a bus that is away keeps no process from ending.
                self._thread = threading.Thread(target=self._run, name="live-hints", daemon=True)
                self._thread.start()
                atexit.register(self._stop)
            self._work.notify_all()

    def wait_until_sent(self, timeout: float) -> bool:
        """Wait until all is sent: a short command would else exit before its hints have left."""
        deadline = time.monotonic() + timeout
        with self._work:
            sent = self._work.wait_for(lambda: not self._pending and not self._busy, timeout)
        layer = get_channel_layer()
        # Another layer has sent when it answers; and asking Redis' for a name it has not needs a loop.
        return sent and (
            not isinstance(layer, PostgresLayer)
            or layer.wait_until_sent(max(0.0, deadline - time.monotonic()))
        )

    def _stop(self) -> None:
        """End the sender with the process: remaining hints go out, and the thread closes its loop, with its
        connections."""
        self.wait_until_sent(1.0)
        with self._work:
            self._ending = True
            self._work.notify_all()
        if self._thread is not None:
            self._thread.join(1.0)

    def _run(self) -> None:
        # One loop for all batches: the connections of the layer belong to it
        with asyncio.Runner() as runner:
            while True:
                with self._work:
                    self._work.wait_for(lambda: bool(self._pending) or self._ending)
                    if not self._pending:
                        return
                    # Busy under the same lock: `wait_until_sent` never takes what is on its way for sent.
                    batch, self._pending, self._busy = list(self._pending.values()), {}, True
                self._send(runner, batch)
                with self._work:
                    self._busy = False
                    self._work.notify_all()
                # What comes meanwhile is merged.
                time.sleep(WINDOW)

    def _send(self, runner: asyncio.Runner, batch: list[LiveHint]) -> None:
        try:
            runner.run(_publish_hints(batch))
        except errors_with_redis_if_loaded(psycopg.Error, OSError) as error:
            log.warning("live: %d hints lost, healing will replace them: %s", len(batch), str(error).strip())


def _merge_key(hint: LiveHint) -> tuple[int, str]:
    """Return the key by which pending hints are merged: only the newest of each key is sent. No task name
    contains a space, so the texts for persons and lines cannot clash with one."""
    if isinstance(hint, PersonHint):
        return hint.user_id, "a person"
    if isinstance(hint, LineHint):
        return hint.line_id, f"line {hint.what}"
    return hint.project_id, hint.task


def _hint_number(hint: LiveHint) -> int:
    if isinstance(hint, PersonHint):
        return 0
    return hint.number if isinstance(hint, LineHint) else hint.seq


async def _publish_hints(batch: list[LiveHint]) -> None:
    layer = get_channel_layer()
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for hint in batch:
        if isinstance(hint, PersonHint):
            await layer.group_send(
                person_group_name(hint.user_id), {"type": "live.person", "user": hint.user_id}
            )
        elif isinstance(hint, LineHint):
            message = line_message(hint.line_id, hint.what, hint.number)
            await layer.group_send(line_group_name(hint.line_id), message)
        else:
            rows[hint.project_id].append((hint.line_id, hint.task, hint.seq))
    for project_id, of_project in rows.items():
        # NOTIFY takes 8,000 bytes
        for start in range(0, len(of_project), PER_MESSAGE):
            await layer.group_send(
                project_group_name(project_id),
                hints_message(project_id, of_project[start : start + PER_MESSAGE]),
            )


sender = HintSender()


def push_hints(hints: Sequence[LiveHint]) -> None:
    """Send the hints of a commit. Called after it, by any thread."""
    sender.put(hints)
