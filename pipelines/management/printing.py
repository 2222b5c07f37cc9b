"""Shared parts of our commands. What they print may come from a title, a log or a document: no hidden
character of it acts on a terminal. Of Django's checks they run those that load neither pages nor the API,
which takes as long as all else that most of them need; `web`, `prepare` and `check` run all."""

from __future__ import annotations

import sys
from typing import Any, Final

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from pipelines.routing.basics.hidden_characters import escape_hidden_json

INSTALLATION: Final = "installation"
"""Its files and settings are looked at (config/wiring), at each start of web and worker."""
CHECKS = (
    Tags.caches,
    Tags.compatibility,
    Tags.database,
    Tags.files,
    Tags.models,
    Tags.security,
    Tags.translation,
)


class Visible:
    """A stream that writes hidden characters out, in the escapes of JSON: what is JSON stays what it is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        written: int = self._stream.write(escape_hidden_json(text))
        return written


class Command(BaseCommand):
    requires_system_checks: list[str] | tuple[str, ...] = CHECKS

    def execute(self, *args: Any, **options: Any) -> str | None:
        streams = {name: Visible(options.get(name) or getattr(sys, name)) for name in ("stdout", "stderr")}
        return super().execute(*args, **options | streams)
