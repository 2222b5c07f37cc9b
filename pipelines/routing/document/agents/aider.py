"""Aider, from its documentation. It writes text for people."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import Preset

PRESET = Preset(
    key="aider",
    name="Aider",
    argv=(
        *("aider", "--message-file", "{file}", "--yes-always", "--no-stream"),
        *("--no-auto-commits", "--no-check-update", "--no-gitignore"),
    ),
    prompt="file",
    model=("--model", "{model}"),
    dialect="text",
    settings=(("AIDER_ANALYTICS", "false"),),
    environment=("OPENAI_API_BASE",),
    addresses=("OPENAI_API_BASE",),
    secrets=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    hosts=("api.anthropic.com", "api.openai.com", "openrouter.ai", "generativelanguage.googleapis.com"),
    versions=("0.86.2",),
    tried=False,
)
