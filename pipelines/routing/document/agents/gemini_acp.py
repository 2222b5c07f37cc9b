"""Gemini CLI by the Agent Client Protocol: it asks before each call, and the station's lists, or a person, answer."""

from __future__ import annotations

from dataclasses import replace

from pipelines.routing.document.agents import gemini
from pipelines.routing.document.agents.preset import ToolServerOptions

PRESET = replace(
    gemini.PRESET,
    key="gemini-acp",
    name="Gemini CLI, asking first",
    argv=("gemini", "--acp", "--skip-trust"),
    resume=(),
    allow_all=(),
    allow_some=(),
    allow_command=(),
    allow_tool=(),
    tools=ToolServerOptions(),
    dialect="acp",
    acp_sign_in="gemini-api-key",
    final_event="stopReason",
    sign_in=None,
)
