"""Codex. Its own sandbox does not work inside another one, and it still ends with 0: it is off behind ours, and only
there."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import (
    AgentSignIn,
    OutputSchemaOption,
    Preset,
    ToolServerOptions,
)

PRESET = Preset(
    key="codex",
    name="Codex",
    argv=("codex", "exec", "--json", "--skip-git-repo-check", "-C", "{folder}", "-"),
    resume=("codex", "exec", "--json", "--skip-git-repo-check", "-C", "{folder}", "resume", "{session}", "-"),
    model=("-m", "{model}"),
    isolated=("--dangerously-bypass-approvals-and-sandbox",),
    exposed=("-s", "workspace-write"),
    tools=ToolServerOptions(
        argv=(
            *("-c", "mcp_servers.gateline.command={program}"),
            *("-c", "mcp_servers.gateline.args={arguments}"),
            *("-c", 'mcp_servers.gateline.default_tools_approval_mode="approve"'),
        )
    ),
    output_schema=OutputSchemaOption(argv=("--output-schema", "{schemafile}"), strict=True),
    dialect="codex",
    final_event="turn.completed",
    environment=("OPENAI_BASE_URL",),
    addresses=("OPENAI_BASE_URL",),
    secrets=("CODEX_API_KEY", "OPENAI_API_KEY"),
    sign_in=AgentSignIn(
        folder=".codex",
        files=("auth.json",),
        variable="CODEX_HOME",
        hosts=("chatgpt.com", "auth.openai.com"),
    ),
    hosts=("api.openai.com",),
    versions=("0.169.0",),
)
