"""Refusals of a host, each a sentence with its remedy."""

from __future__ import annotations

from pipelines.work.results.text import escaped_for_storage

HOST_REFUSED, HOST_AWAY = "host_refused", "host_away"


class HostError(Exception):
    """`failure_type` as an outcome has it. What a host says in the message is written so that any store takes it."""

    failure_type = HOST_REFUSED

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        super().__init__(escaped_for_storage(" ".join(message.split()))[:1000])


class HostAway(HostError):
    """It does not answer, has too much to do, or broke down: later it may. `wait`: seconds that it asks for."""

    failure_type = HOST_AWAY

    def __init__(self, message: str, status: int = 0, wait: float = 1.0) -> None:
        self.wait = wait
        super().__init__(message, status)


class AlreadyOpen(HostError):
    """There is an open request for these branches."""


class NotCleared(HostError):
    """The server of Gateline does not allow it any more: as it says so of a push."""

    def __init__(self, message: str, failure_type: str) -> None:
        self.failure_type = failure_type
        super().__init__(message)
