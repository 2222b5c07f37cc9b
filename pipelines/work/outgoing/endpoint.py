"""Endpoint of models: what the environment says, as a value (docs/operating.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pipelines.work.outgoing.guard import Guard


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks the protocol of OpenAI. Without `url` there is none. `seconds`: for which it may be silent;
    `retries`: how often a call is repeated that it could not take."""

    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    seconds: float = 120.0
    retries: int = 2

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True)
class Outgoing:
    """Guard and endpoint, which handlers need for outgoing calls."""

    guard: Guard = field(default_factory=Guard)
    endpoint: Endpoint = field(default_factory=Endpoint)
