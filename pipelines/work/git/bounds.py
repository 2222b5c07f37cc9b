"""Bounds of one call to a server: its total time, and the size of its answer besides the requested objects."""

from __future__ import annotations

import time

from dulwich.errors import GitProtocolError

MOST_SAID = 64 * 1024**2
"""Bytes: names of branches and tags, and progress."""
WHOLE_SECONDS = 3600.0
"""For a fetch or a push."""


class Bounds:
    """Limits on one call to a server. `subtract_read_bytes` counts bytes that were read; `add_room_for_object` gives
    back those that were objects, which have a limit of their own."""

    def __init__(self, seconds: float, most: int | None = None) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds
        self._most = self._room = MOST_SAID if most is None else most

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def subtract_read_bytes(self, size: int) -> None:
        """:raises GitProtocolError: too much, or too late"""
        self._room -= size
        if self._room < 0:
            most = self._most / 1024**2
            raise GitProtocolError(f"the server tells more than {most:.0f} MB of its branches and tags.")
        if not self.seconds_left:
            raise GitProtocolError(f"the server did not finish within {max(1.0, self.seconds):.0f} s.")

    def add_room_for_object(self, size: int) -> None:
        self._room += size
