"""The coding agents that a station of kind `agent` may name: one file and one line each. How their streams are read
says `pipelines/work/agents`. Any other program is a station of kind `command`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pipelines.routing.document.agents import (
    aider,
    claude,
    codemod,
    codex,
    copilot,
    gemini,
    gemini_acp,
    opencode,
)
from pipelines.routing.document.agents.preset import AgentSignIn as AgentSignIn
from pipelines.routing.document.agents.preset import Preset as Preset

TABLE: Final = (
    codemod.PRESET,
    claude.PRESET,
    codex.PRESET,
    opencode.PRESET,
    gemini.PRESET,
    gemini_acp.PRESET,
    copilot.PRESET,
    aider.PRESET,
)
PRESETS: Final[Mapping[str, Preset]] = {preset.key: preset for preset in TABLE}
