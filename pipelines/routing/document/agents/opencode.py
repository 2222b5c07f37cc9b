"""OpenCode. Nothing ends its stream but its end."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import AgentSignIn, Preset, ToolServerOptions

PRESET = Preset(
    key="opencode",
    name="OpenCode",
    argv=("opencode", "run", "--format", "json", "--dir", "{folder}"),
    resume=("opencode", "run", "--format", "json", "--dir", "{folder}", "-s", "{session}"),
    model=("-m", "{model}"),
    needs_model=True,
    permissions="OPENCODE_CONFIG_CONTENT",
    tools=ToolServerOptions(in_permissions=True),
    dialect="opencode",
    priced=True,
    settings=(("OPENCODE_DISABLE_AUTOUPDATE", "1"),),
    environment=("OPENAI_BASE_URL",),
    addresses=("OPENAI_BASE_URL",),
    secrets=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    sign_in=AgentSignIn(folder=".local/share/opencode", files=("auth.json",)),
    hosts=(
        "api.anthropic.com",
        "api.openai.com",
        "openrouter.ai",
        "generativelanguage.googleapis.com",
        "models.dev",
    ),
    versions=("1.18.33",),
)
