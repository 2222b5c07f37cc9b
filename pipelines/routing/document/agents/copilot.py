"""GitHub Copilot CLI, from its help. What its lines say is not known to us: they stay log."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import AgentSignIn, Preset

PRESET = Preset(
    key="copilot",
    name="Copilot CLI",
    argv=("copilot", "--output-format", "json", "--no-ask-user", "-p", "{prompt}"),
    resume=("copilot", "--output-format", "json", "--no-ask-user", "--resume", "{session}", "-p", "{prompt}"),
    prompt="argument",
    model=("--model", "{model}"),
    allow_all=("--allow-all-tools",),
    allow_command=("--allow-tool", "shell({command}:*)"),
    allow_tool=("--allow-tool", "{tool}"),
    dialect="text",
    secrets=("COPILOT_GITHUB_TOKEN", "GH_TOKEN"),
    sign_in=AgentSignIn(
        folder=".copilot",
        files=("config.json",),
        variable="COPILOT_HOME",
        hosts=tuple(f"api.{plan}.githubcopilot.com" for plan in ("individual", "business", "enterprise")),
    ),
    hosts=("api.githubcopilot.com", "api.github.com"),
    versions=("1.0.102",),
    tried=False,
)
