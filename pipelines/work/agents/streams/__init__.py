"""The dialects of streams, one file and one line each: what a program writes, as steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pipelines.work.agents.stream import Stream
from pipelines.work.agents.streams.acp import Acp
from pipelines.work.agents.streams.claude import Claude
from pipelines.work.agents.streams.codemod import Codemod
from pipelines.work.agents.streams.codex import Codex
from pipelines.work.agents.streams.gemini import Gemini
from pipelines.work.agents.streams.opencode import OpenCode
from pipelines.work.agents.streams.plain import TextStream

STREAMS: Final[Mapping[str, type[Stream]]] = {
    "claude": Claude,
    "codex": Codex,
    "opencode": OpenCode,
    "gemini": Gemini,
    "acp": Acp,
    "codemod": Codemod,
    "text": TextStream,
}
